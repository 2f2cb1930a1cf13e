"""This side: models that live in a confined process, asked like any other."""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

from fairaudit.errors import InputError
from fairaudit.models.sandbox.process_limits import Limits
from fairaudit.models.sandbox.wire import STATUS, Broken, Channel, Message

__all__ = ["Ended", "Model", "Process", "explain", "is_possible"]

_START = "import gc, json, sys; gc.disable(); sys.path[:] = json.loads(sys.argv[1]); " + (
    "from fairaudit.models.confined_process import main; main(int(sys.argv[2]))"
)
#: What the environment of a model may know: nothing but letters, how many threads to use, and which
#: instructions to compute with, without which predictions differ from ours in their last bits.
_ENVIRONMENT = (
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "ATEN_CPU_CAPABILITY",
    "BLIS_ARCH_TYPE",
    "DNNL_MAX_CPU_ISA",
    "MKL_CBWR",
    "MKL_DEBUG_CPU_TYPE",
    "MKL_ENABLE_INSTRUCTIONS",
    "NPY_DISABLE_CPU_FEATURES",
    "NPY_ENABLE_CPU_FEATURES",
    "ONEDNN_MAX_CPU_ISA",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
)
_THREADS = ("_NUM_THREADS", "_THREAD_LIMIT")
_GRACE = 10  # seconds for the start of a process, beside the limit
_COMMON = ("sklearn.pipeline", "sklearn.compose", "sklearn.linear_model", "sklearn.ensemble")
_FOREIGN = (".json", ".keras", ".onnx", ".pt2", ".txt", ".ubj")  # need nothing of scikit-learn


def is_possible() -> bool:
    """Whether models can have a process of their own here at all."""
    return os.name == "posix" and hasattr(socket, "send_fds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What is to run: the bytes of a file with its name, or the name of a function.

    `folder` is where code that the caller trusts is imported from; `without` names layers to leave
    out and `opener` a function that opens the bytes instead of the allow-list. Both are for tests.
    """

    name: str
    data: bytes | None = field(repr=False)
    trust: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    folder: str | None = None
    without: tuple[str, ...] = ()
    opener: str | None = None


class Ended(Exception):
    """The model's process gave no answer: `status` of os.waitpid, or None if it was stopped."""

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.why, self.status = why, status


class _Server:
    """The process that starts the others; one for each process of the caller."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-I", "-X", "utf8", "-c", _START]
        with there:
            self.process = subprocess.Popen(  # noqa: S603  no shell, and only our own arguments
                [*command, json.dumps(_search_path()), str(there.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_environment(),
                cwd="/",  # this folder may be gone when the next model comes
                pass_fds=(there.fileno(),),
                start_new_session=True,
            )
        self.control = here
        self.started = 0

    @property
    def usable(self) -> bool:
        return self.owner == os.getpid() and self.process.poll() is None

    def start(self, request: dict[str, Any]) -> tuple[Channel, socket.socket]:
        """Have a model's process started; its channel, and the socket that its life hangs on."""
        if self.started:  # worth its time only where there are several models
            request = {**request, "imports": [*request["imports"], *_COMMON]}
        self.started += 1
        data, data_there = socket.socketpair()
        life, life_there = socket.socketpair()
        with data_there, life_there:
            descriptors = [data_there.fileno(), life_there.fileno()]
            socket.send_fds(self.control, [json.dumps(request).encode()], descriptors)
        return Channel(data.detach(), patient=False), life

    def end(self) -> None:
        self.control.close()
        if self.owner == os.getpid():
            try:
                self.process.wait(1)
            except subprocess.TimeoutExpired:  # it is still importing
                self.process.kill()
                self.process.wait()


_server: _Server | None = None
_running: WeakSet[Process] = WeakSet()
_lock = threading.Lock()


def _start(request: dict[str, Any]) -> tuple[Channel, socket.socket]:
    global _server
    with _lock:
        if _server is None or not _server.usable:
            try:
                _server = _Server()
            except OSError as error:  # this interpreter, or what it is a link to, is not ours
                raise Ended(f"not started ({error})") from error
            atexit.register(_end_all, _server)
        return _server.start(request)


def _end_all(server: _Server) -> None:
    for process in list(_running):
        process.close()
    server.end()


def _search_path() -> list[str]:
    """Where the others look for packages: not in the working folder."""
    return [os.path.abspath(entry) for entry in sys.path if entry]


def _environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name in _ENVIRONMENT or name.endswith(_THREADS)
    }


class Process:
    """A confined process that holds one model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.owner = os.getpid()
        self._turn = threading.Lock()
        suffix = os.path.splitext(model.name)[1].lower()
        request = {
            "name": model.name,
            "path": _search_path(),
            "imports": ("pandas",) if suffix in _FOREIGN else ("pandas", "sklearn.base"),
            "folders": [] if model.folder is None else [model.folder],
            "memory": model.limits.memory,
            "seconds": model.limits.seconds,
            "without": list(model.without),
        }
        self._channel, self._life = _start(request)
        _running.add(self)
        deadline = time.monotonic() + model.limits.seconds + _GRACE
        #: What each layer says: None, or why it is missing.
        self.layers: dict[str, str | None] = _layers(self._receive(2**16, deadline))

    def open(self) -> dict[str, Any]:
        model = self.model
        import numpy as np

        content = {"open": model.name, "trust": model.trust, "opener": model.opener}
        arrays = [] if model.data is None else [np.frombuffer(model.data, np.uint8)]
        return self.ask(Message(content, arrays), 2**26).content

    def ask(self, question: Message, most: int) -> Message:
        """The answer, of at most so many bytes. Raises `Ended` if there is none."""
        with self._turn:
            deadline = time.monotonic() + self.model.limits.seconds
            try:
                self._channel.send(question, deadline=deadline)
            except TimeoutError:
                raise self._ended("slow") from None
            except OSError:
                raise self._ended("gone") from None
            return self._receive(most, deadline)

    def _receive(self, most: int, deadline: float) -> Message:
        try:
            return self._channel.receive(most=most, deadline=deadline)
        except TimeoutError:
            raise self._ended("slow") from None
        except (EOFError, OSError):
            raise self._ended("gone") from None
        except Broken as error:
            raise self._ended(f"broken: {error}") from None

    def _ended(self, why: str) -> Ended:
        status = self.close(wait=why == "gone")
        return Ended(why.partition(":")[0], status)

    @property
    def alive(self) -> bool:
        return self._channel.descriptor >= 0 and self.owner == os.getpid()

    def close(self, *, wait: bool = False) -> int | None:
        """End the process and all that it has started; how it had ended, if it had by itself."""
        if not self.alive:
            return None
        self._channel.close()
        with suppress(OSError):
            if not wait:
                self._life.shutdown(socket.SHUT_WR)
            self._life.settimeout(_GRACE)
            said = self._life.recv(STATUS.size)
            self._life.close()
            if wait and len(said) == STATUS.size:
                return int(STATUS.unpack(said)[0])
        return None

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()


def _layers(message: Message) -> dict[str, str | None]:
    layers = message.content["layers"]
    return {str(name): None if why is None else str(why) for name, why in layers.items()}


def explain(ended: Ended, name: str, limits: Limits) -> InputError:
    """One line about a process that gave no answer."""
    start = f"The model file {name} was stopped: "
    if ended.why == "slow":
        more = f"'isolate' {10 * limits.seconds}s"
        why = f"it ran longer than {limits.seconds} s. Give it more time ({more}), or pass"
    elif ended.why == "memory":
        more = f"'isolate' {-(-2 * limits.memory // 2**30)}GB"
        why = f"it needed more than {limits.size} of memory. Give it more ({more}), or pass"
    elif ended.why.startswith("not started"):
        why = f"its process was {ended.why}. Pass"
    elif ended.why == "broken":
        why = "its process answered what no model answers. It looks hostile; pass"
    else:
        why = f"its process {_ending(ended.status, limits)}. Save the model again, or pass"
    return InputError(f"{start}{why} predictions instead of the model.", argument="isolate")


def _ending(status: int | None, limits: Limits) -> str:
    if status is None:
        return "is gone"
    if os.WIFEXITED(status):
        return f"ended without an answer (status {os.WEXITSTATUS(status)})"
    try:
        name = signal.Signals(os.WTERMSIG(status)).name
    except ValueError:
        name = f"signal {os.WTERMSIG(status)}"
    return f"crashed ({name}), perhaps for want of memory ({limits.size})"
