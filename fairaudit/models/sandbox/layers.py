"""What confines a model on this machine, what is missing, and what follows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from fairaudit.models.sandbox.client import Ended, Model, Process, is_possible
from fairaudit.models.sandbox.landlock import landlock_version

__all__ = ["Layer", "describe_gaps", "probe", "sandbox_layers"]

_PROTECTS = {
    "namespaces": "no network, no sight of other processes; all ends with the model",
    "file system": "only Python and its packages can be seen, read-only",
    "landlock": "only Python and its packages can be read, nothing written, no TCP",
    "seccomp": "no sockets, programs or processes, no file opened for writing",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One part of the sandbox.

    Attributes
    ----------
    name : str
    problem : str or None
        Why it does not hold here.
    detail : str
        Its version, where it has one.
    protects : str
        What it is for.
    """

    name: str
    problem: str | None
    detail: str
    protects: str


def probe(without: tuple[str, ...] = ()) -> dict[str, str | None]:
    """What each layer says on this machine: None, or why it is missing.

    A process is confined to find out; `without` names layers to switch off.
    """
    if not is_possible():
        return dict.fromkeys(_PROTECTS, f"{os.name} has none")
    try:
        process = Process(Model(name="probe", data=None, without=without))
    except Ended as ended:
        return dict.fromkeys(_PROTECTS, f"the process of a trial is {ended.why}")
    process.close()
    return process.layers


def sandbox_layers(without: tuple[str, ...] = ()) -> tuple[Layer, ...]:
    """All layers with what they say here."""
    said = probe(without)
    version = ""
    with suppress(OSError, AttributeError):
        version = f"ABI {landlock_version()}"
    return tuple(
        Layer(
            name=name,
            problem=said.get(name),
            detail=version if name == "landlock" and said.get(name) is None else "",
            protects=protects,
        )
        for name, protects in _PROTECTS.items()
    )


def describe_gaps(layers: Mapping[str, str | None]) -> str | None:
    """One line about what a hostile model could do here; None if nothing of that kind."""
    missing = {name for name, why in layers.items() if why is not None}
    could = []
    if {"landlock", "file system"} <= missing:
        could.append("read your files")
        if "seccomp" in missing:
            could.append("write them")
    if {"namespaces", "seccomp"} <= missing:
        could += ["use the network", "start programs"]
    if not could:
        return None
    lacks = ", ".join(f"{name} ({why})" for name, why in layers.items() if why is not None)
    return f"The sandbox lacks {lacks}: a hostile model could {', '.join(could)}."
