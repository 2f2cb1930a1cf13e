"""The public names stay callable as they are: `signatures.json` is what users may have written.

`FAIRAUDIT_UPDATE=1 pytest tests/architecture/test_public_names.py` writes it anew.
"""

from __future__ import annotations

import inspect
import json
import os
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

import fairaudit as fa

KEPT = Path(__file__).with_name("signatures.json")
POSITIONAL = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")


def public_objects() -> dict[str, Any]:
    found = {f"fa.{name}": getattr(fa, name) for name in fa.__all__ if name != "__version__"}
    for name in ("metrics", "datasets"):
        module = found.pop(f"fa.{name}")
        found |= {f"fa.{name}.{one}": getattr(module, one) for one in module.__all__}
    return {
        name: thing
        for name, thing in found.items()
        if callable(thing) and not (isinstance(thing, type) and issubclass(thing, Enum))
    }  # the call of an enumeration differs between versions of Python


def parameters(thing: Any) -> list[list[Any]]:
    """Name, kind, and whether there is a default, of every parameter."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return []
    return [
        [p.name, p.kind.name, p.default is not inspect.Parameter.empty]
        for p in signature.parameters.values()
    ]


def test_the_snapshot_can_be_written_anew() -> None:
    found = {name: parameters(thing) for name, thing in sorted(public_objects().items())}
    if os.environ.get("FAIRAUDIT_UPDATE"):
        KEPT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    assert set(json.loads(KEPT.read_text(encoding="utf-8"))) <= set(found)


@pytest.mark.parametrize("name", json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else [])
def test_calls_of_earlier_versions_still_work(name: str) -> None:
    before = json.loads(KEPT.read_text(encoding="utf-8"))[name]
    now = parameters(public_objects()[name])
    by_name = {one[0]: one for one in now}
    gone = [one[0] for one in before if one[0] not in by_name]
    assert gone == [], f"{name} has lost parameters"
    order = [one[0] for one in before if one[1] in POSITIONAL]
    assert [one[0] for one in now if one[1] in POSITIONAL][: len(order)] == order
    needed = {one[0] for one in now if not one[2] and not one[1].startswith("VAR")}
    assert needed <= {one[0] for one in before}, f"{name} asks for more than before"
