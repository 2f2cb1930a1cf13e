"""What an installation consists of, as a software bill of materials (CycloneDX 1.6)."""

from __future__ import annotations

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any

__all__ = ["bill_of_materials"]

_PROJECT = "fairaudit-icp"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def bill_of_materials(project: str = _PROJECT) -> dict[str, Any]:
    """fairaudit, and every installed package that it or one of its extras requires.

    Reads the metadata of distributions and imports none of them. The same installation gives the
    same document: it has no time and no random serial number.

    Examples
    --------
    >>> bill = bill_of_materials()
    >>> bill["bomFormat"], bill["metadata"]["component"]["name"]
    ('CycloneDX', 'fairaudit-icp')
    >>> {"numpy", "scikit-learn"} <= {part["name"] for part in bill["components"]}
    True
    """
    found: dict[str, Distribution] = {}
    needs: dict[str, list[str]] = {}
    left = [project]
    while left:
        name = _normal(left.pop())
        if name in found:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue  # an extra that is not installed, or a requirement of another platform
        needs[name] = sorted(set(_requirements(found[name])))
        left += needs[name]
    parts = {name: _component(name, found[name]) for name in sorted(found)}
    root = parts.pop(_normal(project), None)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**(root or {}), "type": "application"}},
        "components": list(parts.values()),
        "dependencies": [
            {
                "ref": _reference(name, found[name]),
                "dependsOn": [_reference(one, found[one]) for one in needs[name] if one in found],
            }
            for name in sorted(found)
        ],
    }


def _requirements(source: Distribution) -> list[str]:
    matches = (_NAME.match(line) for line in source.requires or ())
    return [_normal(match[0]) for match in matches if match]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _reference(name: str, source: Distribution) -> str:
    return f"pkg:pypi/{name}@{source.version}"


def _component(name: str, source: Distribution) -> dict[str, Any]:
    where = _reference(name, source)
    part: dict[str, Any] = {
        "type": "library",
        "bom-ref": where,
        "name": name,
        "version": source.version,
        "purl": where,
    }
    stated = source.metadata.json.get("license_expression")
    if stated:
        part["licenses"] = [{"expression": stated}]
    return part
