"""fairaudit: statistical audits of equalized odds, ``Yhat ⟂ A | Y``.

Public names are loaded on first use, so that ``import fairaudit`` costs nothing.
"""

from __future__ import annotations

from typing import Any

_HOME = {
    "AuditTable": "fairaudit.table",
    "FairAuditError": "fairaudit.errors",
    "Permutations": "fairaudit.testing.permutations",
    "conditional_independence_test": "fairaudit.testing.core",
    "equalized_odds_test": "fairaudit.testing.core",
    "InputError": "fairaudit.errors",
    "MissingDependencyError": "fairaudit.errors",
}
_MODULES = ("datasets", "metrics")

__all__ = [*_HOME, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"fairaudit.{name}")
    elif name == "__version__":
        from importlib.metadata import version

        value = version("fairaudit-icp")
    else:
        raise AttributeError(f"module 'fairaudit' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
