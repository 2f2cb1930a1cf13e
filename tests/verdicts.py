"""A verdict from an invented finding."""

from dataclasses import replace

from fairaudit.auditing.findings import Finding
from fairaudit.auditing.verdict import decide
from fairaudit.data.facts import ColumnFacts
from fairaudit.evidence.measured import MeasuredValue

FINDING = Finding(
    family="joint",
    name="sex",
    attributes=("sex",),
    outcome=None,
    rows=500,
    statistic="kpc",
    value=0.1,
    p_value=0.01,
    p_interval=(0.0, 0.02),
    p_adjusted=None,
    significant=True,
    kpc=0.1,
    copies=999,
    copies_by="exact",
    inconclusive=None,
    seconds=0.1,
)
OUTCOME = ColumnFacts(name="y", kind="binary", levels=("0", "1"), low=None, high=None, missing=0)
SIZES = [
    MeasuredValue(key="kpc", name="KPC", value=0.004, attributes=("sex",)),
    MeasuredValue(key="deo", name="DEO", value=0.2, attributes=("sex",)),
    MeasuredValue(key="equalized_odds_ratio", name="ratio", value=0.9, attributes=("sex",)),
]


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
