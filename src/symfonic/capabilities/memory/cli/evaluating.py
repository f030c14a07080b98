"""``eval``: measurements on data of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from symfonic.capabilities.memory.cli.drafts import as_plain
from symfonic.capabilities.memory.cli.options import json_option, knobs
from symfonic.capabilities.memory.cli.output import (
    clean,
    console,
    count,
    emit,
    indented,
    shows_progress,
    table,
    wants_json,
)
from symfonic.capabilities.memory.cli.recall_figures import recall
from symfonic.capabilities.memory.evaluation.procedures import DRAFTS, evaluate
from symfonic.capabilities.memory.records import Procedure

if TYPE_CHECKING:
    from collections.abc import Callable

    from symfonic.capabilities.memory.evaluation.next_step import Score
    from symfonic.capabilities.memory.evaluation.procedures import Evaluation, Figures

_EACH = 20
"""After how many trajectories the progress line is written anew."""


@click.group("eval")
def eval_() -> None:
    """Measure what is learnt and what is found, on data of your own.

    Nothing is stored: it is done in a memory that is thrown away afterwards.
    """


eval_.add_command(recall)


@eval_.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--drafts", type=click.IntRange(min=1), default=DRAFTS, show_default=True,
    help="How many drafts are taken, best supported first.",
)  # fmt: skip
@click.option(
    "--success", type=float, default=1.0, show_default=True,
    help="The least reward of a trajectory that succeeded.",
)  # fmt: skip
@click.option(
    "--policy", "policy_file", metavar="FILE", type=click.Path(path_type=Path),
    help="A TOML file of knobs, in the tables [policy], [retention] and [limits].",
)  # fmt: skip
@click.option(
    "--set", "sets", multiple=True, metavar="NAME=VALUE",
    help="One knob, over the file and the environment. May be repeated.",
)  # fmt: skip
@json_option
def procedures(
    *, file: Path, drafts: int, success: float, policy_file: Path | None, sets: tuple[str, ...]
) -> None:
    """Measure drafts that are mined from rated trajectories.

    FILE is a JSON list, or one object a line, each with task_id, trial, reward and traj, a list of
    messages as the OpenAI API has them. Drafts are mined from every trial but the last, without the
    rewards, and measured on the last.

    Coverage: of all steps of the last trial's successful trajectories, the share that stands in a
    whole occurrence of a draft, its steps in a row.

    Next step: at every step of the last trial but the first of each trajectory, a draft has an
    opinion if the steps just taken are its beginning, one step or more; it says the step after
    them. Of several, the longest beginning counts, then the support. With triggers, the support is
    weighed by the share of the trigger's words that users have said so far. The n-gram of order 3
    says what followed the last two steps most often in the trials that were mined, the last one
    where it has not seen the two; it is asked at the same places.

    Steps are calls as procedures are made of them: a call that is at once repeated counts once, and
    notes to self (a "think" tool) do not count. The second table counts every call as it was made,
    for comparison with other n-grams; there a draft, which says a step once, is wrong at every
    repeat.
    """
    policy = knobs(policy_file, sets).policy
    found = evaluate(file, policy=policy, drafts=drafts, success=success, watch=_progress())
    if wants_json():
        emit({**found.as_plain(), "drafts": [as_plain(draft) for draft in found.drafts]})
    else:
        _show(found)


def _progress() -> Callable[[int], None] | None:
    if not shows_progress():
        return None

    def watch(number: int) -> None:
        if number % _EACH == 0:
            click.echo(f"\r{number:,} trajectories", nl=False, err=True)

    return watch


def _show(found: Evaluation) -> None:
    from rich.text import Text

    out = console()
    out.print(
        f"Mined {count(found.mined, 'trajectory', 'trajectories')}; measured on "
        f"{found.held_out:,} of trial {found.trial}, {found.successes:,} successful."
    )
    for draft in found.drafts:
        content = draft.content
        assert isinstance(content, Procedure)
        support = (
            f"{count(content.support, 'session')}: "
            f"{count(content.successes, 'success', 'successes')}, "
            f"{count(content.failures, 'failure')}"
        )
        out.print(Text(f"\n{support}", "bold"))
        out.print(indented(clean(draft.text), 2))
    out.print(
        f"\nCoverage: {_share(found.covered, found.steps_in_successes)} of the steps in "
        f"successful trajectories ({found.covered:,} of {found.steps_in_successes:,})"
    )
    for title, figures in (("next step", found.steps), ("next call as made", found.calls)):
        _show_figures(title, figures)


def _show_figures(title: str, figures: Figures) -> None:
    rows = (
        ("drafts", figures.by_calls),
        ("drafts with triggers", figures.by_trigger),
        ("n-gram, where drafts have one", figures.ngram_there),
        ("n-gram, everywhere", figures.ngram),
    )
    columns = ("asked", "opinions", "right", "of opinions", "of asked")
    made = table(title, *columns, right=columns)
    for name, row in rows:
        made.add_row(name, *_cells(row))
    out = console()
    out.print()
    out.print(made)


def _cells(row: Score) -> tuple[str, ...]:
    return (
        f"{row.places:,}", f"{row.opinions:,}", f"{row.right:,}",
        _share(row.right, row.opinions), _share(row.right, row.places),
    )  # fmt: skip


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "—"
