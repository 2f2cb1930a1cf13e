"""What a monitor says, as numbers that other systems watch."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fairaudit.auditing.findings import Verdict
from fairaudit.monitoring.monitoring_result import MonitorResult

__all__ = ["Gauge", "monitor_gauges"]


@dataclass(frozen=True, slots=True)
class Gauge:
    """A number with a name."""

    name: str
    help: str
    value: float


def monitor_gauges(result: MonitorResult) -> tuple[Gauge, ...]:
    """The state of a monitor after its last batch.

    Alarms belong on ``fairaudit_alarm``: its error probability holds however often it is looked at.
    A rule on the p-value of batches would give a false alarm sooner or later.
    """
    last = result.batches[-1]
    found = [
        ("alarm", "1 from the batch on whose evidence reached 1/alpha", result.alarm is not None),
        ("evidence_log10", "evidence against equalized odds, log10", last.log10_evidence),
        ("threshold_log10", "evidence at which the alarm sounds, log10", -math.log10(result.alpha)),
        ("batches", "batches so far", len(result.batches)),
        ("batch_rows", "rows of the last batch", last.rows),
        ("batch_unusable", "1 if the last batch added no evidence", last.unusable is not None),
        ("inconclusive", "1 if nothing can be said", result.verdict is Verdict.INCONCLUSIVE),
    ]
    if result.alarm is not None:
        found.append(("alarm_batch", "the batch after which the alarm sounded", result.alarm))
    if result.since is not None:
        found.append(("since_batch", "where the violation most likely began", result.since))
    if last.gap is not None:
        found.append(("batch_gap", "largest prediction gap of the last batch", last.gap))
    return tuple(Gauge(f"fairaudit_{name}", words, float(value)) for name, words, value in found)
