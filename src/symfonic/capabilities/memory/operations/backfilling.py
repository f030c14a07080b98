"""Backfill: imported history walked night by night, with the clock set to each night."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from symfonic.capabilities.memory.backfill import BackfillReport, Night, Walked, by_night
from symfonic.capabilities.memory.cut_off import cut_off
from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.nights import Nights
from symfonic.capabilities.memory.operations.core import stated
from symfonic.capabilities.memory.operations.runs import RunOperations, RunOptions
from symfonic.capabilities.memory.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from symfonic.capabilities.memory.maintenance import Maintenance
    from symfonic.capabilities.memory.store import MemoryReader


class BackfillOperations(RunOperations):
    """The part of ``Memory`` that walks through history."""

    def backfill(
        self,
        *,
        scope: str,
        since: datetime | None = None,
        until: datetime | None = None,
        nights: Nights | None = None,
        dry_run: bool = False,
        walked: Callable[[Walked], None] | None = None,
        **options: Unpack[RunOptions],
    ) -> BackfillReport:
        """Sleep once for each night of imported history, as if it had come in day by day.

        An episode is new to a night when no DEEP sleep has come to it: none since it came in whose
        clock is not before it. The first night is the first that has new episodes, or the first
        from ``since`` on, to which all older ones fall; the last is the last until ``until``, by
        default now. Only nights with new episodes are walked: on the others nothing could be learnt
        but what time itself makes due, and a night makes all of that due up to its clock. For the
        same reason the walk ends with a sleep on the last night, unless the scope has slept since.

        Each night is a sleep with its own runs, which can be undone. A walk that was stopped
        anywhere goes on where it was when it is begun again with the same knobs, and ends as it
        would have. ``walked`` is told how far it has come. With ``dry_run`` nothing is written.

        Raises ``InputError`` where there is nothing to walk, and ``RunAlreadyActive`` where another
        process runs the scope; nights that are done stay done.
        """
        where, calendar, walked = Scope(scope), nights or Nights(), walked or _silent
        first, last = _bounds(calendar, stated(since), self._now(until))
        engine = self._ready(options)
        with self.store.snapshot(where) as reader:
            most = engine.limits.max_passes
            walk = _nights_of(reader, calendar, first, last, most)
        if not dry_run:
            walk = _walk(engine, where, walk, walked)
        return BackfillReport(scope=where.path, nights=tuple(walk), dry_run=dry_run)


def _bounds(
    nights: Nights, since: datetime | None, until: datetime
) -> tuple[datetime | None, datetime]:
    """The first night, where one is stated, and the last. Raises ``InputError`` for no night."""
    last = nights.last_until(until)
    first = None if since is None else nights.first_from(since)
    if last is None or (since is not None and (first is None or first > last)):
        began = "the beginning" if since is None else since.isoformat()
        raise InputError(
            f"No night begins from {began} to {until.isoformat()}: nights begin at "
            f"{nights.at.isoformat('minutes')} in {nights.zone}. State an earlier beginning or a "
            "later end (--since, --until).",
            since=None if since is None else since.isoformat(),
            until=until.isoformat(),
        )
    return first, last


def _nights_of(
    reader: MemoryReader, nights: Nights, first: datetime | None, last: datetime, most: int
) -> list[Night]:
    """The nights to walk, one that was cut off first. Raises ``InputError`` where there are none.

    The last one may have no new episode.
    """
    beginning = last.min.replace(tzinfo=last.tzinfo) if first is None else first
    counts = by_night(reader.unslept(until=last), nights, first=beginning, last=last)
    stopped = cut_off(reader, most)
    if stopped is not None and beginning <= stopped.clock <= last:
        counts.setdefault(stopped.clock, 0)
    state = reader.state
    may_be_due = state.deep_clock is None or state.deep_clock < last
    if may_be_due and (counts or state.visible):
        counts.setdefault(last, 0)
    if not counts:
        slept = state.deep_clock and f", and the last sleep was at {state.deep_clock.isoformat()}"
        raise InputError(
            f"The scope {state.path} has nothing to walk: no episode until {last.isoformat()} is "
            f"new{slept or ''}. Ingest history first (symfonic-memory ingest); what a phase has "
            "left unread is read by 'symfonic-memory sleep'.",
            scope=state.path,
        )
    return [Night(clock=clock, episodes=count) for clock, count in sorted(counts.items())]


def _walk(
    engine: Maintenance, scope: Scope, walk: list[Night], walked: Callable[[Walked], None]
) -> list[Night]:
    """Each night slept, in order."""
    done: list[Night] = []
    far = Walked(
        night=None, nights=0, of_nights=len(walk), episodes=0,
        of_episodes=sum(night.episodes for night in walk), changes=0,
    )  # fmt: skip
    walked(far)
    for night in walk:
        done.append(night.slept(engine.run(scope, now=night.clock, backfilling=True)))
        far = replace(
            far, night=done[-1], nights=len(done), episodes=far.episodes + night.episodes,
            changes=far.changes + done[-1].change_count,
        )  # fmt: skip
        walked(far)
    return done


def _silent(_far: Walked) -> None:
    """No progress is shown."""
