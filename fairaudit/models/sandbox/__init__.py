"""Model files are opened and asked in a process that the kernel confines.

What holds, layer by layer, and each only where the system has it:

* a new interpreter with a clean environment and without the caller's memory or open files;
* namespaces: no network, no other processes, a file system of what Python itself needs, read-only;
* Landlock: the same files by another part of the kernel, no TCP, no signals to others;
* seccomp: no sockets, no programs, no processes, no file opened for writing;
* limits of memory, processor time, threads and time for each question.

Arrays and JSON pass between the processes, never pickles, and this side checks what it gets.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairaudit.models.sandbox.client import Model, Process, is_possible
from fairaudit.models.sandbox.limits import Limits
from fairaudit.models.sandbox.model import SandboxedModel

__all__ = ["Limits", "Model", "SandboxedModel", "describe_gaps", "is_possible", "probe"]


def probe(without: tuple[str, ...] = ()) -> dict[str, str | None]:
    """What each layer says on this machine: None, or why it is missing."""
    process = Process(Model(name="probe", data=None, without=without))
    process.close()
    return process.layers


def describe_gaps(layers: Mapping[str, str | None]) -> str | None:
    """One line about what the sandbox lacks here; None if it lacks nothing that matters."""
    missing = {name for name, why in layers.items() if why is not None}
    open_doors = []
    if {"landlock", "file system"} <= missing:
        open_doors.append("read your files")
        if "seccomp" in missing:
            open_doors.append("write them")
    if {"namespaces", "seccomp"} <= missing:
        open_doors += ["use the network", "start programs"]
    if not open_doors:
        return None
    lacks = ", ".join(f"{name} ({why})" for name, why in layers.items() if why is not None)
    return f"The sandbox lacks {lacks}: a hostile model could {', '.join(open_doors)}."
