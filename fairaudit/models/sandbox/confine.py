"""A process gives up what it does not need: layer by layer, and says which it could not get."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fairaudit.models.sandbox.kernel import drop_capabilities, prctl
from fairaudit.models.sandbox.landlock import restrict_files
from fairaudit.models.sandbox.namespaces import leave_file_system
from fairaudit.models.sandbox.readable import Readable
from fairaudit.models.sandbox.seccomp import filter_calls

__all__ = ["Wanted", "confine", "limit_resources"]

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_THREADS = 512
_LONG = 3600  # seconds of processor time, whatever the limit of a question


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to hold: `without` names layers to do without, as on machines that lack them."""

    memory: int
    seconds: int
    readable: Readable
    without: Collection[str] = ()


def confine(wanted: Wanted, namespaces: str | None) -> dict[str, str | None]:
    """Apply all layers to this process, for good. What each one says: None, or why it is missing.

    `namespaces` is what was said about those, which were entered before.
    """
    readable = wanted.readable
    said = {"namespaces": namespaces, "file system": namespaces}
    limit_resources(wanted, own_users=namespaces is None)
    if sys.platform != "linux":
        why = f"only Linux has it, and this is {sys.platform}"
        return {"namespaces": why, "file system": why, "landlock": why, "seccomp": why}

    def try_layer(name: str, apply: Callable[[], Any]) -> None:
        said[name] = "switched off" if name in wanted.without else _why_not(apply)

    if namespaces is None:
        try_layer("file system", lambda: leave_file_system(readable.whole))
    os.chdir("/")
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    prctl(_PR_SET_NO_NEW_PRIVS, 1)
    with suppress(OSError):
        drop_capabilities()
    try_layer("landlock", lambda: restrict_files(readable.whole, readable.listed))
    prctl(_PR_SET_DUMPABLE, 0)  # its memory is not for others of the same user
    try_layer("seccomp", filter_calls)
    return said


def _why_not(apply: Callable[[], Any]) -> str | None:
    try:
        apply()
    except OSError as error:
        return str(error.strerror or error)
    return None


def limit_resources(wanted: Wanted, *, own_users: bool) -> None:
    """Memory beyond what is mapped already, processor time, threads; no file may grow."""
    cores = os.cpu_count() or 1
    limits = {
        resource.RLIMIT_AS: _mapped() + wanted.memory,
        resource.RLIMIT_CPU: max(_LONG, 10 * wanted.seconds * cores),
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 256,
    }
    if hasattr(resource, "RLIMIT_NPROC"):
        limits[resource.RLIMIT_NPROC] = _THREADS + (0 if own_users else _tasks_of_user())
    for what, most in limits.items():
        _, hard = resource.getrlimit(what)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with suppress(ValueError, OSError):  # macOS has no limit of addresses
            resource.setrlimit(what, (most, most))


def _mapped() -> int:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        return 2**30


def _tasks_of_user() -> int:
    """The limit counts all threads of the user, those of other programs too."""
    count, user = 0, os.getuid()
    try:
        for name in filter(str.isdigit, os.listdir("/proc")):
            with suppress(OSError):
                if os.stat(f"/proc/{name}").st_uid == user:
                    count += len(os.listdir(f"/proc/{name}/task"))
    except OSError:
        return 4096
    return count
