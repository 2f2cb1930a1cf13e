"""Anchors: heads of a state that are kept elsewhere, so that its past cannot be written anew.

The lines of a state are chained by hashes, which anybody can compute again over other lines. A head
that somebody else keeps (a file on another machine, a commit, an e-mail) cannot be: a state whose
past was changed does not contain it any more.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from fairaudit.errors import InputError
from fairaudit.monitoring.state import StateFile

__all__ = ["Anchor"]

_HEAD = re.compile(r"[0-9a-f]{64}")


class Anchor:
    """A head, or a file that keeps all of them, one a line.

    Parameters
    ----------
    given : str or path
        64 hexadecimal digits, or a file. One that does not exist yet is begun by `keep`.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> state = StateFile(folder / "fairness.state")
    >>> state.begin({"alpha": 0.05}, {"rows": 200})
    >>> first = state.head
    >>> state.append({"rows": 300})
    >>> Anchor(first).check(state)
    'The state contains the anchored head of batch 1; no anchor vouches for batch 2.'
    """

    def __init__(self, given: str | Path) -> None:
        self.path = None if _HEAD.fullmatch(str(given)) else Path(given)
        self.heads = [str(given)] if self.path is None else _read_heads(self.path)

    def check(self, file: StateFile) -> str | None:
        """A sentence for the report; an error where the state has lost an anchored head."""
        if not self.heads:
            return None
        found = [file.heads.index(head) for head in self.heads if head in file.heads]
        lost = [head for head in self.heads if head not in file.heads]
        if lost:
            raise InputError(
                f"The state {str(file.path)!r} does not contain the anchored head {lost[0][:16]}…: "
                "its past was changed, or it is another state. Restore it from a copy; do not "
                "believe its evidence.",
                argument="anchor",
            )
        if found != sorted(found):
            raise InputError(
                f"The heads in {str(self.path)!r} are not in the order of the state: one of the "
                "two was changed.",
                argument="anchor",
            )
        last, count = found[-1], len(file.batches)
        said = f"The state contains the anchored head of {f'batch {last}' if last else 'its start'}"
        if last == count:
            return f"{said}."
        later = f"batch {count}" if count == last + 1 else f"batches {last + 1} to {count}"
        return f"{said}; no anchor vouches for {later}."

    def keep(self, file: StateFile) -> None:
        """Add the head of the state to the file, on the disk before this returns."""
        if self.path is None or file.head in self.heads:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="ascii") as target:
                target.write(f"{file.head} batch {len(file.batches)}\n")
                target.flush()
                os.fsync(target.fileno())
        except OSError as error:
            raise InputError(
                f"Cannot write {str(self.path)!r}: {error.strerror or error}. The batch was added "
                f"and is not anchored; its head is {file.head}.",
                argument="anchor",
            ) from None
        self.heads.append(file.head)


def _read_heads(path: Path) -> list[str]:
    if not path.exists():
        return []
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"Cannot read {str(path)!r}: {error}.", argument="anchor") from None
    heads = [line.split(" ", 1)[0] for line in lines if line.strip()]
    wrong = [number for number, head in enumerate(heads, 1) if not _HEAD.fullmatch(head)]
    if wrong:
        raise InputError(
            f"{str(path)!r} keeps no heads of a monitor: line {wrong[0]} does not begin with 64 "
            "hexadecimal digits.",
            argument="anchor",
        )
    return heads
