"""What the exit status of `fairaudit` means."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairaudit.auditing.findings import Verdict

__all__ = ["ExitCode"]


class ExitCode(IntEnum):
    """Exit status of every command."""

    OK = 0
    """Done; of an audit: no violation found, or equivalence within tolerance shown."""
    VIOLATION = 1
    """The audit found a violation."""
    BAD_INPUT = 2
    """The command line, the data or the installation cannot be used as they are."""
    INCONCLUSIVE = 3
    """The audit cannot say: a check of its own assumptions failed."""
    INTERRUPTED = 130
    """Stopped by Ctrl-C."""
    BROKEN_PIPE = 141
    """The reader of the output went away; neither a pass nor a violation."""
    TERMINATED = 143
    """Stopped by SIGTERM."""

    @classmethod
    def of(cls, verdict: Verdict, *, strict: bool = False) -> ExitCode:
        """The status that a verdict ends with; `strict` counts inconclusive as a violation."""
        codes = {
            "violation": cls.VIOLATION,
            "no violation found": cls.OK,
            "equivalent within tolerance": cls.OK,
        }
        return codes.get(verdict.value, cls.VIOLATION if strict else cls.INCONCLUSIVE)
