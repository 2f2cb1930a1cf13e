"""The other side: a process that starts confined ones, and what those do.

Three kinds of process, none of which shares memory or secrets with the caller's:

* the *server*, a new interpreter with a clean environment, imports what models need and forks;
* a *keeper* for each model, which takes it out of the network and the system's processes, and ends
  it and all that it may have started when the caller says so, goes away or is killed;
* the *model's process*, confined before it sees the first byte of the model.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
import tempfile
import time
from contextlib import suppress
from importlib import import_module, invalidate_caches
from typing import Any, NoReturn

from fairaudit.errors import FairAuditError, MissingDependencyError
from fairaudit.models.safe_pickle import first_line
from fairaudit.models.sandbox.confine import Wanted, confine
from fairaudit.models.sandbox.kernel import prctl
from fairaudit.models.sandbox.namespaces import enter_namespaces
from fairaudit.models.sandbox.postponed import postpone
from fairaudit.models.sandbox.readable import readable_paths
from fairaudit.models.sandbox.wire import STATUS, Channel, Message

__all__ = ["main"]

_PR_SET_CHILD_SUBREAPER = 36
_MOST_REQUEST = 2**18
_PARTS = ("chi2", "gmean", "rankdata", "spearmanr")  # that scikit-learn imports from scipy.stats


def main(descriptor: int) -> NoReturn:
    """Fork a keeper for each request, until the caller is gone."""
    control = socket.socket(fileno=descriptor)
    while True:
        text, descriptors, _, _ = socket.recv_fds(control, _MOST_REQUEST, 2)
        _bury(os.WNOHANG if text else 0)
        if not text:
            os._exit(0)
        request = json.loads(text)
        sys.path[:] = request["path"]
        invalidate_caches()
        with suppress(Exception):  # told by whoever needs it
            postpone("scipy.stats", _PARTS)
        for name in request["imports"]:
            with suppress(Exception):
                import_module(name)
        gc.freeze()
        if os.fork() == 0:
            control.close()
            _end(_keep, request, *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _bury(options: int) -> None:
    """Take leave of keepers that have ended, so that their time counts as the caller's."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, options)[0]:
            pass


def _end(run: Any, *args: Any) -> NoReturn:
    """Run the rest of a forked process, and never return into the code of the other."""
    try:
        run(*args)
    finally:
        os._exit(1)


# ---------------------------------------------------------------- the keeper


def _keep(request: dict[str, Any], data: int, life: int) -> None:
    os.setsid()
    namespaces: str | None = "switched off"
    if "namespaces" not in request["without"]:
        try:
            enter_namespaces()
            namespaces = None
        except OSError as error:
            namespaces = str(error.strerror or error)
    if sys.platform == "linux":
        prctl(_PR_SET_CHILD_SUBREAPER, 1)  # what it leaves behind comes here
    model = os.fork()
    if model == 0:
        os.close(life)
        _end(_serve, request, data, namespaces)
    os.close(data)
    status = _watch(model, life)
    _end_all(model)
    with suppress(OSError):
        os.write(life, STATUS.pack(status))
    os._exit(0)


def _watch(model: int, life: int) -> int:
    """Wait until the process ends, or until the caller wants it to, and how it ended."""
    events = select.poll()
    events.register(life, select.POLLIN | select.POLLHUP)
    wait: float | None = 1.0  # milliseconds
    with suppress(AttributeError, OSError):  # Linux 5.3
        events.register(os.pidfd_open(model), select.POLLIN)
        wait = None
    while True:
        happened = [descriptor for descriptor, _ in events.poll(wait)]
        if life in happened:
            with suppress(ProcessLookupError):
                os.kill(model, signal.SIGKILL)  # with it goes its namespace of processes
            return os.waitpid(model, 0)[1]
        ended, status = os.waitpid(model, os.WNOHANG)
        if ended:
            return status
        wait = wait and min(2 * wait, 50.0)


def _end_all(model: int) -> None:
    """Without a namespace of processes: end those that it has started, whatever their session."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(model, signal.SIGKILL)
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        for orphan in _children():
            with suppress(ProcessLookupError):
                os.kill(orphan, signal.SIGKILL)
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        time.sleep(0.001)


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            return [int(number) for number in file.read().split()]
    except (OSError, ValueError):
        return []


# ---------------------------------------------------------------- the model's process


def _serve(request: dict[str, Any], data: int, namespaces: str | None) -> None:
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):  # what the model prints is no answer
        os.dup2(null, standard)
    os.dup2(data, 3)
    os.closerange(4, 1024)
    channel = Channel(3)
    folders = request["folders"]
    limits = {name: int(request[name]) for name in ("memory", "seconds")}
    without = frozenset(request["without"])
    wanted = Wanted(readable=readable_paths(folders), without=without, **limits)
    layers = confine(wanted, namespaces)
    if folders:
        os.chdir(folders[0])
    _do_without_files()
    channel.send(Message({"layers": layers}))
    predictor = None
    while True:
        try:
            question = channel.receive()
        except EOFError:
            os._exit(0)
        try:
            if "open" in question.content:
                predictor = _open(question)
                gc.enable()
                answer = Message({"facts": _facts(predictor)})
            else:
                answer = _answer(predictor, question)
        except Exception as error:  # ours, or of a library that was not let do what it does
            answer = Message(_error(error, request["name"]))
        channel.send(answer)


def _do_without_files() -> None:
    """Settle what torch and keras ask when they are imported: where to keep things, how to draw."""
    tempfile.tempdir = os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.sep
    sys.modules.setdefault("matplotlib", None)  # type: ignore[arg-type]  # wants to write its cache


def _open(question: Message) -> Any:
    from fairaudit.models.loading import import_model, open_model

    content = question.content
    trust = tuple(content["trust"])
    if content["opener"] is not None:
        module, _, name = content["opener"].partition(":")
        return getattr(import_module(module), name)(question.arrays[0].tobytes())
    if not question.arrays:
        return import_model(content["open"])
    return open_model(question.arrays[0].tobytes(), content["open"], trust)


def _facts(predictor: Any) -> dict[str, Any]:
    return {
        "kind": predictor.kind,
        "features": predictor.features,
        "n_features": predictor.n_features,
        "classes": _plain_classes(predictor.classes),
        "notes": list(predictor.notes),
    }


def _plain_classes(classes: Any) -> list[Any] | None:
    if classes is None:
        return None
    values = [x.item() if hasattr(x, "item") else x for x in classes]
    return [x if isinstance(x, (bool, int, float, str)) else str(x) for x in values]


def _answer(predictor: Any, question: Message) -> Message:
    from fairaudit.models.sandbox.wire_tables import pack_table, unpack_table

    made = predictor.answer(unpack_table(question), on=question.content["on"])
    packed = pack_table(made.table)
    classes = None if made.classes is None else _plain_classes(made.classes)
    content = {**packed.content, "meaning": made.meaning.value, "classes": classes}
    return Message(content, packed.arrays)


def _error(error: Exception, name: str) -> dict[str, Any]:
    ours = isinstance(error, FairAuditError)
    cause = error.__cause__ if ours else error
    if isinstance(cause, MemoryError):
        return {"memory": True}
    if isinstance(cause, PermissionError):
        what = cause.strerror or "not permitted"
        where = f": {cause.filename}" if isinstance(cause.filename, str) else ""
        return {"refused": f"{what}{where}"}
    named = getattr(error, "argument", None) or ()
    return {
        "error": str(error) if ours else f"{name} cannot be opened: {first_line(error)}.",
        "missing": isinstance(error, MissingDependencyError),
        "argument": [named] if isinstance(named, str) else list(named),
    }
