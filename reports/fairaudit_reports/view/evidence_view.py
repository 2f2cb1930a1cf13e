"""What is said of the evidence: the copies, the p-value, the gate, and the size of the effect."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairaudit_reports.view.numerals import number, p_decimal
from fairaudit_reports.view.wording import several

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult

__all__ = [
    "FAMILIES",
    "MEANINGS",
    "OPEN_QUESTION",
    "count_reaching",
    "describe_adjusting",
    "describe_copies",
    "describe_gate",
    "describe_observed",
    "describe_p_value",
    "describe_range",
    "list_finite_copies",
]

FAMILIES = {
    "joint": "All attributes together (the gate)",
    "attribute": "One attribute at a time",
    "pair": "Pairs of attributes",
    "outcome": "All attributes, among rows with one outcome",
}
_ADJUSTMENTS = {
    "holm": "Holm’s method, which bounds the chance of even one false finding",
    "fdr_bh": "the method of Benjamini and Hochberg, which bounds the expected share of false "
    "findings",
}
#: What a measure means, by its key.
MEANINGS = {
    "kpc": "0: the prediction carries nothing about the attributes beyond the outcome. 1: "
    "attributes and outcome determine it. What copies show is taken off, so that it is 0 on "
    "average where there is nothing; single estimates fall below 0 too.",
    "codec": "Like KPC, but from ranks: the same for every increasing transformation of the score. "
    "Not centered by copies: with several numbers it falls below 0 where there is nothing.",
    "deo": "Distances of the groups’ rates from the common rate, summed over groups and outcomes. "
    "Grows with the number of groups.",
    "equalized_odds_difference": "Largest gap between two groups’ rates among rows with the same "
    "outcome. 0 is none.",
    "equalized_odds_ratio": "Smallest ratio of two groups’ rates among rows with the same "
    "outcome. 1 is no gap.",
    "confusion_gap": "Largest gap between two groups in the share predicted to be of a class, "
    "among people of any class. 0 is none.",
    "prediction_gap": "By how much the predictions of two groups differ, on average, among people "
    "with the same outcome, in its units. 0 under equalized odds; differences that change their "
    "sign along the outcome can average out.",
    "mean_error_difference": "Largest gap between two groups’ mean errors, in units of the "
    "outcome: how differently groups are calibrated. It need not be 0 under equalized odds.",
}
OPEN_QUESTION = (
    "The verdict is inconclusive, so what follows is shown for completeness and supports no "
    "conclusion."
)
#: Why some numbers are short or absent.
_MASKED = (
    " Groups are masked, so sizes are rounded, those of single outcomes are left out, and the "
    "statistic is in standard deviations of the copies."
)


def list_finite_copies(result: AuditResult) -> list[float]:
    """The statistic on the copies, where it is a number."""
    return [value for value in result.null if value is not None and math.isfinite(value)]


def count_reaching(null: Sequence[float], observed: float) -> int:
    """Copies at least as large as the data, up to rounding: what the p-value counts."""
    least = observed - 1e-12 * max(1.0, abs(observed))
    return sum(value >= least for value in null)


def describe_copies(count: int) -> str:
    """``199 copies``."""
    return several(count, "copy", "copies")


def describe_range(null: Sequence[float]) -> str:
    return f"The copies range from {number(min(null))} to {number(max(null))}."


def describe_observed(null: Sequence[float], observed: float | None) -> str:
    """Where the data lie among the copies."""
    if observed is None:
        return "The observed value is undefined."
    reached = f"{count_reaching(null, observed):,} of {len(null):,} copies"
    return f"The observed value is {number(observed)}; {reached} reach it."


def describe_p_value(result: AuditResult) -> list[str]:
    """What the p-value is."""
    null, joint = list_finite_copies(result), result.joint
    if joint.p_value is None:
        return [f"No p-value is given: {joint.inconclusive or 'the test is undefined'}."]
    sentences = [f"p = {p_decimal(joint.p_value)}. "]
    if null and joint.value is not None:
        reached, copies = count_reaching(null, joint.value), len(null)
        count = f"{reached:,}" if reached else "none"
        p = p_decimal(joint.p_value)
        sums, level = "", result.capsule.options.get("settle_at")
        if level is not None:
            sums = (
                f"; drawing stops as soon as p is settled at the level {number(level)}, and "
                f"p = {p} is the chance of evidence as strong at that moment without a violation"
            )
        elif math.isclose(joint.p_value, (1 + reached) / (1 + copies), rel_tol=1e-6):
            sums = f", so p = (1 + {reached:,}) / (1 + {copies:,}) = {p}"
        elif math.isclose(joint.p_value, reached / copies, rel_tol=1e-6):
            sums = f" before drawing stopped, so p = {reached:,} / {copies:,} = {p}"
        sentences = [f"Of {describe_copies(copies)}, {count} reached the observed value{sums}. "]
    low, high = joint.p_interval
    sentences.append(
        f"Other random copies would give a slightly different number: the 95 % Monte-Carlo "
        f"interval of p is {p_decimal(low)} to {p_decimal(high)}. The level of this audit is "
        f"{number(result.alpha)}."
    )
    return sentences


def describe_gate(result: AuditResult) -> str:
    """Whether the questions behind the joint test may be answered, and which are."""
    behind, level = result.findings[1:], number(result.alpha)
    if not result.joint.significant:
        return (
            f"The joint test is a gate: it did not reject at level {level}. The rows below it are "
            "descriptive; no finding is claimed."
        )
    gate = (
        f"The joint test is a gate: it rejected at level {level}, so the "
        f"{several(len(behind), 'question')} behind it may be answered."
    )
    names = [finding.name for finding in behind if finding.significant]
    if not names:
        return f"{gate} None of them is significant by itself."
    return f"{gate} Significant: {'; '.join(names)}."


def describe_adjusting(result: AuditResult) -> str:
    """How the p-values behind the gate are to be read."""
    return (
        f"p-values behind the gate are adjusted for each other by "
        f"{_ADJUSTMENTS.get(result.adjust, result.adjust)}; a finding needs both the gate and an "
        f"adjusted p of at most {number(result.alpha)}. The statistic is {result.joint.statistic}."
    ) + (_MASKED if result.masked else "")
