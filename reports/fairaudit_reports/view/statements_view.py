"""The sentences that every report begins with: who, given the same outcome, by how much."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fairaudit._words import as_words
from fairaudit.auditing.findings import StatementKind
from fairaudit_reports.view.cover import current_cover, level_label, name_label
from fairaudit_reports.view.numerals import figures_after_point, fixed
from fairaudit_reports.view.wording import LONGEST, capitalize, clean, end_sentence

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.auditing.statements import Statement
    from fairaudit.evidence.portrait.contrast import Contrast

__all__ = ["describe_group", "describe_people", "describe_statements"]

#: Levels that say nothing without the name of their attribute.
_PLAIN = {"yes", "no", "true", "false", "other", "others", "unknown", "none", "(missing)"}


_PATTERN = "No single difference is beyond doubt. The strongest pattern: "
_PLACE = "No group that was compared is treated differently beyond doubt, and this place is: "
_TOLERABLE = " This size was declared tolerable."


def describe_statements(result: AuditResult) -> list[str]:
    """One to three sentences for people, the clearest first."""
    return [clean(_describe(statement, result), 2 * LONGEST) for statement in result.statements]


def _describe(statement: Statement, result: AuditResult) -> str:
    kind, contrast = statement.kind, statement.contrast
    if contrast is not None:
        sentence = _compare(contrast, result.table.outcome.name, statement.confidence)
        lead = {StatementKind.STRONGEST_PATTERN: _PATTERN}.get(kind, "")
        lead = "The two groups that differ most: " if statement.widest else lead
        if lead:
            sentence = f"{lead}{sentence[:1].lower()}{sentence[1:]}"
        return sentence + (_TOLERABLE if statement.tolerated else "")
    if statement.claim is not None:
        text = end_sentence(statement.claim.text)
        sentence = f"{_PLACE}{text[:1].lower()}{text[1:]}"
        return sentence + (_TOLERABLE if statement.tolerated else "")
    names = as_words([name_label(name) for name in statement.attributes])
    if kind is StatementKind.ATTRIBUTES_ONLY and result.masked:
        return (
            f"Given the outcome, the prediction depends on {names}. Groups are masked, and no "
            "difference of those that are not is clear: nobody can be named."
        )
    if kind is StatementKind.ATTRIBUTES_ONLY:
        return (
            f"No single difference is clear: given the outcome, the prediction depends on {names} "
            "in a way that no rate or mean of one group shows by itself."
        )
    if kind is StatementKind.AT_MOST and statement.value is not None:
        size = _difference_text(statement.value, statement.quantity or "rate")
        what = {"rate": "how often a class is predicted", "score": "mean scores"}
        about = what.get(statement.quantity or "", "mean predictions")
        return (
            "Nobody is shown to be treated differently. Between any group of "
            f"{statement.people} people or more and others with the same outcome, {about} differ"
            f"{'s' if statement.quantity == 'rate' else ''} by at most {size} "
            f"({_share(statement.confidence)} confidence)."
        )
    if result.joint.significant or result.verdict.value == "inconclusive":
        return "Nobody can be named: the audit is inconclusive."
    return "Nobody is shown to be treated differently."


def _compare(contrast: Contrast, outcome: str, confidence: float) -> str:
    """``Among people with y = 1, women are recognized in 61 % of cases, men in 83 % (…).``"""
    group = describe_people(contrast.attributes, contrast.levels)
    others = (
        "all others"
        if contrast.others is None
        else describe_people(contrast.attributes, contrast.others)
    )
    low, high = sorted((abs(contrast.low), abs(contrast.high)))
    if contrast.low < 0 < contrast.high:
        low, high = contrast.low, contrast.high
    if contrast.quantity == "rate":
        size = _difference_text(abs(contrast.value), contrast.quantity)
        own, other = (_percent(rate, contrast.value) for rate in (contrast.own, contrast.other))
        ends = _interval_text(low, high)
    else:
        size, own, other, *limits = _write_alike(
            [abs(contrast.value), contrast.own, contrast.other, low, high]
        )
        ends = " to ".join(limits)
    interval = f"{_share(confidence)} interval {ends}"
    if contrast.quantity == "prediction":
        more = "higher" if contrast.value > 0 else "lower"
        return (
            f"Among people with the same {name_label(outcome)}, {group} get predictions that are "
            f"{size} {more} on average than those of {others} ({own} against {other}; {interval})."
        )
    among = f"Among people with the same {name_label(outcome)}, "
    if contrast.outcome is not None:
        level = level_label(outcome, contrast.outcome)
        among = f"Among people with {name_label(outcome)} = {level}, "
    if contrast.quantity == "score":
        more = "higher" if contrast.value > 0 else "lower"
        return (
            f"{among}{group} get a mean score of {own}, {others} {other} "
            f"({size} {more}; {interval})."
        )
    more = "more" if contrast.value > 0 else "fewer"
    verb = _say_predicted(contrast, outcome)
    return capitalize(
        f"{among}{group} are {verb} in {own} of cases, {others} in {other} "
        f"({size} {more}; {interval})."
    )


def _say_predicted(contrast: Contrast, outcome: str) -> str:
    if contrast.predicted is None:
        return "predicted positive"
    predicted = level_label(outcome, contrast.predicted)
    if contrast.outcome is None:
        return f"predicted “{predicted}”"
    if contrast.predicted == contrast.outcome:
        return f"recognized (predicted “{predicted}”)"
    return f"wrongly predicted “{predicted}”"


def describe_people(attributes: tuple[str, ...], levels: tuple[str, ...]) -> str:
    """A group in a sentence.

    Examples
    --------
    >>> describe_people(("race", "sex"), ("Black", "Female"))
    'Black, Female'
    >>> describe_people(("sex", "age"), ("1", "18 to 29"))
    'people with sex 1, age 18 to 29'
    >>> describe_people(("race", "age"), ("white", "from 51"))
    'white, age from 51'
    """
    text = describe_group(attributes, levels)
    known = current_cover().levels
    named = [_speaks(name, level) for name, level in zip(attributes, levels, strict=True)]
    if any(named) or (len(levels) == 1 and levels[0] in known.get(attributes[0], {})):
        return text
    return f"people with {text}"


def describe_group(attributes: tuple[str, ...], levels: tuple[str, ...]) -> str:
    """The levels of a group, with the names of attributes where levels do not speak."""
    pairs = zip(attributes, levels, strict=True)
    return ", ".join(
        level_label(name, level)
        if _speaks(name, level)
        else f"{name_label(name)} {level_label(name, level)}"
        for name, level in pairs
    )


def _speaks(name: str, level: str) -> bool:
    """Whether a level is a word that readers understand without the attribute."""
    if level in current_cover().levels.get(name, {}):
        return True
    if re.match(r"from [-−.\d]", level):  # a range of numbers
        return False
    return bool(re.match(r"[^\W\d_]{3}", level)) and level.lower() not in _PLAIN


def _share(confidence: float) -> str:
    return f"{100 * confidence:.4g} %"


def _percent(rate: float, value: float) -> str:
    return f"{100 * rate:.{_decimals(value)}f} %"


def _decimals(value: float) -> int:
    """Of percent: one where the difference is small."""
    return 0 if abs(value) >= 0.05 else 1


def _difference_text(value: float, quantity: str) -> str:
    if quantity == "rate":
        return f"{100 * value:.{_decimals(value)}f} points"
    return fixed(value, figures_after_point(value))


def _interval_text(low: float, high: float) -> str:
    digits = _decimals(high - low)
    return f"{100 * low:.{digits}f} to {100 * high:.{digits}f}"


def _write_alike(values: list[float]) -> list[str]:
    """Numbers in one unit with the same decimals, as many as the first needs, without idle zeros.

    Examples
    --------
    >>> _write_alike([8.0, 48.0, 56.0, 4.0, 16.0]), _write_alike([0.125, 2.0, 1.875, 0.1, 0.2])
    (['8', '48', '56', '4', '16'], ['0.125', '2.000', '1.875', '0.100', '0.200'])
    """
    digits = figures_after_point(values[0])
    texts = [fixed(value, digits) for value in values]
    while digits > 0 and all(text.endswith("0") for text in texts):
        digits -= 1
        texts = [fixed(value, digits) for value in values]
    return texts
