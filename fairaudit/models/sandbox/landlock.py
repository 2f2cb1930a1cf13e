"""Landlock: the files that a process may read; nothing to write, no TCP, no signals outside.

https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from contextlib import suppress

from fairaudit.models.sandbox.kernel import system_call
from fairaudit.models.sandbox.readable import OWN_PROCESS

__all__ = ["landlock_version", "restrict_files"]

_VERSION = 1  # flag of landlock_create_ruleset
_PATH_BENEATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_BIND_AND_CONNECT = 3
_ABSTRACT_SOCKETS_AND_SIGNALS = 3


def landlock_version() -> int:
    """The version of the interface; raises `OSError` where there is none."""
    return system_call("landlock_create_ruleset", None, 0, _VERSION)


def restrict_files(readable: Iterable[str], listed: Iterable[str] = ()) -> int:
    """Let this thread read below `readable`, list names below `listed`, and no more."""
    version = landlock_version()
    rights = 13 if version < 2 else 14 if version < 3 else 15 if version < 5 else 16
    fields = [(1 << rights) - 1]
    if version >= 4:
        fields.append(_BIND_AND_CONNECT)
    if version >= 6:
        fields.append(_ABSTRACT_SOCKETS_AND_SIGNALS)
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    rules = system_call("landlock_create_ruleset", attributes, len(attributes), 0)
    with suppress(OSError):  # stays open: what the rule is about must not be forgotten
        os.open(OWN_PROCESS, os.O_PATH)
    try:
        for path in readable:
            _allow(rules, path, _READ_FILE | _READ_DIR)
        for path in listed:
            _allow(rules, path, _READ_DIR)
        system_call("landlock_restrict_self", rules, 0)
    finally:
        os.close(rules)
    return version


def _allow(rules: int, path: str, access: int) -> None:
    with suppress(FileNotFoundError, PermissionError):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(place).st_mode):
                access &= _READ_FILE
            rule = ctypes.create_string_buffer(struct.pack("=Qi", access, place), 12)
            system_call("landlock_add_rule", rules, _PATH_BENEATH, rule, 0)
        finally:
            os.close(place)
