"""The one to three facts that an audit begins with: who, given the same outcome, by how much.

Nobody is named unless the gate rejected and the difference is beyond doubt. The facts are chosen
from what a result holds, so that masked groups cannot be among them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairaudit.auditing.findings import Finding, StatementKind, Verdict
from fairaudit.evidence.intervals.certificates import GapTable
from fairaudit.evidence.localization.claims import Claim, Localization
from fairaudit.evidence.measured import GIVEN_OUTCOME, CellTable
from fairaudit.evidence.portrait.contrast import Contrast, Portrait, largest_possible
from fairaudit.evidence.portrait.draw import NAMING
from fairaudit.evidence.portrait.group_means import FEWEST

__all__ = ["Statement", "choose_statements"]

MOST = 3
_WIDER = 1.1  # times the first difference: that of the two groups that differ most
_SIMPLER = 1.0  # standard errors that a group of several attributes must be clearer by


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One fact of the first screen.

    Attributes
    ----------
    kind : StatementKind
        ``"treated differently"``: the gate rejected, and this difference is beyond doubt.
        ``"strongest pattern"``: the gate rejected, and no single difference is beyond doubt.
        ``"attributes only"``: the same, and only questions about `attributes` are answered.
        ``"at most"``: the gate did not reject; no rate differs by more than `value`.
        ``"nothing shown"``: the audit is inconclusive, or there is nothing to compare.
    attributes : tuple of str
    confidence : float
        Of the interval, together with all others.
    contrast : Contrast or None
        Who, and by how much.
    widest : bool
        Of any two groups, no interval shows a larger difference of this quantity.
    claim : Claim or None
        Who, by the search for the place of the violation, where no contrast is beyond doubt.
    value : float or None
        Of ``"at most"``: the largest difference that no interval rules out.
    quantity : str or None
        What `value` is a difference of.
    people : int or None
        Of ``"at most"``: groups of so many people or more were compared.
    tolerated : bool
        The size was declared tolerable, or shown to lie within a tolerance.
    """

    kind: StatementKind
    attributes: tuple[str, ...]
    confidence: float
    contrast: Contrast | None = None
    widest: bool = False
    claim: Claim | None = None
    value: float | None = None
    quantity: str | None = None
    people: int | None = None
    tolerated: bool = False

    @property
    def accuses(self) -> bool:
        return self.kind is StatementKind.TREATED_DIFFERENTLY


def choose_statements(
    verdict: Verdict,
    findings: Sequence[Finding],
    *,
    classes: Sequence[str],
    alpha: float,
    gaps: GapTable | None,
    cells: CellTable | None,
    portrait: Portrait | None,
    place: Localization | None,
) -> tuple[Statement, ...]:
    """The facts of an audit, the clearest first; `classes` are two, the positive one last."""
    gate, confidence = findings[0], 1 - alpha
    contrasts = list(portrait.contrasts) if portrait is not None else []
    contrasts = contrasts or _contrasts_of_gaps(gaps, cells, classes, alpha)
    if verdict is Verdict.INCONCLUSIVE:
        nothing = StatementKind.NOTHING_SHOWN
        return (Statement(kind=nothing, attributes=gate.attributes, confidence=confidence),)
    if not gate.significant:
        return (_limit_size(contrasts, portrait, gate, confidence),)
    tolerated = verdict is not Verdict.VIOLATION
    pairs = [] if portrait is None else list(portrait.pairs)
    shared = {"confidence": confidence, "tolerated": tolerated}
    told = _tell_clear(contrasts, pairs, shared) or _tell_claim(place, alpha, shared)
    return told or (_state_pattern([*contrasts, *pairs], findings, shared),)


def _tell_clear(
    contrasts: Sequence[Contrast], pairs: Sequence[Contrast], shared: Mapping[str, Any]
) -> tuple[Statement, ...]:
    """Differences beyond doubt: the clearest, of which two groups differ most, other attributes.

    One that masks have rounded to 0 tells nothing.
    """
    clear, apart = ([c for c in some if c.beyond_doubt and c.value] for some in (contrasts, pairs))
    chosen = _select(clear or apart)
    widest = _find_widest(chosen[0], apart) if chosen else None
    if widest is not None:
        chosen = [chosen[0], widest, *chosen[1:]][:MOST]
    return tuple(
        Statement(
            kind=StatementKind.TREATED_DIFFERENTLY,
            attributes=contrast.attributes,
            contrast=contrast,
            widest=contrast is widest,
            **shared,
        )
        for contrast in chosen
    )


def _find_widest(first: Contrast, pairs: Sequence[Contrast]) -> Contrast | None:
    """The two groups whose interval shows the largest difference, if it is clearly more to tell.

    Of the same class and quantity, and made of the attributes of the first, or of those and others.
    """
    alike = [
        pair
        for pair in pairs
        if _is_about(pair, first)
        and pair.quantity == first.quantity
        and set(first.attributes) <= set(pair.attributes)
    ]
    widest = max(alike, key=lambda pair: pair.shown, default=None)
    more = widest is not None and abs(widest.value) >= _WIDER * abs(first.value)
    return widest if more else None


def _tell_claim(
    place: Localization | None, alpha: float, shared: Mapping[str, Any]
) -> tuple[Statement, ...]:
    """A subgroup or a range that the search for the place found, at the level of naming."""
    claims = [
        (claim.p_adjusted, number, claim)
        for number, claim in enumerate(() if place is None else place.found)
        if claim.family in ("subgroup", "curve")
        and claim.p_adjusted is not None
        and claim.p_adjusted <= NAMING * alpha
    ]
    if not claims:
        return ()
    *_, best = min(claims)
    kind = StatementKind.TREATED_DIFFERENTLY
    return (Statement(kind=kind, attributes=best.attributes, claim=best, **shared),)


def _select(clear: Sequence[Contrast]) -> list[Contrast]:
    """The clearest, then those of other attributes, then the same attributes in another class."""
    left = list(clear)
    chosen: list[Contrast] = []
    while left and len(chosen) < MOST:
        best = _tell_best(max(left, key=_rank), left)
        chosen.append(best)
        known = {name for contrast in chosen for name in contrast.attributes}
        others = [contrast for contrast in left if not known & set(contrast.attributes)]
        # of the same people: another class of the outcome, the same quantity, said once
        same = [
            contrast
            for contrast in left
            if _is_same_group(contrast, best)
            and contrast.quantity == best.quantity
            and contrast.outcome is not None
            and not any(_is_about(contrast, other) for other in chosen)
        ]
        left = others or (same if len(chosen) < 2 else [])
    return chosen


def _is_about(contrast: Contrast, other: Contrast) -> bool:
    return (contrast.outcome, contrast.predicted) == (other.outcome, other.predicted)


def _is_same_group(contrast: Contrast, other: Contrast) -> bool:
    return (contrast.attributes, contrast.levels, contrast.others) == (
        other.attributes,
        other.levels,
        other.others,
    )


def _tell_best(best: Contrast, contrasts: Sequence[Contrast]) -> Contrast:
    """The same people in the easiest words: a rate before a score, one class before all."""
    same = [contrast for contrast in contrasts if _is_same_group(contrast, best)]

    def order(contrast: Contrast) -> tuple[bool, bool, float]:
        return contrast.quantity != "score", contrast.outcome is not None, _rank(contrast)

    return max(same, key=order)


def _rank(contrast: Contrast) -> float:
    """By clearness; a group of several attributes must be clearer than one of fewer."""
    return abs(contrast.deviations) - _SIMPLER * (len(contrast.attributes) - 1)


def _limit_size(
    contrasts: Sequence[Contrast], portrait: Portrait | None, gate: Finding, confidence: float
) -> Statement:
    """How large a difference the intervals leave open, of rates or predictions."""
    quantity, value = largest_possible(contrasts)
    if portrait is not None:
        quantity, value = portrait.quantity, portrait.at_most
    if value is None:
        nothing = StatementKind.NOTHING_SHOWN
        return Statement(kind=nothing, attributes=gate.attributes, confidence=confidence)
    return Statement(
        kind=StatementKind.AT_MOST,
        attributes=gate.attributes,
        confidence=confidence,
        value=value,
        quantity=quantity,
        people=FEWEST,
    )


def _state_pattern(
    contrasts: Sequence[Contrast], findings: Sequence[Finding], shared: Mapping[str, Any]
) -> Statement:
    """What the data point to, where no single difference is beyond doubt."""
    gate = findings[0]
    best = max((c for c in contrasts if c.excludes_zero), key=_rank, default=None)
    if best is not None:
        return Statement(
            kind=StatementKind.STRONGEST_PATTERN,
            attributes=best.attributes,
            contrast=best,
            **shared,
        )
    single = [finding for finding in findings[1:] if finding.significant and not finding.outcome]
    names = min((finding.attributes for finding in single), key=len, default=gate.attributes)
    return Statement(kind=StatementKind.ATTRIBUTES_ONLY, attributes=names, **shared)


def _contrasts_of_gaps(
    gaps: GapTable | None, cells: CellTable | None, classes: Sequence[str], alpha: float
) -> list[Contrast]:
    """The gaps of the groups in the form of contrasts, where a result has nothing else."""
    if gaps is None or cells is None or not math.isfinite(gaps.critical):
        return []
    from scipy.special import ndtri

    strict = -float(ndtri(NAMING * alpha / (2 * max(len(gaps.gaps), 1))))
    means = _means(cells, gaps)
    found = []
    for gap in gaps.gaps:
        own = means.get((gap.levels, gap.rate))
        if gap.value is None or gap.low is None or gap.high is None or own is None:
            continue
        reach = gap.value - gap.low if gap.value > 0 else gap.high - gap.value
        deviations = gaps.critical * gap.value / reach if reach > 0 else 0.0
        outcome, predicted = _classes_of(gap.rate, classes)
        found.append(
            Contrast(
                attributes=gaps.attributes,
                levels=gap.levels,
                others=None,
                outcome=outcome,
                quantity="prediction" if gaps.of_predictions else "rate",
                predicted=predicted,
                own=own,
                other=own - gap.value,
                value=gap.value,
                low=gap.low,
                high=gap.high,
                deviations=deviations,
                people=int(gap.size or 0),
                beyond_doubt=abs(deviations) > strict and (gap.size or 0) >= FEWEST,
            )
        )
    return found


def _means(cells: CellTable, gaps: GapTable) -> dict[tuple[tuple[str, ...], str], float]:
    """Rates, or predictions given the outcome, by group and by the name of the gap."""
    columns = {GIVEN_OUTCOME: "prediction", "TPR": "TPR", "FPR": "FPR"}
    return {
        (group.levels, columns[name]): estimate.value
        for group in cells.cells
        for name, estimate in zip(cells.columns, group.estimates, strict=True)
        if name in columns and estimate.value is not None
    }


def _classes_of(rate: str, classes: Sequence[str]) -> tuple[str | None, str | None]:
    """The outcome that a rate is among, and the class whose prediction it counts."""
    if rate not in ("TPR", "FPR") or len(classes) != 2:
        return None, None
    return classes[rate == "TPR"], classes[1]
