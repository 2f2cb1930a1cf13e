"""Every error that fairaudit raises on purpose: one line, naming the cause and the way out."""

from __future__ import annotations

__all__ = ["FairAuditError", "InputError", "MissingDependencyError"]


class FairAuditError(Exception):
    """Base class: catch this to catch everything that fairaudit raises on purpose."""


class InputError(FairAuditError, ValueError):
    """The input cannot be used as it is; the message names the column and the way out."""


class MissingDependencyError(FairAuditError, ImportError):
    """An optional package (or R) is missing; the message gives the install line."""
