"""Who imports whom: lazy imports and those for types count."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from source import PACKAGES, Module, modules

#: From the roof to the ground. A unit imports only from lines below its own.
LAYERS = (
    ("fairaudit_cli",),
    ("fairaudit_reports",),
    ("fairaudit.integrations", "fairaudit.experiments", "fairaudit.extend"),
    ("fairaudit.remedy", "fairaudit.comparison", "fairaudit.monitoring"),
    ("fairaudit.auditing",),
    ("fairaudit.evidence",),
    ("fairaudit.testing",),
    ("fairaudit.metrics",),
    ("fairaudit.permute",),
    ("fairaudit.density",),
    ("fairaudit.geometry",),
    ("fairaudit.datasets",),
    ("fairaudit.results",),
    ("fairaudit.records",),
    ("fairaudit.data",),
    ("fairaudit.models",),
    ("fairaudit._registry",),
    ("fairaudit._types", "fairaudit._words", "fairaudit.errors"),
)
LEVEL = {unit: level for level, units in enumerate(reversed(LAYERS)) for unit in units}


def unit_of(name: str) -> str | None:
    """The unit that a module belongs to; the root ``fairaudit`` itself is none."""
    root, *rest = name.split(".")
    if root not in PACKAGES:
        return None
    if root != "fairaudit":
        return root
    return f"{root}.{rest[0]}" if rest else None


def imported(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def imports_between_modules() -> tuple[tuple[str, str], ...]:
    """Importing and imported module, for all imports within the project."""
    known = {module.name for module in modules()}
    found = []
    for module in modules():
        for name in imported(module):
            target = name if name in known else name.rpartition(".")[0]
            if target in known:
                found.append((module.name, target))
    return tuple(found)


def imports_between_units() -> set[tuple[str, str]]:
    pairs = {(unit_of(start), unit_of(end)) for start, end in imports_between_modules()}
    return {(start, end) for start, end in pairs if start and end and start != end}
