"""``eval recall``: recall measured on conversations with questions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from symfonic.capabilities.memory.cli.options import (
    embedder_of,
    embedder_option,
    json_option,
    knobs,
)
from symfonic.capabilities.memory.cli.output import (
    clean,
    console,
    count,
    emit,
    shows_progress,
    table,
    wants_json,
)
from symfonic.capabilities.memory.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from symfonic.capabilities.memory.evaluation.recall_run import Counts, RecallEvaluation, Slept
    from symfonic.capabilities.memory.evaluation.scores import Level, Means, Scores

_FORMATS: Final = ("locomo", "longmemeval", "jsonl")
_SPAN: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_TITLES: Final[Mapping[Level, str]] = {"turn": "turns", "session": "sessions"}
_BY_CATEGORY: Final = "recall@10"


def _chosen(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> Sequence[range] | None:
    """The spans of numbers. Raises ``InputError`` for another text."""
    if value is None or ctx.resilient_parsing:
        return None
    spans = [_SPAN.fullmatch(part.strip()) for part in value.split(",")]
    found = [range(int(span[1]), int(span[2] or span[1]) + 1) for span in spans if span]
    if len(found) != len(spans) or not all(found) or any(span.start < 1 for span in found):
        raise InputError(
            f"--conversations is {value[:60]!r}. Write numbers from 1, such as 1-5 or 1,3,6-10."
        )
    return found


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), required=True, help="What the file is."
)
@click.option(
    "--conversations", "chosen", metavar="NUMBERS", callback=_chosen,
    help="Which of the file's conversations, such as 1-5 or 1,3; all unless stated.",
)  # fmt: skip
@click.option(
    "--baseline",
    is_flag=True,
    help="Ask SQLite's FTS5 and bm25s the same. Needs the extra 'eval'.",
)
@embedder_option
@click.option(
    "--after-sleep", "nights", metavar="N", type=click.IntRange(min=1),
    help="Then sleep through each conversation's last N nights, and ask again.",
)  # fmt: skip
@click.option(
    "--policy", "policy_file", metavar="FILE", type=click.Path(path_type=Path),
    help="A TOML file of knobs for those nights.",
)  # fmt: skip
@click.option(
    "--set", "sets", multiple=True, metavar="NAME=VALUE",
    help="One knob, over the file and the environment. May be repeated.",
)  # fmt: skip
@json_option
def recall(
    *,
    file: Path,
    form: str,
    chosen: Sequence[range] | None,
    baseline: bool,
    embedder_name: str | None,
    nights: int | None,
    policy_file: Path | None,
    sets: tuple[str, ...],
) -> None:
    """Measure recall on conversations with questions.

    FILE is LoCoMo's locomo10.json, a file of LongMemEval, or your own: a JSON object a line, a turn
    with id, session and text (speaker, role, at, conversation), or a question with question and
    gold, the ids of the turns that answer it (category, at, adversarial, conversation).

    Each conversation is a scope of its own in one store. For each question the first rows of recall
    are held against the turns, and the sessions, that hold its answer. Questions that the
    conversation does not answer are measured apart. Behind each figure stands how
    far the farther end of its 95 % interval is.
    """
    from symfonic.capabilities.memory.evaluation.recall_run import (
        FORMATS,
        RecallSet,
        evaluate_recall,
    )

    numbers = None if chosen is None else _Spans(chosen)
    resolved = knobs(policy_file, sets)
    found = evaluate_recall(
        RecallSet(path=file, format=next(f for f in FORMATS if f == form), chosen=numbers),
        baselines=baseline, embedder=embedder_of(embedder_name), nights=nights or 0,
        progress=_progress(), policy=resolved.policy,
        retention=resolved.retention, limits=resolved.limits, sources=resolved.sources,
    )  # fmt: skip
    if wants_json():
        emit(found.as_plain())
    else:
        _show(found)


class _Spans:
    """The numbers of several spans."""

    def __init__(self, spans: Sequence[range]) -> None:
        self._spans = spans

    def __contains__(self, number: object) -> bool:
        return any(number in span for span in self._spans)


def _progress() -> Callable[[str, int, int], None] | None:
    if not shows_progress():
        return None

    def progress(doing: str, number: int, of: int) -> None:
        far = f"{number:,} of {count(of, 'conversation')}" if of else f"conversation {number:,}"
        click.echo(f"\r{doing}: {far}", nl=number == of, err=True)

    return progress


def _show(found: RecallEvaluation) -> None:
    out = console()
    out.print(_counted(found.counts))
    columns: dict[str, Scores] = {"recall": found.scores, **found.baselines}
    if found.slept is not None:
        columns["after sleep"] = found.slept.scores
    for level, title in _TITLES.items():
        _show_measures(title, {name: one.means(level) for name, one in columns.items()})
    for level in _TITLES:
        _show_categories(level, columns)
    made = table("the first ten rows", *columns, right=tuple(columns))
    for name, share in (("CPU time, median", 0.5), ("CPU time, 95 %", 0.95)):
        made.add_row(name, *(f"{one.milliseconds(share):.1f} ms" for one in columns.values()))
    made.add_row("tokens, mean", *(f"{one.tokens:,.0f}" for one in columns.values()))
    out.print()
    out.print(made)
    if found.slept is not None:
        _show_slept(found.slept, found.counts.conversations)


def _show_slept(slept: Slept, conversations: int) -> None:
    nights, talks = count(slept.nights, "night"), count(conversations, "conversation")
    out = console()
    out.print(f"\nSlept through {nights} in {talks}.")
    out.print(
        f"Then {_BY_CATEGORY} of turns is lower for {count(slept.worse, 'question')} and "
        f"higher for {slept.better:,}."
    )


def _counted(counts: Counts) -> str:
    held = (
        count(counts.conversations, "conversation"), count(counts.turns, "turn"),
        count(counts.questions, "question"),
    )  # fmt: skip
    lines = [f"{', '.join(held)}."]
    if counts.adversarial:
        lines.append(f"Measured apart: {count(counts.adversarial, 'adversarial question')}.")
    if counts.unlabelled:
        without = count(counts.unlabelled, "question")
        lines.append(f"Left out: {without} without a turn or session that holds the answer.")
    if counts.missing:
        lines.append(f"Not there: {count(counts.missing, 'turn')} that questions name.")
    return "\n".join(lines)


def _show_measures(title: str, columns: Mapping[str, Means]) -> None:
    made = table(f"{title}, %", *columns, right=tuple(columns))
    first = next(iter(columns.values()))
    for name in first.values:
        made.add_row(name.replace("_", " "), *(_figure(one, name) for one in columns.values()))
    if first.questions:
        console().print()
        console().print(made)


def _show_categories(level: Level, columns: Mapping[str, Scores]) -> None:
    """The share of what is gold among the first ten, by category and apart."""
    title = f"{_BY_CATEGORY}, {_TITLES[level]}"
    made = table(title, "questions", *columns, right=("questions", *columns))
    first = next(iter(columns.values()))
    rows: list[tuple[str, str | None, bool | None]] = [
        (name, name, False) for name in first.categories
    ]
    if first.means(level, adversarial=True).questions:
        rows += [("adversarial", None, True), ("all together", None, None)]
    for name, category, adversarial in rows:
        cells = [
            one.means(level, category=category, adversarial=adversarial) for one in columns.values()
        ]
        if cells[0].questions:
            figures = (_figure(one, _BY_CATEGORY) for one in cells)
            made.add_row(clean(name), f"{cells[0].questions:,}", *figures)
    if made.row_count:
        console().print()
        console().print(made)


def _figure(means: Means, name: str) -> str:
    """A share in per cent, and how far the farther end of its interval is."""
    value = means.values[name]
    low, high = means.interval(name)
    return f"{100 * value:.1f} ±{100 * max(value - low, high - value):.1f}"
