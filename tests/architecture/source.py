"""What the rules of the architecture look at: the modules of the three packages, parsed once."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "fairaudit": ROOT / "fairaudit",
    "fairaudit_reports": ROOT / "reports/fairaudit_reports",
    "fairaudit_cli": ROOT / "cli/fairaudit_cli",
}


@dataclass(frozen=True, eq=False)
class Module:
    """A file of the project: its dotted name, its text and its syntax tree."""

    name: str
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())


@cache
def modules() -> tuple[Module, ...]:
    found = []
    for package, folder in PACKAGES.items():
        for path in sorted(folder.rglob("*.py")):
            parts = (package, *path.relative_to(folder).with_suffix("").parts)
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            text = path.read_text(encoding="utf-8")
            found.append(Module(name, text, ast.parse(text)))
    return tuple(found)
