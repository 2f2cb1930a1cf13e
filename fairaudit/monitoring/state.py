"""The state of a monitor: an append-only file of checked lines, one per batch."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairaudit.errors import InputError
from fairaudit.records.canonical import parse_json

__all__ = ["SCHEMA", "StateFile"]

SCHEMA = "fairaudit/monitor/1"


class StateFile:
    """Reads and extends the file.

    The first line holds the settings, every other one a batch. Each line ends with a hash of
    itself and of the line before, so that no line is changed, moved or left out by accident; who
    does it on purpose computes them again, which an `Anchor` notices. A last line that was cut off
    (a killed process, a full disk) is dropped with a note, and its batch can be added again;
    anything else that does not fit is an error.

    Parameters
    ----------
    path : path
        Need not exist.

    Attributes
    ----------
    settings : dict or None
        None where there is no file yet.
    batches : list of dict
    heads : list of str
        The hash of each line, which stands for all of the file up to there.
    notes : list of str

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "fairness.state"
    >>> StateFile(path).begin({"alpha": 0.05}, {"rows": 200})
    >>> StateFile(path).append({"rows": 300})
    >>> [batch["rows"] for batch in StateFile(path).batches]
    [200, 300]
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.settings: dict[str, Any] | None = None
        self.batches: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.heads: list[str] = []  # hashes of all lines
        self._whole = 0  # bytes up to its end
        self._seen = 0  # bytes of the file
        if self.path.exists():
            self._read()

    def begin(self, settings: Mapping[str, Any], batch: Mapping[str, Any]) -> None:
        """Create the file with its first batch: all of it or nothing."""
        head, last = _line({"schema": SCHEMA, **settings}, "")
        first, _ = _line(batch, last)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
            beside = Path(name)  # new: a name that others can guess may be a link of theirs
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(head + first)
                    file.flush()
                    os.fsync(file.fileno())
                beside.chmod(0o644)
                _put(beside, self.path)
            finally:
                beside.unlink(missing_ok=True)
        except FileExistsError:
            raise self._overtaken() from None
        except OSError as error:
            raise self._unwritable(error) from None
        self._read()

    def append(self, batch: Mapping[str, Any]) -> None:
        """Add a batch, on the disk before this returns."""
        line, last = _line(batch, self.head)
        try:
            with self.path.open("r+b") as file:
                _lock(file)
                if file.seek(0, os.SEEK_END) != self._seen:
                    raise self._overtaken()
                file.truncate(self._whole)  # what was cut off
                file.seek(self._whole)
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._unwritable(error) from None
        self.batches.append(json.loads(json.dumps(batch)))
        self.heads.append(last)
        self._whole += len(line)
        self._seen = self._whole

    def _read(self) -> None:
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise InputError(f"Cannot read {str(self.path)!r}: {error.strerror}.") from None
        self.batches, self.heads, self._whole, self._seen = [], [], 0, len(data)
        *lines, rest = data.split(b"\n")
        for number, line in enumerate(lines):
            record, last = _check_line(line, self.head)
            if number == 0 and (record is None or record.get("schema") != SCHEMA):
                raise self._foreign()
            if record is None:
                raise InputError(
                    f"{str(self.path)!r} is damaged in line {number + 1} of {len(lines)}: its "
                    "checksum does not fit. Restore the file from a copy, or begin a new state."
                )
            if number == 0:
                self.settings = record
            else:
                self.batches.append(record)
            self.heads.append(last)
            self._whole += len(line) + 1
        if not lines:
            raise self._foreign()
        if rest:
            self.notes.append(
                f"The last line of {str(self.path)!r} was cut off (a killed run) and is dropped; "
                f"batch {len(lines)} is not in the state. Pass its data again."
            )

    @property
    def head(self) -> str:
        """The hash of the last line; it stands for the whole file."""
        return self.heads[-1] if self.heads else ""

    def _foreign(self) -> InputError:
        return InputError(
            f"{str(self.path)!r} is not the state of a monitor, or its first line is damaged. "
            "Pass another 'state', or restore the file.",
            argument="state",
        )

    def _overtaken(self) -> InputError:
        return InputError(
            f"Another run has changed {str(self.path)!r} meanwhile; this batch was not added. "
            "Run the command again."
        )

    def _unwritable(self, error: OSError) -> InputError:
        return InputError(
            f"Cannot write {str(self.path)!r}: {error.strerror or error}. This batch was not "
            "added; free some space or pass another 'state'.",
            argument="state",
        )


def _line(record: Mapping[str, Any], before: str) -> tuple[bytes, str]:
    """The line of a record, and its hash."""
    text = json.dumps(record, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    check = hashlib.sha256((before + text).encode()).hexdigest()
    return f"{text} {check}\n".encode(), check


def _check_line(line: bytes, before: str) -> tuple[dict[str, Any] | None, str]:
    """The record of a line and its hash; None where it is not what was written."""
    text, _, check = line.rpartition(b" ")
    good = hashlib.sha256(before.encode() + text).hexdigest()
    if good.encode() != check:
        return None, ""
    try:
        record = parse_json(text)
    except (RecursionError, ValueError):  # somebody else has written it
        return None, ""
    return record if isinstance(record, dict) else None, good


def _put(written: Path, target: Path) -> None:
    """Give the file its name, unless another run was first."""
    try:
        os.link(written, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        os.replace(written, target)


def _lock(file: Any) -> None:
    """One writer at a time, where the system has such locks; it ends with the file."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    fcntl.flock(file, fcntl.LOCK_EX)
