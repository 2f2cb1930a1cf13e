"""Finished parts of a long run, kept in a file: the same run goes on where it was stopped."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from fairaudit.errors import InputError

__all__ = ["Checkpoint", "hash_settings"]


def hash_settings(settings: Any) -> str:
    """A hash of everything that decides the numbers of a run."""
    text = json.dumps(settings, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


class Checkpoint:
    """Key → value, one line of JSON each, appended as soon as a part is finished.

    Numbers survive the file bit by bit. A last line that was cut off (a killed process, a full
    disk) is dropped, and its part is done again.

    Parameters
    ----------
    path : path
        Is created when the first part is finished.
    identity : str
        Of the run; a file of another run is an error.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "run.jsonl"
    >>> Checkpoint(path, "a run").put("first", [0.1, 0.2])
    >>> Checkpoint(path, "a run").get("first")
    [0.1, 0.2]
    """

    def __init__(self, path: str | Path, identity: str) -> None:
        self.path, self.identity = Path(path), identity
        self.parts: dict[str, Any] = {}
        self._read()

    def __len__(self) -> int:
        return len(self.parts)

    def get(self, key: str) -> Any:
        """What was kept under this key, or None."""
        return self.parts.get(key)

    def put(self, key: str, value: Any) -> None:
        """Keep it, also on the disk before this returns."""
        self.parts[key] = value
        lines = "" if self.path.exists() else json.dumps({"run": self.identity}) + "\n"
        lines += json.dumps({"key": key, "value": value}) + "\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise InputError(
                f"Cannot save the progress to {str(self.path)!r}: {error.strerror}. Free some "
                "space, or pass another file."
            ) from None

    def remove(self) -> None:
        """The run is complete."""
        self.path.unlink(missing_ok=True)

    def _read(self) -> None:
        if not self.path.exists():
            return
        whole = 0
        try:
            lines = self.path.read_bytes().splitlines(keepends=True)
        except OSError as error:
            raise InputError(f"Cannot read {str(self.path)!r}: {error.strerror}.") from None
        for number, line in enumerate(lines):
            record = _parse_line(line)
            if number == 0 and record.get("run") != self.identity:
                raise InputError(
                    f"{str(self.path)!r} belongs to another run: data, model, settings or version "
                    "differ. Delete it to start over, or pass another file."
                )
            if number and "key" not in record:
                break
            if number:
                self.parts[record["key"]] = record["value"]
            whole += len(line)
        if whole < sum(map(len, lines)):
            with self.path.open("rb+") as file:
                file.truncate(whole)


def _parse_line(line: bytes) -> dict[str, Any]:
    """A whole line as what it says; nothing for a line that was cut off."""
    if not line.endswith(b"\n"):
        return {}
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}
