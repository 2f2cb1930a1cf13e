"""Imports go down only, and nowhere in a circle; lazy imports and those for types count."""

from __future__ import annotations

import numpy as np
import pytest
from graph import LEVEL, imports_between_modules, imports_between_units, unit_of
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from source import PACKAGES, modules

#: Modules beside the packages of the library's root, with `__init__`.
MOST_MODULES_AT_THE_ROOT = 6


def circles(edges: set[tuple[str, str]]) -> list[list[str]]:
    """Names that can be reached from each other."""
    names = sorted({name for edge in edges for name in edge})
    place = {name: number for number, name in enumerate(names)}
    start, end = np.array([[place[name] for name in edge] for edge in sorted(edges)]).T
    graph = csr_matrix((np.ones(len(start)), (start, end)), shape=(len(names), len(names)))
    count, part = connected_components(graph, connection="strong")
    found = [[names[k] for k in np.flatnonzero(part == number)] for number in range(count)]
    return [members for members in found if len(members) > 1]


def below(package: str) -> set[tuple[str, str]]:
    """Imports among the packages and modules that stand right below a package."""
    depth = package.count(".") + 2
    edges = set()
    for start, end in imports_between_modules():
        if start.startswith(f"{package}.") and end.startswith(f"{package}."):
            edges.add((".".join(start.split(".")[:depth]), ".".join(end.split(".")[:depth])))
    return {(start, end) for start, end in edges if start != end}


def test_a_circle_would_be_seen() -> None:
    assert circles({("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")}) == [["a", "b", "c"]]


def test_every_unit_has_a_layer() -> None:
    units = {unit_of(module.name) for module in modules()} - {None}
    assert units == set(LEVEL)


def test_imports_go_down() -> None:
    up = [(start, end) for start, end in imports_between_units() if LEVEL[start] <= LEVEL[end]]
    assert up == []


PARENTS = sorted(
    {".".join(module.name.split(".")[:k]) for module in modules() for k in (1, 2, 3)}
    & ({module.name.rpartition(".")[0] for module in modules()} | PACKAGES.keys())
)


#: Packages that still have a circle inside. May only become fewer.
LEFT: set[str] = set()


@pytest.mark.parametrize("package", PARENTS)
def test_no_circles(package: str) -> None:
    edges = below(package)
    found = circles(edges) if edges else []
    assert bool(found) == (package in LEFT), found


def test_the_root_is_small() -> None:
    packages = {module.name.rpartition(".")[0] for module in modules()}
    names = {module.name for module in modules() if module.name.startswith("fairaudit.")}
    at_the_root = ["__init__", *(n for n in names - packages if n.count(".") == 1)]
    assert len(at_the_root) <= MOST_MODULES_AT_THE_ROOT, at_the_root


#: Formats show what the view says; pictures for programs are made of the markup of pages.
ALLOWED = {(name, "view") for name in ("text", "markdown", "html", "machine", "pdf")}
ALLOWED |= {("machine", "html"), ("pdf", "html")}


def test_formats_do_not_know_each_other() -> None:
    names = [[name.split(".")[1] for name in edge] for edge in below("fairaudit_reports")]
    assert {(start, end) for start, end in names} == ALLOWED
