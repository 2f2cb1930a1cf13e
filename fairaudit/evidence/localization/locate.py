"""From a joint test that rejected to sentences that say where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairaudit._words import as_words, figures
from fairaudit.data.table import AuditTable
from fairaudit.evidence.localization.beyond import MOST_FOR_CLOSURE, Beyond, beyond_others
from fairaudit.evidence.localization.claims import Claim, Localization
from fairaudit.evidence.localization.conditional import MOST_ROWS
from fairaudit.evidence.localization.effect_curves import FittedCurves, beyond_zero, curves_of
from fairaudit.evidence.localization.scores import Score, score_of
from fairaudit.evidence.localization.subgroups import FEWEST, Subgroup, find_subgroups
from fairaudit.testing.multiplicity import adjust_p_values

if TYPE_CHECKING:
    from fairaudit._types import Progress
    from fairaudit.testing.choice_of_law import ChoiceOfLaw
    from fairaudit.testing.permutations import Permutations

__all__ = ["locate"]


def locate(
    table: AuditTable,
    p_value: float | None,
    *,
    alpha: float,
    permutations: Permutations,
    choice: ChoiceOfLaw,
    progress: Progress,
) -> Localization:
    """Say where, if the joint test with this p-value rejected at `alpha`.

    The families of claims (attributes, subgroups, curves) share alpha equally; within each, all
    claims hold together. So does everything that is said.
    """
    if p_value is None or p_value > alpha:
        why = "Nothing to locate: the joint test found no dependence."
        return Localization(alpha, (), (), (why,))
    several = len(table.attributes) > 1
    numbers = any(not column.kind.is_categorical for column in table.attributes)
    families = several + 1 + numbers
    confidence = 1 - alpha / families
    claims: list[Claim] = []
    notes: list[str] = []
    if several:
        claims += _claim_attributes(
            beyond_others(table, p_value, permutations, progress),
            table,
            families=families,
            alpha=alpha,
        )
    progress("subgroups", 0, 1)
    groups = find_subgroups(table, confidence=confidence, permutations=permutations, choice=choice)
    raised = adjust_p_values([subgroup.p_value for subgroup in groups], "holm")
    claims += [
        _claim_subgroup(subgroup, min(1.0, p * families), alpha)
        for subgroup, p in zip(groups, raised, strict=True)
    ]
    if not groups:
        notes.append(
            f"No subgroup was tested: none of at least {FEWEST} rows in both halves was found."
        )
    progress("subgroups", 1, 1)
    progress("curves", 0, 1)
    curves = curves_of(table, confidence=confidence, seed=permutations.seed) if numbers else []
    score = score_of(table)
    for fitted in curves:
        p = min(1.0, fitted.p_value * len(curves) * families)
        claims += _claim_curves(fitted, score, p, alpha)
    if numbers and not curves:
        notes.append("No curve was drawn: too few rows or values in every outcome class.")
    progress("curves", 1, 1)
    needed = int(families * max(len(groups), 1) / alpha - 1e-9)
    if permutations.n < needed:
        notes.append(
            f"{permutations.n} copies are too few for a claim about every attribute and "
            f"subgroup: draw at least {needed} (permutations)."
        )
    notes.append(_describe_methods(several, numbers, len(table.attributes), alpha))
    return Localization(
        alpha,
        tuple(claims),
        tuple(curve for fitted in curves for curve in fitted.curves),
        tuple(notes),
    )


def _describe_methods(several: bool, numbers: bool, attributes: int, alpha: float) -> str:
    parts = []
    if several:
        closed = attributes <= MOST_FOR_CLOSURE
        parts.append(f"attributes by {'closed testing' if closed else 'a tree of them'}")
    parts.append("subgroups by a search on one half of the people and a test on the other")
    if numbers:
        parts.append("curves by splines with a simultaneous band")
    nearly = "at most, nearly where numbers are compared" if numbers else "at most"
    return f"Any of these claims is false with probability {alpha:g} {nearly}: {'; '.join(parts)}."


def _claim_attributes(
    answers: Sequence[Beyond], table: AuditTable, *, families: int, alpha: float
) -> list[Claim]:
    """Every attribute; and the smallest sets of several that are shown to add where none of their
    members is."""
    shown: list[set[str]] = []
    claims = []
    for beyond in answers:
        together, count = set(beyond.names), len(table.attributes)
        # the gate has shown that all of them together matter: nothing is shared for that
        factor = 1 if len(together) == count else families
        p = None if beyond.p_adjusted is None else min(1.0, beyond.p_adjusted * factor)
        holds = p is not None and p <= alpha
        smallest = holds and not any(some < together for some in shown)
        if len(together) == 1 or smallest:
            claims.append(_claim_set(beyond, table, p, holds=holds))
        if holds:
            shown.append(together)
    return claims


def _claim_set(beyond: Beyond, table: AuditTable, p: float | None, *, holds: bool) -> Claim:
    """One attribute, or several that the data cannot tell apart."""
    single = len(beyond.names) == 1
    name = as_words(beyond.names, "or")
    left = [column.name for column in table.attributes if column.name not in beyond.names]
    others = as_words(left) if left else ""
    if p is None:
        text = (
            f"Whether {name} adds anything beyond {others} cannot be told: it does not "
            "vary among rows that agree in the outcome and these."
        )
    elif not single:
        agree = f"the outcome and in {others}" if left else "the outcome"
        text = (
            f"{name}; the data cannot tell which: among those who agree in {agree}, the "
            f"prediction depends on at least one of them (adjusted p = {p:.2g})."
        )
    elif holds:
        text = (
            f"{name} adds beyond {others}: among those who agree in the outcome and in "
            f"{others}, the prediction depends on it (adjusted p = {p:.2g})."
        )
    else:
        text = f"No evidence that {name} adds anything beyond {others} (adjusted p = {p:.2g})."
    return Claim(
        family="attribute",
        name=name,
        text=text,
        attributes=beyond.names,
        outcome=None,
        rows=len(table),
        people=len(table) if table.ids is None else len(table.ids.levels),
        effect=None,
        low=None,
        high=None,
        p_value=beyond.p_value,
        p_adjusted=p,
        significant=holds,
        method=_describe_test(beyond, len(table), joint=not left),
    )


def _describe_test(beyond: Beyond, rows: int, *, joint: bool) -> str:
    if joint:
        return "the joint test"
    if beyond.exact:
        return (
            "exact permutation within cells; "
            f"{beyond.free:.0%} of the rows have another value to exchange"
        )
    some = f", {MOST_ROWS:,} random rows" if rows > MOST_ROWS else ""
    return (
        f"residuals of flexible regressions{some}; "
        f"{beyond.free:.0%} of the variance is left given outcome and other attributes"
    )


def _claim_subgroup(subgroup: Subgroup, p: float, alpha: float) -> Claim:
    holds = p <= alpha
    difference = subgroup.score.say(subgroup.effect, subgroup.low, subgroup.high)
    text = f"{subgroup.part.among()}people with {subgroup.name} {difference} than the others"
    end = f" (adjusted p = {p:.2g})." if holds else f"; not confirmed (adjusted p = {p:.2g})."
    return Claim(
        family="subgroup",
        name=subgroup.name,
        text=text + end,
        attributes=subgroup.attributes,
        outcome=subgroup.part.label,
        rows=subgroup.rows,
        people=subgroup.people,
        effect=subgroup.effect,
        low=subgroup.low,
        high=subgroup.high,
        p_value=subgroup.p_value,
        p_adjusted=p,
        significant=holds,
        method=subgroup.copies_by,
    )


def _claim_curves(fitted: FittedCurves, score: Score, p: float, alpha: float) -> list[Claim]:
    among, whose = fitted.part.among(), "" if fitted.by is None else f" by {fitted.by}"
    attributes = (fitted.attribute,) if fitted.by is None else (fitted.attribute, fitted.by)
    shared: dict[str, Any] = {
        "family": "curve",
        "attributes": attributes,
        "outcome": fitted.part.label,
        "rows": fitted.rows,
        "people": fitted.people,
        "p_value": fitted.p_value,
        "p_adjusted": p,
        "method": "spline with simultaneous band",
    }
    claims = []
    for curve in fitted.curves if p <= alpha else ():
        also = "" if curve.group is None else f"{curve.group} and "
        for first, last, far in beyond_zero(curve):
            start, stop, most = (figures(curve.x[place]) for place in (first, last, far))
            one = start == stop
            name = f"{also}{curve.attribute} {start if one else f'from {start} to {stop}'}"
            difference = score.say(curve.value[far], curve.low[far], curve.high[far])
            text = f"{among}people with {name} {difference} than the average"
            text += "." if one else f" (at {most}, where it is most)."
            claims.append(
                Claim(
                    name=name,
                    text=text,
                    effect=curve.value[far],
                    low=curve.low[far],
                    high=curve.high[far],
                    significant=True,
                    **shared,
                )
            )
    if not claims:
        name = f"{fitted.attribute}{whose}"
        text = f"{among}the mean over {name} stays within its band of a flat line."
        claims.append(
            Claim(
                name=name, text=text, effect=None, low=None, high=None, significant=False, **shared
            )
        )
    return claims
