"""Which files a model's process may read: the Python that runs it, its packages, and no more."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["OWN_PROCESS", "Readable", "readable_paths"]

OWN_PROCESS = "/proc/self"  # threadpoolctl looks there for libraries

# Libraries, time zones, and how many cores there are; no settings, no homes, no data.
_SYSTEM = (
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/share/zoneinfo",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/dev/null",
    "/dev/urandom",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup/cpu.max",
    "/sys/fs/cgroup/cpu/cpu.cfs_period_us",
    "/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
)
_INSTALLED = ("site-packages", "dist-packages")
_SUFFIXES = (".py", ".pyc", ".so", ".pth", ".dist-info", ".libs")
_MOST = 400  # packages of one folder that are named one by one


@dataclass(frozen=True, slots=True)
class Readable:
    """`whole`: files and folders with all below; `listed`: folders whose names may be seen."""

    whole: tuple[str, ...]
    listed: tuple[str, ...]


def readable_paths(folders: Sequence[str] = ()) -> Readable:
    """For this interpreter; `folders` are those of code that the caller trusts."""
    prefixes = [os.path.join(prefix, "lib") for prefix in {sys.prefix, sys.base_prefix}]
    whole, listed = [OWN_PROCESS, *_SYSTEM, *prefixes, *folders], []
    for entry in sys.path:
        path = os.path.abspath(entry)
        below = any(path.startswith(f"{prefix}/") for prefix in prefixes)
        if below or os.path.basename(path) in _INSTALLED or path.endswith(".zip"):
            whole.append(path)
        elif entry and os.path.isdir(path):  # packages, and not what lies beside them
            packages = list(_packages(path))
            whole += packages[:_MOST]
            listed.append(path)
    return Readable(tuple(dict.fromkeys(whole)), tuple(dict.fromkeys(listed)))


def _packages(folder: str) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        package = os.path.exists(os.path.join(entry.path, "__init__.py"))
        if package or entry.name.endswith(_SUFFIXES):
            yield entry.path
