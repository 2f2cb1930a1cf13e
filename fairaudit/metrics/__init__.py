"""How large is the violation: each measure works alone, on arrays or on columns."""

from __future__ import annotations

from typing import Any

_HOME = {
    "kpc": "kpc",
    "kpc_rkhs": "rkhs",
    "codec": "codec",
    "deo": "deo",
    "equalized_odds_difference": "odds",
    "equalized_odds_ratio": "odds",
    "group_rates": "rates",
    "group_errors": "errors",
    "hgr": "hgr",
    "subgroup_violation": "subgroup",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOME:
        value = getattr(import_module(f"fairaudit.metrics._{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'fairaudit.metrics' has no attribute {name!r}")
