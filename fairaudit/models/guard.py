"""While the model of a file loads or predicts: no files written, no processes, no network.

Models of the allow-list do none of this, so nothing is lost when Python is told to refuse it. The
guard is a second line: it sees what Python does (PEP 578), not what compiled code does by itself.
It holds for the thread that asks; joblib is kept in that thread meanwhile.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fairaudit.errors import InputError

__all__ = ["no_side_effects"]

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_REFUSED = {
    "code.__new__",
    "ftplib.connect",
    "function.__new__",
    "os.chmod",
    "os.chown",
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.kill",
    "os.killpg",
    "os.link",
    "os.mkdir",
    "os.posix_spawn",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.setxattr",
    "os.spawn",
    "os.startfile",
    "os.symlink",
    "os.system",
    "os.truncate",
    "os.utime",
    "pickle.find_class",
    "pty.spawn",
    "smtplib.connect",
    "sqlite3.connect",
    "subprocess.Popen",
    "urllib.Request",
    "webbrowser.open",
}
_REFUSED_KINDS = ("shutil.", "socket.", "winreg.")

_here = threading.local()
_installed = threading.Lock()  # an audit hook stays for good, so it is taken only once


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if not getattr(_here, "active", False):
        return
    if event == "open":
        if not (args[2] and args[2] & _WRITES):
            return
        what = f"write the file {str(args[0])!r}"
    elif event in _REFUSED or event.startswith(_REFUSED_KINDS):
        what = f"do {event} ({', '.join(map(repr, args))[:80]})"
    else:
        return
    text = "".join(letter if letter.isprintable() else " " for letter in what)
    raise InputError(
        f"The model tried to {text}, which no saved model does; it was not done. "
        "It looks hostile: get the model from its author again."
    )


def _count_cores() -> None:
    """joblib asks another program for the number of cores, once: now, and not inside of a block."""
    import warnings

    from joblib import cpu_count

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it then takes the logical cores
        cpu_count(only_physical_cores=True)


@contextmanager
def no_side_effects(on: bool = True) -> Iterator[None]:
    """Refuse files written, processes and network by this thread inside of the block."""
    if not on:
        yield
        return
    from joblib import parallel_config

    if _installed.acquire(blocking=False):
        _count_cores()
        sys.addaudithook(_hook)
    before = sys.dont_write_bytecode, getattr(_here, "active", False)
    with parallel_config(backend="sequential"):
        sys.dont_write_bytecode = _here.active = True
        try:
            yield
        finally:
            sys.dont_write_bytecode, _here.active = before
