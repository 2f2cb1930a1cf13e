"""Namespaces: a process without network and neighbors, whose file system has what it may read.

Root has the right to them, and everybody else where the system lets users have a namespace of
users; in that one the process keeps its own number and no rights over anything outside.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from contextlib import suppress

from fairaudit.models.sandbox.kernel import c_call, system_call
from fairaudit.models.sandbox.readable import OWN_PROCESS

__all__ = ["enter_namespaces", "leave_file_system"]

_MOUNT, _IPC, _USER, _PID, _NETWORK = 0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
_BIND, _REC, _PRIVATE, _READ_ONLY, _NO_SUID, _REMOUNT = 4096, 16384, 1 << 18, 1, 2, 32
_DETACH = 2
_HERE, _RECURSIVE = -100, 0x8000  # AT_FDCWD, AT_RECURSIVE
_STAGES = ("/mnt", "/media", "/srv", "/boot", "/run", "/var", "/opt", "/home")


def enter_namespaces() -> bool:
    """Namespaces of its own for this process; that of processes holds for its children.

    Returns whether users have one too. Raises `OSError` if there are none at all.
    """
    user, group = os.getuid(), os.getgid()
    wanted = _MOUNT | _IPC | _PID | _NETWORK
    try:
        c_call("unshare", wanted | _USER)
    except OSError:
        c_call("unshare", wanted)  # root, where users may not have namespaces
        return False
    with suppress(OSError):
        _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")
    return True


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def leave_file_system(paths: Iterable[str]) -> None:
    """Move to a file system that has these paths, read-only, and nothing else."""
    places = sorted(path for path in {os.path.abspath(path) for path in paths} if _exists(path))
    real = {path: os.path.realpath(path) for path in places}
    stage = _stage([*real.values(), *places])
    _mount(None, "/", None, _REC | _PRIVATE)
    _mount("tmpfs", stage, "tmpfs", _NO_SUID)
    done: list[str] = []
    own_processes = _mount_processes(stage)
    for path, place in sorted(real.items(), key=lambda item: item[1]):
        if path == OWN_PROCESS:
            if not own_processes:
                _bind(place, stage + path)
                os.symlink("self", f"{stage}/proc/{os.getpid()}")
        elif own_processes and path.startswith("/proc/"):
            continue
        elif not any(f"{place}/".startswith(f"{above}/") for above in done):
            _bind(place, stage + place)
            done.append(place)
    for link in places:
        new = stage + link
        if real[link] != link and not os.path.lexists(new):
            with suppress(OSError):  # its folder may be a link itself, made a moment ago
                os.makedirs(os.path.dirname(new), exist_ok=True)
                os.symlink(real[link], new)
    os.chdir(stage)
    here = b"."
    system_call("pivot_root", here, here)
    c_call("umount2", here, _DETACH)
    os.chdir("/")
    _make_read_only("/", recursive=False)


def _stage(paths: Iterable[str]) -> str:
    """A folder that may be covered meanwhile: there, and with nothing that is wanted below it."""
    for folder in _STAGES:
        wanted = any(f"{path}/".startswith(f"{folder}/") for path in paths)
        if not wanted and os.path.isdir(folder) and not os.path.islink(folder):
            return folder
    raise OSError(0, "there is no folder for the new file system")


def _mount_processes(stage: str) -> bool:
    """A /proc that knows the processes of this namespace; not where a container hides parts."""
    os.mkdir(f"{stage}/proc")
    try:
        _mount("proc", f"{stage}/proc", "proc", _NO_SUID | _READ_ONLY)
    except OSError:
        return False
    return True


def _exists(path: str) -> bool:
    return os.access(path, os.R_OK)


def _bind(place: str, new: str) -> None:
    if os.path.isdir(place):
        os.makedirs(new, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(new), exist_ok=True)
        with open(new, "w", encoding="ascii"):
            pass
    _mount(place, new, None, _BIND | _REC)
    _make_read_only(new, recursive=True)


def _make_read_only(path: str, *, recursive: bool) -> None:
    attributes = struct.pack("=4Q", _READ_ONLY | _NO_SUID, 0, 0, 0)
    flags = _RECURSIVE if recursive else 0
    try:
        place = (_HERE, os.fsencode(path), flags)
        system_call("mount_setattr", *place, attributes, len(attributes))
    except OSError:  # before Linux 5.12
        _mount(None, path, None, _REMOUNT | _BIND | _READ_ONLY | _NO_SUID)


def _mount(source: str | None, target: str, kind: str | None, flags: int) -> None:
    from ctypes import c_ulong

    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    c_call("mount", *texts, c_ulong(flags), None)
