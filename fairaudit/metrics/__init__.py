"""How large is the violation: each measure works alone, on arrays or on columns."""

from __future__ import annotations

from fairaudit._registry import lazy_names

_HOME = {
    "kpc": "fairaudit.metrics._kpc",
    "kpc_centered": "fairaudit.metrics._kpc_centered",
    "kpc_rkhs": "fairaudit.metrics._rkhs",
    "codec": "fairaudit.metrics._codec",
    "deo": "fairaudit.metrics._deo",
    "equalized_odds_difference": "fairaudit.metrics._odds",
    "equalized_odds_ratio": "fairaudit.metrics._odds",
    "group_rates": "fairaudit.metrics._rates",
    "group_confusion": "fairaudit.metrics._confusion",
    "group_errors": "fairaudit.metrics._errors",
    "prediction_gap": "fairaudit.metrics._prediction_gap",
    "hgr": "fairaudit.metrics._hgr",
    "subgroup_violation": "fairaudit.metrics._subgroup",
}

__all__ = list(_HOME)
__getattr__ = lazy_names(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)
