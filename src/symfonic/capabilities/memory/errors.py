"""Every public error, in one tree.

::

    SymfonicError
      PolicyError (ValueError)        a knob is out of range
      ScopeError (ValueError)         a scope path is not one
      InputError (ValueError)         a file or message cannot be read
      StoreError
        StoreUnavailable              the file is missing, locked, corrupt, full or read-only
        SchemaMismatch                the file was written by a newer release
        RecordNotFound (LookupError)  no such record, run or scope
        StaleWrite                    rows changed between plan and commit
      CollaboratorError               a model or extractor failed
      RunError
        RunAlreadyActive              another run holds the scope
        PhaseFailed                   a phase raised
        ClockRefused                  the stated clock lies before the last run
        UndoRefused                   later changes depend on what is to be undone
        ReplayDiffers                 a replayed run gives other changes
        InputLost                     what a run was planned from is gone
        ScopeFailed                   a scope of a worker's round failed
      ReviewError
        DraftAlreadyDecided           approved or rejected before
      MissingExtra (ImportError)      which extra to install

A message says what happened, to which id, and what to do next; the same facts are attributes.
Each class has its own process exit code, so that a script can tell them apart.
"""

from __future__ import annotations

from typing import ClassVar


class SymfonicError(Exception):
    """Root of everything this package raises on purpose."""

    exit_code: ClassVar[int] = 10

    def __init__(self, message: str, **facts: object) -> None:
        super().__init__(message)
        self.facts = facts
        """What the message says, by name, for programs."""


class PolicyError(SymfonicError, ValueError):
    """A knob's value is outside its range or of the wrong type.

    ``facts`` holds ``field``, ``value`` and ``range``.
    """

    exit_code = 11


class ScopeError(SymfonicError, ValueError):
    """A scope path is empty, too deep, or holds a part that no path may hold."""

    exit_code = 12


class InputError(SymfonicError, ValueError):
    """A file or a message cannot be read as the format it was taken for."""

    exit_code = 13


class StoreError(SymfonicError):
    """The store could not do what was asked."""

    exit_code = 20


class StoreUnavailable(StoreError):
    """The store cannot be opened, read or written; the driver's error is the cause."""

    exit_code = 21


class SchemaMismatch(StoreError):
    """The store's schema is newer than this release knows."""

    exit_code = 22


class RecordNotFound(StoreError, LookupError):
    """No record, run, draft or scope of that name is visible here."""

    exit_code = 23


class StaleWrite(StoreError):
    """Rows that a plan had read were changed before its commit; ``facts['rows']`` names them."""

    exit_code = 24


class CollaboratorError(SymfonicError):
    """A model, extractor or embedder failed or answered nonsense; ``facts['collaborator']``."""

    exit_code = 30


class RunError(SymfonicError):
    """A maintenance run could not be carried out."""

    exit_code = 40


class RunAlreadyActive(RunError):
    """Another run holds the scope's lease; ``facts`` says who and until when."""

    exit_code = 41


class PhaseFailed(RunError):
    """A phase raised; the other phases' work is kept. ``facts`` holds ``phase`` and ``cause``."""

    exit_code = 42


class ClockRefused(RunError):
    """A stated clock lies before the scope's last committed run."""

    exit_code = 43


class UndoRefused(RunError):
    """Other groups depend on what is to be undone; ``facts['groups']`` names them."""

    exit_code = 44


class ReplayDiffers(RunError):
    """A replayed run gives other changes than it did; raised by nothing but an exit code."""

    exit_code = 45


class InputLost(RunError):
    """What a run was planned from is gone, so it cannot be replayed; likewise."""

    exit_code = 46


class ScopeFailed(RunError):
    """A scope of a worker's round failed, or a phase of its run; the other scopes are done."""

    exit_code = 48


class ReviewError(SymfonicError):
    """A draft cannot be reviewed as asked."""

    exit_code = 50


class DraftAlreadyDecided(ReviewError):
    """The procedure was approved, rejected or retired before."""

    exit_code = 51


class MissingExtra(SymfonicError, ImportError):
    """An optional dependency is not installed; the message names the extra."""

    exit_code = 60
