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

from fairaudit.models.sandbox.client import Model, is_possible
from fairaudit.models.sandbox.layers import Layer, describe_gaps, probe, sandbox_layers
from fairaudit.models.sandbox.model import SandboxedModel
from fairaudit.models.sandbox.process_limits import Limits

__all__ = [
    "Layer",
    "Limits",
    "Model",
    "SandboxedModel",
    "describe_gaps",
    "is_possible",
    "probe",
    "sandbox_layers",
]
