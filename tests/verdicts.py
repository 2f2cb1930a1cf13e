"""A verdict from an invented finding."""

from dataclasses import replace

from fairaudit.auditing.audit_result import Finding
from fairaudit.auditing.verdict import decide
from fairaudit.data.facts import ColumnFacts
from fairaudit.evidence.measured import MeasuredValue

FINDING = Finding(
    "joint", "sex", ("sex",), None, 500, "kpc", 0.1, 0.01, (0.0, 0.02), None, True, 0.1, 999,
    "exact", None, 0.1,
)  # fmt: skip
OUTCOME = ColumnFacts("y", "binary", ("0", "1"), None, None, 0)
SIZES = [MeasuredValue("kpc", "KPC", 0.004, ("sex",)), MeasuredValue("deo", "DEO", 0.2, ("sex",)),
         MeasuredValue("equalized_odds_ratio", "ratio", 0.9, ("sex",))]  # fmt: skip


def verdict_of(alpha=0.05, tolerance=None, certificates=(), calibration=None, **changes):
    return decide(
        replace(FINDING, **changes),
        SIZES,
        OUTCOME,
        alpha=alpha,
        tolerance=tolerance or {},
        certificates=certificates,
        calibration=calibration,
    )
