"""The command ``symfonic-memory``: it parses, calls ``service``, and shows what came back.

Nothing is imported here. The commands and what they need are loaded when one of them runs, so that
``--help`` and the completion of a shell answer at once.
"""

from __future__ import annotations


def main() -> None:
    """Run the command of this process, and end the process with its exit code."""
    from symfonic.capabilities.memory.cli.app import run

    run()
