"""What a statistic, a density, a remedy, an engine and a report format of your own need.

Write a class (or a function, for a report), run the check of its kind on it, and register it under
a name by an entry point. `docs/extend.md` has a complete example of each.

==========  ========================  ==================  ========================================
kind        group of entry points     check               what it is
==========  ========================  ==================  ========================================
statistic   ``fairaudit.statistics``  `check_statistic`   a `Statistic`: ``bind`` → values of copies
density     ``fairaudit.densities``   `check_density`     a `Density`: ``fit`` → ``pairs``
remedy      ``fairaudit.remedies``    `check_remedy`      a `Method`: estimators and their parameter
engine      ``fairaudit.engines``     `check_engine`,     an `Engine`: where shards are computed;
                                      `check_count_`      a `CountEngine`: where rows are counted
                                      `engine`
report      ``fairaudit.reports``     `check_report`      a function: a result → text
==========  ========================  ==================  ========================================
"""

from __future__ import annotations

from fairaudit._registry import lazy_names

_DENSITY = "fairaudit.density.conditional_density"
_HOME = {
    "Array": "fairaudit._types",
    "AuditResult": "fairaudit.auditing.audit_result",
    "AuditTable": "fairaudit.data.table",
    "Bound": "fairaudit.testing.statistic",
    "ClassTable": _DENSITY,
    "Column": "fairaudit.data.columns",
    "Copies": "fairaudit.permute.copies",
    "CopySampler": "fairaudit.permute.copies",
    "CountEngine": "fairaudit.auditing.engines.engine",
    "CountSource": "fairaudit.auditing.engines.counting",
    "Density": _DENSITY,
    "Dialect": "fairaudit.auditing.engines.sql_counts",
    "Engine": "fairaudit.auditing.engines.engine",
    "Fitted": _DENSITY,
    "FittedCopies": "fairaudit.permute.copies",
    "Index": "fairaudit._types",
    "InputError": "fairaudit.errors",
    "Kind": "fairaudit.data.columns",
    "LocalEngine": "fairaudit.auditing.engines.local_engine",
    "LocationScale": _DENSITY,
    "Method": "fairaudit.remedy.methods",
    "PairDensity": _DENSITY,
    "Prediction": "fairaudit.data.prediction",
    "SQLSource": "fairaudit.auditing.engines.sql_counts",
    "Shape": _DENSITY,
    "Statistic": "fairaudit.testing.statistic",
    "Training": "fairaudit.remedy.methods",
    "check_count_engine": "fairaudit.extend.count_engine_contract",
    "check_density": "fairaudit.extend.density_contract",
    "check_engine": "fairaudit.extend.engine_contract",
    "check_remedy": "fairaudit.extend.remedy_contract",
    "check_report": "fairaudit.extend.report_contract",
    "check_statistic": "fairaudit.extend.statistic_contract",
    "encode": "fairaudit.data.encode",
    "gathered": "fairaudit.permute.copies",
    "quiet": "fairaudit._words",
    "sensitive_columns": "fairaudit.remedy.base",
    "stream": "fairaudit.permute.copies",
}

__all__ = list(_HOME)
__getattr__ = lazy_names(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)
