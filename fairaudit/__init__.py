"""fairaudit: statistical audits of equalized odds, ``Yhat ⟂ A | Y``.

Public names are loaded on first use, so that ``import fairaudit`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fairaudit._registry import lazy_names

_HOME = {
    "AuditResult": "fairaudit.auditing.audit_result",
    "AuditTable": "fairaudit.data.table",
    "audit": "fairaudit.auditing.doors",
    "audit_incomplete": "fairaudit.evidence.incompleteness.incomplete_audit",
    "compare": "fairaudit.comparison.compare_models",
    "counts": "fairaudit.auditing.engines.counted_audit",
    "certify": "fairaudit.evidence.intervals.certify",
    "FairAuditError": "fairaudit.errors",
    "Permutations": "fairaudit.testing.permutations",
    "plan_certificate": "fairaudit.evidence.power.planning",
    "plan_rows": "fairaudit.evidence.power.planning",
    "plan_width": "fairaudit.evidence.power.interval_widths",
    "conditional_independence_test": "fairaudit.evidence.conditional_independence",
    "equalized_odds_test": "fairaudit.testing.core",
    "gap_intervals": "fairaudit.evidence.intervals.gap_intervals",
    "InputError": "fairaudit.errors",
    "MissingDependencyError": "fairaudit.errors",
    "Monitor": "fairaudit.monitoring.fairness_monitor",
    "Verdict": "fairaudit.auditing.findings",
}
_HOME |= dict.fromkeys(
    (
        "FairICPClassifier",
        "FairICPRegressor",
        "FairCPClassifier",
        "FairCPRegressor",
        "FDLClassifier",
        "FDLRegressor",
    ),
    "fairaudit.remedy.estimators",
)
_HOME |= {
    "DerivedPredictor": "fairaudit.remedy.derived",
    "FairICPBoostingClassifier": "fairaudit.remedy.boosted_trees",
    "FairICPBoostingRegressor": "fairaudit.remedy.boosted_trees",
    "GerryFairClassifier": "fairaudit.remedy.gerryfair",
    "HGRClassifier": "fairaudit.remedy.hgr_penalty",
    "HGRRegressor": "fairaudit.remedy.hgr_penalty",
    "ICPPostProcessor": "fairaudit.remedy.postprocess",
    "ReductionClassifier": "fairaudit.remedy.reduction",
    "ThresholdPredictor": "fairaudit.remedy.thresholds",
    "chance_to_pass": "fairaudit.remedy.pass_chance",
    "repair": "fairaudit.remedy.workflow",
    "equalized_odds_score": "fairaudit.remedy.scoring",
    "trade_off": "fairaudit.remedy.tradeoff",
}
_MODULES = ("datasets", "extend", "metrics")

__all__ = [*_HOME, *_MODULES, "__version__"]


_find = lazy_names(__name__, _HOME)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"fairaudit.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("fairaudit-icp")
    return _find(name)


def __dir__() -> list[str]:
    return sorted(__all__)
