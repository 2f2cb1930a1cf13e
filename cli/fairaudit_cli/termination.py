"""SIGTERM and Ctrl-C end the command within seconds, also while compiled code runs.

Python hears a signal between two of its own steps; a model that predicts in compiled code for
minutes takes none. A thread waits for the signal beside it: when the command has not unwound by
itself in time, it takes temporary files away and ends the process.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from fairaudit_cli.exit_codes import ExitCode

__all__ = ["TOLD", "Terminated", "heard_termination"]

TO_HEAR = 2.0  # seconds
TO_UNWIND = 5.0  # seconds after it was heard
TOLD = {
    ExitCode.TERMINATED: "fairaudit: terminated; no verdict, and no file but finished ones",
    ExitCode.INTERRUPTED: "fairaudit: interrupted; no verdict, and no file but finished ones",
}
_STATUS: dict[int, ExitCode] = {
    signal.SIGTERM: ExitCode.TERMINATED,
    signal.SIGINT: ExitCode.INTERRUPTED,
}


class Terminated(BaseException):
    """SIGTERM, which runners send before they kill: time to take temporary files away."""


@contextmanager
def heard_termination(*, to_the_end: bool) -> Iterator[None]:
    """SIGTERM raises `Terminated` inside of the block; the process ends if that changes nothing.

    Parameters
    ----------
    to_the_end : bool
        Whether the process ends with the command, so that whatever keeps it alive after the
        block (a thread in compiled code) is ended too.
    """
    if threading.current_thread() is not threading.main_thread():  # only that one hears signals
        yield
        return
    heard, over = threading.Event(), threading.Event()

    def stop(*_: Any) -> None:
        heard.set()
        raise Terminated

    def interrupt(*_: Any) -> None:
        heard.set()
        raise KeyboardInterrupt

    before = {signal.SIGTERM: signal.signal(signal.SIGTERM, stop)}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        before[signal.SIGINT] = signal.signal(signal.SIGINT, interrupt)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    waked = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    watcher = threading.Thread(target=_watch, args=(reading, heard, over), daemon=True)
    watcher.start()
    stopped = False
    try:
        yield
    except (Terminated, KeyboardInterrupt):
        stopped = True
        raise
    finally:
        if not (stopped and to_the_end):
            over.set()
        signal.set_wakeup_fd(waked)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(writing)  # ends the watcher, unless it has a signal to see to


def _watch(reading: int, heard: threading.Event, over: threading.Event) -> None:
    """End the process after a signal that was not heard, or that did not end the command.

    The first Ctrl-C only has to be heard: `remedy` then keeps the best model so far, which takes
    its time.
    """
    status = None
    while byte := os.read(reading, 1):
        if byte[0] not in _STATUS:
            continue
        patient = status is None and byte[0] == signal.SIGINT
        status = _STATUS[byte[0]]
        if not heard.wait(TO_HEAR) or not (patient or over.wait(TO_UNWIND)):
            _end(status, heard, over)
    os.close(reading)
    if status is not None and not over.wait(TO_UNWIND):
        _end(status, heard, over)


def _end(status: ExitCode, heard: threading.Event, over: threading.Event) -> None:
    if over.is_set():
        return
    # an import could wait for one that is under way
    files = sys.modules.get("fairaudit.data.reading.write")
    with suppress(OSError):
        if files is not None:
            files.remove_unfinished()
        if not heard.is_set():  # otherwise the command says so itself
            os.write(2, f"{TOLD[status]}\n".encode())
    os._exit(status)
