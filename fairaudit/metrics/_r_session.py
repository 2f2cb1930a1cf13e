"""One R interpreter inside this process: started quietly, called safely, stopped by Ctrl-C."""

from __future__ import annotations

import logging
import os
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from fairaudit.errors import FairAuditError

__all__ = ["call", "files_of_user", "one_line", "start"]

# R is one interpreter per process and not thread-safe: one call at a time.
_ONE_AT_A_TIME = threading.RLock()


def files_of_user() -> dict[str, str]:
    """Variables by which R reads the user's own settings, and no others.

    By itself it prefers `.Rprofile` and `.Renviron` of the working folder, whose code is that of
    whoever made the folder.
    """
    files = {"R_PROFILE_USER": "~/.Rprofile", "R_ENVIRON_USER": "~/.Renviron"}
    return {name: os.environ.get(name, os.path.expanduser(file)) for name, file in files.items()}


@lru_cache(maxsize=1)
def start() -> Any:
    """rpy2.rinterface with R running; raises whatever rpy2 raises when it cannot start R."""
    with _ONE_AT_A_TIME, _mute_start(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "R is not initialized by the main thread"
        handler = signal.getsignal(signal.SIGINT)
        os.environ.update(files_of_user())  # importing rpy2 starts an R already
        import rpy2.rinterface as rinterface
        from rpy2.rinterface_lib.embedded import isinitialized, set_initoptions

        if not isinitialized():  # by the caller
            # nor objects of .RData, which could stand in the place of R's own functions
            set_initoptions(("rpy2", "--quiet", "--no-save", "--no-restore"))
        rinterface.initr()
        # rpy2 puts Python's default handler in the place of the caller's
        if threading.current_thread() is threading.main_thread() and handler is not None:
            signal.signal(signal.SIGINT, handler)
    return rinterface


@contextmanager
def _mute_start() -> Iterator[None]:
    """While R starts, profiles write to the file descriptors and rpy2 writes to its log."""
    log = logging.getLogger("rpy2")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    saved = {descriptor: os.dup(descriptor) for descriptor in (1, 2)}
    try:
        with open(os.devnull, "wb") as sink:
            for descriptor in saved:
                os.dup2(sink.fileno(), descriptor)
            yield
    finally:
        for descriptor, copy in saved.items():
            os.dup2(copy, descriptor)
            os.close(copy)
        log.setLevel(level)


def call(function: str, *arguments: Any) -> float:
    """The number that an R function gives for these arguments.

    Parameters
    ----------
    function : str
        R source of a function.
    *arguments
        None, str, int, float, or an n × d array (copied once, as a block).
    """
    rinterface = start()
    with _ONE_AT_A_TIME, _mute_console(), _interruptible(rinterface):
        try:
            compiled = rinterface.evalr(function)
            return float(compiled(*[_to_r(rinterface, value) for value in arguments])[0])
        except rinterface.embedded.RRuntimeError as error:
            raise FairAuditError(f"R stopped: {one_line(error)}") from None


@contextmanager
def _mute_console() -> Iterator[None]:
    from rpy2.rinterface_lib import callbacks

    names = ("consolewrite_print", "consolewrite_warnerror")
    saved = {name: getattr(callbacks, name) for name in names}
    try:
        for name in names:
            setattr(callbacks, name, lambda text: None)
        yield
    finally:
        for name, function in saved.items():
            setattr(callbacks, name, function)


@contextmanager
def _interruptible(rinterface: Any) -> Iterator[None]:
    """Let Ctrl-C stop R, then do what it would have done in Python.

    An exception raised by a signal handler inside one of rpy2's callbacks is lost, so the handler
    must not raise while R runs: it tells R to stop, and the signal is sent again afterwards.
    """
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(previous):
        yield
        return
    library = rinterface.openrlib.rlib
    received = []

    def stop_r(number: int, frame: Any) -> None:
        received.append(number)
        library.R_interrupts_pending = 1

    signal.signal(signal.SIGINT, stop_r)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        library.R_interrupts_pending = 0
        if received:
            signal.raise_signal(signal.SIGINT)


def _to_r(rinterface: Any, value: Any) -> Any:
    if value is None:
        return rinterface.NULL
    if isinstance(value, str):
        return rinterface.StrSexpVector([value])
    if isinstance(value, int):
        return rinterface.IntSexpVector([value])
    if isinstance(value, float):
        return rinterface.FloatSexpVector([value])
    import numpy as np

    columns = np.asfortranarray(value, dtype=np.float64)
    vector = rinterface.FloatSexpVector.from_memoryview(columns.ravel(order="F").data)
    vector.do_slot_assign("dim", rinterface.IntSexpVector(columns.shape))
    return vector


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
