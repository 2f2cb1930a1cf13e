"""Every error that fairaudit raises on purpose: one line, naming the cause and the way out."""

from __future__ import annotations

__all__ = ["FairAuditError", "InputError", "MissingDependencyError", "retold"]


class FairAuditError(Exception):
    """Base class: catch this to catch everything that fairaudit raises on purpose."""


class InputError(FairAuditError, ValueError):
    """The input cannot be used as it is; the message names the column and the way out.

    Parameters
    ----------
    message : str
        A parameter of Python stands in it in single quotes, as in ``'permutations'``.
    argument : str or tuple of str, optional
        The parameters that the message speaks of; the command line shows them as its options.
    column : str, optional
        The column that is at fault.
    row : int, optional
        The first row that is at fault, counted from 1.
    """

    def __init__(
        self,
        message: str = "",
        *,
        argument: str | tuple[str, ...] | None = None,
        column: str | None = None,
        row: int | None = None,
    ) -> None:
        super().__init__(message)
        self.argument = argument
        self.column = column
        self.row = row


class MissingDependencyError(FairAuditError, ImportError):
    """An optional package (or R) is missing; the message gives the install line."""


def retold(error: FairAuditError, message: str) -> InputError:
    """The error in other words, about the same argument, column and row."""
    if isinstance(error, InputError):
        return InputError(message, argument=error.argument, column=error.column, row=error.row)
    return InputError(message)
