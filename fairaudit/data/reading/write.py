"""Text and bytes out: all of a file or nothing."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from fairaudit.errors import InputError

__all__ = ["check_writable", "remove_unfinished", "write_bytes", "write_text"]


def check_writable(path: str | Path) -> None:
    """Fail now, and not after the work, when a report cannot be written."""
    target = Path(path)
    folder = target.parent
    while not folder.exists():
        folder = folder.parent
    problem = None
    if target.is_dir():
        problem = "it is a directory"
    elif not folder.is_dir():
        problem = f"{str(folder)!r} is not a directory"
    elif not os.access(folder, os.W_OK):
        problem = f"no permission to write in {str(folder)!r}"
    elif target.exists() and not os.access(target, os.W_OK):
        problem = "no permission to replace it"
    if problem:
        raise InputError(f"Cannot write {str(target)!r}: {problem}. Pass another path.")


def write_text(path: str | Path, text: str) -> None:
    """Write all of the file or nothing, also when interrupted."""
    write_bytes(path, text.encode())


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write all of the file or nothing, also when interrupted."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        _unfinished.add(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(name, 0o644)  # a temporary file is its owner's alone
            os.replace(name, target)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(name)
            raise
        finally:
            _unfinished.discard(name)
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"Cannot write {str(target)!r}: {why}. Pass another path.") from None


_unfinished: set[str] = set()  # temporary names of files that are being written


def remove_unfinished() -> None:
    """Take temporary files away: for a process that ends before it can finish them."""
    for name in list(_unfinished):
        with suppress(FileNotFoundError):
            os.unlink(name)
