"""The one function that decides: for Python, the command line, pytest and every report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairaudit._words import as_words, figures
from fairaudit.auditing.findings import Finding, Verdict
from fairaudit.data.facts import ColumnFacts
from fairaudit.errors import InputError
from fairaudit.evidence.intervals.certificates import Certificate
from fairaudit.evidence.measured import MeasuredValue
from fairaudit.evidence.power.power_result import Calibration

__all__ = ["check_tolerance", "decide"]

_NO_SIZE = ("equalized_odds_ratio", "kpc_r")  # large is no violation; not on every machine


def decide(
    joint: Finding,
    measures: Sequence[MeasuredValue],
    outcome: ColumnFacts,
    *,
    alpha: float,
    tolerance: Mapping[str, float],
    certificates: Sequence[Certificate] = (),
    calibration: Calibration | None = None,
    planned: int | None = None,
    stated_measures: Sequence[MeasuredValue] | None = None,
) -> tuple[Verdict, str]:
    """The verdict and the sentence that gives it to people.

    A violation is p ≤ alpha of the joint test; where tolerances are given, at least one of the
    measures they name must exceed its own, or the effect is called significant but tolerable. A
    test that could not have rejected, or whose own checks failed, is inconclusive; so is one that
    fails its calibration on this table.

    Where certificates are asked for, all must hold: then the model is equivalent within tolerance,
    whatever the p-value. If one fails and there is no violation, neither is shown: inconclusive.

    `planned` are the copies that the test could have had, where drawing may stop early.
    `stated_measures` are the measures as the sentence may give them; the verdict rests on
    `measures`.
    """
    names = as_words(joint.attributes)
    sizes = {name: _find_measure(name, measures)[0] for name in tolerance}
    reason = _explain_no_verdict(joint, planned or joint.copies, alpha, calibration)
    if reason is not None or joint.p_value is None:
        return Verdict.INCONCLUSIVE, f"Inconclusive: {reason}."
    about = f"about {names} that the outcome {outcome.name} does not explain"
    p = f"p = {joint.p_value:.3g}"
    if certificates and all(claim.holds for claim in certificates):
        limits = as_words([f"{claim.measure} is at most {claim.limit:g}" for claim in certificates])
        exact = (
            f"Exact equality is not refuted ({p})."
            if joint.p_value > alpha
            else f"A dependence is there ({p}), but no larger than that."
        )
        return Verdict.EQUIVALENT, (
            f"Equivalent within tolerance: with {100 * (1 - alpha):g} % confidence {limits}, for "
            f"{names} in {joint.rows:,} rows. {exact}"
        )
    failures = _explain_failures(certificates)
    if failures and joint.p_value > alpha:
        return Verdict.INCONCLUSIVE, (
            f"Inconclusive: neither a violation ({p}, level {alpha:g}) nor equivalence within "
            f"tolerance is shown for {names} in {joint.rows:,} rows: {failures}."
        )
    if joint.p_value > alpha:
        return Verdict.NO_VIOLATION, (
            f"No violation found: in {joint.rows:,} rows there is no evidence at level {alpha:g} "
            f"that the prediction carries information {about} ({p}). "
            "That is not evidence of its absence."
        )
    given = (
        sizes
        if stated_measures is None
        else {measure.key: measure.value for measure in reversed(stated_measures)}
    )
    small = [
        f"{name}{_format_size(given.get(name))} ≤ {limit:g}"
        for name, limit in tolerance.items()
        if sizes[name] <= limit
    ]
    if failures and tolerance and len(small) == len(tolerance):
        return Verdict.INCONCLUSIVE, (
            f"Inconclusive: the prediction carries information {about} ({p}), as small as was "
            f"declared tolerable ({', '.join(small)}), but that it is so small is not shown: "
            f"{failures}."
        )
    if tolerance and len(small) == len(tolerance):
        return Verdict.NO_VIOLATION, (
            f"No violation beyond the tolerance: the prediction carries information {about} "
            f"({p}), but within the size that was declared tolerable ({', '.join(small)})."
        )
    kpc = joint.kpc if stated_measures is None else given.get("kpc")
    size = "" if kpc is None else f", KPC {kpc:.3f}"
    return Verdict.VIOLATION, (
        f"Violation of equalized odds: the prediction carries information {about} "
        f"({p}, level {alpha:g}{size})."
    )


def _explain_no_verdict(
    joint: Finding, copies: int, alpha: float, calibration: Calibration | None
) -> str | None:
    """Why the test could not have given a verdict, if it could not."""
    if joint.inconclusive is not None:
        return joint.inconclusive
    if 1 / (copies + 1) > alpha:
        return (
            f"{copies} copies cannot give a p-value of {alpha:g} or less; "
            f"draw at least {int(1 / alpha - 1e-9)}"
        )
    if calibration is not None and not calibration.passed:
        return calibration.because
    return None


def _format_size(value: float | None) -> str:
    return "" if value is None else f" {figures(value, 3)}"


def _explain_failures(certificates: Sequence[Certificate]) -> str:
    """Why certificates do not hold; empty where none was asked for."""
    reasons = [
        f"{claim.measure}: {claim.note}"
        if claim.upper is None
        else f"the upper bound of {claim.measure} is {figures(claim.upper, 3)}, above "
        f"{claim.limit:g}"
        for claim in certificates
        if not claim.holds
    ]
    return "; ".join(reasons)


def check_tolerance(
    tolerance: Mapping[str, float], measures: Sequence[MeasuredValue], attributes: Sequence[str]
) -> None:
    """Refuse tolerances that cannot be judged, or that together miss an attribute.

    Measures of groups do not see attributes without categories: however large their effect, it
    would pass as tolerable. So would any violation that leaves the groups' mean errors equal.
    """
    if set(tolerance) == {"mean_error_difference"}:
        raise InputError(
            "The tolerance of mean_error_difference alone says nothing about equalized odds: mean "
            "errors can be equal where it is violated. Add kpc."
        )
    covered_names = {name for key in tolerance for name in _find_measure(key, measures)[1]}
    missed = [name for name in attributes if name not in covered_names]
    if tolerance and missed:
        raise InputError(
            f"The tolerance of {as_words(list(tolerance))} does not cover {as_words(missed)}, "
            "which has no categories. Add kpc, which covers every attribute."
        )


def _find_measure(name: str, measures: Sequence[MeasuredValue]) -> tuple[float, tuple[str, ...]]:
    """Size and attributes of a measure: the one over all attributes that it can use."""
    usable = [measure for measure in measures if measure.key not in _NO_SIZE]
    matches = [measure for measure in usable if measure.key == name]
    if not matches:
        known = ", ".join(sorted({measure.key for measure in usable}))
        raise InputError(
            f"The tolerance names {name!r}, which this audit does not measure. Use one of: {known}."
        )
    value = matches[0].value
    if value is None:
        raise InputError(f"The tolerance names {name!r}, which is undefined: {matches[0].note}")
    return value, matches[0].attributes
