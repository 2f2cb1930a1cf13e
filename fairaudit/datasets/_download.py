"""Files from their public homes: checked, all of a file or nothing, with retries and progress."""

from __future__ import annotations

import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairaudit.data.reading.write import check_writable, write_bytes, write_text
from fairaudit.errors import InputError

__all__ = ["Progress", "RemoteFile", "data_folder", "local_copy"]

#: Called with (file, bytes so far, bytes in all or 0 where the server does not say).
Progress = Callable[[str, int, int], None]

TRIES = 3
WAIT = 1.0  # seconds before the second try, doubled before the third
TIMEOUT = 30.0
BLOCK = 1 << 18
_PASSING = (408, 425, 429, 500, 502, 503, 504)  # answers of a server that may change its mind


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A public file.

    Attributes
    ----------
    name : str
        Its name in the folder of the data sets.
    url : str
    sha256 : str, optional
        Where it is not known, that of the first download is kept beside the file, and holds.
    start : bytes
        What the file begins with: the page of a proxy in its place is not taken for data.
    """

    name: str
    url: str
    sha256: str | None = None
    start: bytes = b""


def data_folder(data_home: str | Path | None) -> Path:
    """The argument, or FAIRAUDIT_DATA, or the user's cache."""
    chosen = data_home or os.environ.get("FAIRAUDIT_DATA")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "fairaudit"


def local_copy(
    file: RemoteFile, data_home: str | Path | None = None, progress: Progress | None = None
) -> Path:
    """The path of the file, downloaded if it is not in the folder; its checksum holds."""
    folder = data_folder(data_home)
    path, record = folder / file.name, folder / f"{file.name}.sha256"
    recorded = file.sha256 is None and record.is_file()
    expected = record.read_text(encoding="utf-8")[:64] if recorded else file.sha256
    way_out = f" If it is the right file, delete {str(record)!r}." if recorded else ""
    if path.is_file():
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if expected not in (None, digest):
            raise InputError(
                f"{str(path)!r} is not the file of {file.url}: its SHA-256 is {digest}, and should "
                f"be {expected}. Delete it, and the file is downloaded again.{way_out}"
            )
        return path
    try:
        check_writable(path)
    except InputError as error:
        raise InputError(
            f"{file.name} is not in {str(folder)!r}, and is to be had from {file.url}. {error}"
        ) from None
    data = _download(file, folder, progress)
    digest = hashlib.sha256(data).hexdigest()
    if expected not in (None, digest):
        raise InputError(
            f"What {file.url} sends is not the {file.name} that is known here: its SHA-256 is "
            f"{digest}, and should be {expected}. Nothing was saved.{way_out}"
        )
    if not data.startswith(file.start):
        raise InputError(
            f"What {file.url} sends is not {file.name}; a proxy may have answered in its place. "
            f"Nothing was saved. Put the file into {str(folder)!r}."
        )
    if file.sha256 is None:
        write_text(record, f"{digest}  {file.name}\n")  # as sha256sum --check reads it
    write_bytes(path, data)
    return path


def _download(file: RemoteFile, folder: Path, progress: Progress | None) -> bytes:
    for attempt in range(TRIES):
        if attempt:
            time.sleep(WAIT * 2 ** (attempt - 1))
        try:
            with _show_progress(file.name, progress) as show:
                return _receive(file.url, show)
        except urllib.error.HTTPError as error:
            why = f"it answers {error.code} {error.reason}"
            if error.code not in _PASSING:
                break
        except urllib.error.URLError as error:
            why = _reason(error.reason)
        except (OSError, http.client.HTTPException) as error:
            why = _reason(error)
    raise InputError(
        f"{file.name} is not in {str(folder)!r} and cannot be downloaded from {file.url}: {why}. "
        "Put the file into that folder, or into one that data_home or the environment variable "
        "FAIRAUDIT_DATA names."
    )


def _reason(error: object) -> str:
    return str(getattr(error, "strerror", None) or error) or type(error).__name__


def _receive(url: str, show: Callable[[int, int], None]) -> bytes:
    request = urllib.request.Request(url, headers={"User-Agent": "fairaudit"})  # noqa: S310
    data = bytearray()
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310  our addresses
        total = int(answer.headers.get("Content-Length") or 0)
        while block := answer.read(BLOCK):
            data += block
            show(len(data), total)
    if len(data) < total:
        raise ConnectionError(f"the connection broke after {len(data):,} of {total:,} bytes")
    return bytes(data)


@contextmanager
def _show_progress(name: str, progress: Progress | None) -> Iterator[Callable[[int, int], None]]:
    """To the caller's function, or as a bar where standard error is a terminal or a notebook."""
    if progress is not None:
        yield lambda done, total: progress(name, done, total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield lambda done, total: None
        return
    columns = TextColumn("downloading {task.description}"), BarColumn(), DownloadColumn()
    with Bar(*columns, TransferSpeedColumn(), console=console, transient=True) as bar:
        task = bar.add_task(name)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)
