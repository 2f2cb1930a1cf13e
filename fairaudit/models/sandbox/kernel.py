"""Calls to the Linux kernel for which Python has no name."""

from __future__ import annotations

import ctypes
import os
from typing import Any

__all__ = ["CALLS", "MACHINE", "c_call", "drop_capabilities", "prctl", "system_call"]

MACHINE = os.uname().machine if hasattr(os, "uname") else ""

#: Numbers of the system calls on machines that differ; the newer ones have one for all.
CALLS = {
    "x86_64": {"pivot_root": 155, "seccomp": 317},
    "aarch64": {"pivot_root": 41, "seccomp": 277},
}
_COMMON = {
    "mount_setattr": 442,
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
}
_CAPABILITY_VERSION_3 = 0x20080522


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, name: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)
    return result


def c_call(name: str, *args: Any) -> int:
    """A function of the C library that returns -1 and sets errno; that is an `OSError` here."""
    function = getattr(_libc(), name, None)
    if function is None:
        raise OSError(0, "the C library does not have it", name)
    return _checked(int(function(*args)), name)


def system_call(name: str, *args: Any) -> int:
    number = _COMMON.get(name) or CALLS.get(MACHINE, {}).get(name)
    if number is None:
        raise OSError(0, f"its number on {MACHINE or 'this machine'} is not known", name)
    function = _libc().syscall
    function.restype = ctypes.c_long
    words = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    return _checked(int(function(ctypes.c_long(number), *words)), name)


def prctl(option: int, value: int = 0) -> int:
    words = [ctypes.c_ulong(word) for word in (value, 0, 0, 0)]
    return c_call("prctl", option, *words)


def drop_capabilities() -> None:
    """Give up what root may do beyond an ordinary user."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    c_call("capset", header, (ctypes.c_uint32 * 6)())
