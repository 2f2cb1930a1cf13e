"""The evidence of the HTML report: the null distribution, where it shows, how large it is."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fairaudit_reports import html_parts as h
from fairaudit_reports.html_groups import digits_of
from fairaudit_reports.localisation import place_part
from fairaudit_reports.markup import Markup, join, tag
from fairaudit_reports.svg import Scale, bar, far_away, histogram, number, reaching

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.auditing.findings import Finding
    from fairaudit.evidence.measured import MeasuredValue

__all__ = ["evidence", "size", "where"]

_FAMILIES = {
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
_MEANINGS = {
    "kpc": "0: the prediction carries nothing about the attributes beyond the outcome. 1: "
    "attributes and outcome determine it. Estimates can fall below 0.",
    "codec": "As KPC, from ranks: the same for every increasing transformation of the score.",
    "deo": "Distances of the groups’ rates from the common rate, summed over groups and outcomes. "
    "Grows with the number of groups.",
    "equalized_odds_difference": "Largest gap between two groups’ rates among rows with the same "
    "outcome. 0 is none.",
    "equalized_odds_ratio": "Smallest ratio of two groups’ rates among rows with the same "
    "outcome. 1 is no gap.",
    "mean_error_difference": "Largest gap between two groups’ mean errors, in units of the "
    "outcome: how differently groups are calibrated. It need not be 0 under equalized odds.",
}


def evidence(result: AuditResult) -> Markup:
    return h.section(
        "evidence",
        h.paragraph(
            "How does the audited table compare with copies of it that satisfy equalized odds?",
            class_="lead",
        ),
        _open_question(result),
        _null_figure(result),
        tag("h3", "How to read this"),
        *_reading(result),
    )


def _open_question(result: AuditResult) -> Markup | None:
    if result.verdict.value != "inconclusive":
        return None
    return h.paragraph(
        "The verdict is inconclusive, so what follows is shown for completeness and supports no "
        "conclusion.",
        class_="said",
    )


def _finite(result: AuditResult) -> list[float]:
    return [value for value in result.null if value is not None and math.isfinite(value)]


def _null_figure(result: AuditResult) -> Markup:
    null, joint = _finite(result), result.joint
    if not null:
        return h.paragraph(
            "The record holds no statistics of copies, so there is nothing to draw.", class_="said"
        )
    observed = joint.value
    title = (
        f"Histogram of the statistic {joint.statistic} on {h.several(len(null), 'copy', 'copies')}"
    )
    description = f"The copies range from {number(min(null))} to {number(max(null))}. " + (
        "The observed value is undefined."
        if observed is None
        else f"The observed value is {number(observed)}; "
        f"{reaching(null, observed):,} of {len(null):,} copies reach it."
    )
    unit = (
        ", in standard deviations of the copies from their mean, since groups are masked"
        if result.masked
        else ""
    )
    caption = f"Statistic: {joint.statistic}{unit}. Larger values are more dependence."
    if far_away(null, observed):
        caption += " The axis is broken: the observed value lies far outside the copies."
    keys = [("", f"{h.several(len(null), 'copy', 'copies')} of the table")]
    if observed is not None:
        keys.append(("k-line", "the audited table"))
        if reaching(null, observed):
            keys.append(("k-reached", "copies that reach its value"))
    return tag(
        "figure",
        tag(
            "ul",
            *(tag("li", tag("i", class_=kind or None), text) for kind, text in keys),
            class_="key",
        ),
        histogram(null, observed, title=title, description=description),
        tag("figcaption", caption),
    )


def _reading(result: AuditResult) -> list[Markup]:
    joint, drawn = result.joint, bool(_finite(result))
    outcome = tag("em", result.table.outcome.name)
    how = (
        join(["between rows with the same ", outcome])
        if result.quality.law == "exact"
        else join(
            [
                "between rows, as often as the law of ",
                outcome,
                f" given the attributes behind these copies allows ({joint.copies_by}),",
            ]
        )
    )
    told = [
        h.paragraph(
            "Suppose the prediction carried nothing about ",
            tag("em", h.names(joint.attributes)),
            " beyond what the outcome ",
            outcome,
            " explains. Then these attributes could be exchanged ",
            how,
            " and nothing systematic would change. The audit did so "
            f"{h.several(joint.copies, 'time')}. Each copy of the table gives one value of the "
            "statistic",
            ": the bars" if drawn else None,
            ".",
            " The line is the table as it is." if drawn and joint.value is not None else None,
            class_="name",
        )
    ]
    told.append(h.paragraph(*_chance(result)))
    if joint.statistic == "kpc":
        told.append(
            h.paragraph(
                "The statistic averages over more neighbouring rows than the effect size KPC, "
                "which "
                "makes it less noisy; the two numbers can differ.",
                class_="quiet",
            )
        )
    return told


def _chance(result: AuditResult) -> list[str]:
    """What the p-value is."""
    null, joint = _finite(result), result.joint
    if joint.p_value is None:
        return [f"No p-value is given: {joint.inconclusive or 'the test is undefined'}."]
    told = [f"p = {h.chance(joint.p_value)}. "]
    if null and joint.value is not None:
        reached, drawn = reaching(null, joint.value), len(null)
        count = f"{reached:,}" if reached else "none"
        p = h.chance(joint.p_value)
        sums = ""
        if math.isclose(joint.p_value, (1 + reached) / (1 + drawn), rel_tol=1e-6):
            sums = f", so p = (1 + {reached:,}) / (1 + {drawn:,}) = {p}"
        elif math.isclose(joint.p_value, reached / drawn, rel_tol=1e-6):
            sums = f" before drawing stopped, so p = {reached:,} / {drawn:,} = {p}"
        told = [
            f"Of {h.several(drawn, 'copy', 'copies')}, {count} reached the observed value{sums}. "
        ]
    low, high = joint.p_interval
    told.append(
        f"Other random copies would give a slightly different number: the 95 % Monte-Carlo "
        f"interval of p is {h.chance(low)} to {h.chance(high)}. The level of this audit is "
        f"{number(result.alpha)}."
    )
    return told


#: Why some numbers are short or absent.
MASKED = (
    " Groups are masked, so sizes are rounded, those of single outcomes are left out, and the "
    "statistic is in standard deviations of the copies."
)


def where(result: AuditResult) -> Markup:
    behind = result.findings[1:]
    adjust = _ADJUSTMENTS.get(result.adjust, result.adjust)
    if not behind:
        return h.section(
            "where",
            h.paragraph(
                "The joint test was the only question: there is nothing to divide it into."
            ),
            place_part(result.localisation),
        )
    gate = (
        f"The joint test is a gate: it rejected at level {number(result.alpha)}, so the "
        f"{h.several(len(behind), 'question')} behind it may be answered."
        if result.joint.significant
        else f"The joint test is a gate: it did not reject at level {number(result.alpha)}. The "
        "rows below it are descriptive and no finding is claimed."
    )
    scale = _effects([one.kpc for one in result.findings])
    families = dict.fromkeys(one.family for one in result.findings)
    bodies = (_family(family, result, scale) for family in families)
    columns = [
        ("Question", None),
        ("Rows", "n"),
        ("Size (KPC)", None),
        ("Statistic", "n"),
        ("p", "n"),
        ("Adjusted p", "n"),
        ("Significant", None),
    ]
    return h.section(
        "where",
        h.paragraph(gate, _found(result), class_="said name"),
        h.table("The joint test and the questions behind it", columns, bodies),
        h.paragraph(
            f"p-values behind the gate are adjusted for each other by {adjust}; a finding needs "
            f"both the gate and an adjusted p of at most {number(result.alpha)}. The statistic "
            f"is {result.joint.statistic}.",
            MASKED if result.masked else None,
            class_="quiet",
        ),
        place_part(result.localisation),
    )


def _found(result: AuditResult) -> str | None:
    if not result.joint.significant:
        return None
    found = [one.name for one in result.findings[1:] if one.significant]
    if not found:
        return " None of them is significant by itself."
    return f" Significant: {'; '.join(found)}."


def _effects(values: Iterable[float | None]) -> Scale:
    """From 0 to the largest effect, but at least to 0.1: noise should look like noise."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    high = max([0.1, *known])
    return Scale(min([-high / 12, *known]), high)


def _family(family: str, result: AuditResult, scale: Scale) -> Markup:
    head = tag("th", _FAMILIES.get(family, family), scope="rowgroup", role="rowheader", colspan=7)
    rows = (_finding(one, scale) for one in result.findings if one.family == family)
    return h.body([h.row(head), *rows])


def _finding(finding: Finding, scale: Scale) -> Markup:
    value = "–" if finding.value is None else h.fixed(finding.value)
    amount = tag("span", h.fixed(finding.kpc), class_="amount")
    size = join([amount, bar(finding.kpc, scale, strong=finding.significant)])
    adjusted = "–" if finding.p_adjusted is None else h.chance(finding.p_adjusted)
    return h.row(
        h.row_head(finding.name),
        h.cell(f"{finding.rows:,}", "Rows", "n"),
        h.cell(tag("span", size), "Size (KPC)", "size"),
        h.cell(value, "Statistic", "n"),
        h.cell(h.chance(finding.p_value), "p", "n"),
        h.cell(adjusted, "Adjusted p", "n"),
        h.cell(_significant(finding), "Significant"),
    )


def _significant(finding: Finding) -> Markup:
    mark = tag("span", class_="mark", aria_hidden="true")
    if finding.inconclusive:
        why = tag("small", finding.inconclusive)
        return tag("span", mark, "inconclusive", why, class_="maybe")
    if finding.p_value is None:
        return tag("span", mark, "not tested", class_="maybe")
    return tag(
        "span",
        mark,
        "yes" if finding.significant else "no",
        class_="yes" if finding.significant else None,
    )


def size(result: AuditResult) -> Markup:
    tolerated = ", ".join(f"{name} up to {number(x)}" for name, x in result.tolerance.items())
    seen: set[str] = set()
    rows = []
    for one in result.measures:
        meaning = "" if one.key in seen else _MEANINGS.get(one.key, "")
        digits = digits_of(result.cells) if one.key == "mean_error_difference" else 3
        rows.append(_measure(one, meaning, digits))
        seen.add(one.key)
    return h.section(
        "size",
        h.paragraph(
            "How large the dependence is. These are estimates and no test: sampling alone moves "
            "each of them."
        ),
        h.paragraph(f"Declared tolerable before the audit: {tolerated}.") if tolerated else None,
        h.table(
            "Measures of the dependence",
            [("Measure", None), ("Value", "n"), ("Attributes", None), ("Note", None)],
            [h.body(rows)],
        )
        if rows
        else h.paragraph("No measure fits this table.", class_="said"),
    )


def _measure(one: MeasuredValue, meaning: str, digits: int) -> Markup:
    about = tag("small", meaning) if meaning else None
    return h.row(
        h.row_head(one.name, about),
        h.cell(h.fixed(one.value, digits), "Value", "n"),
        h.cell(", ".join(one.attributes), "Attributes", "name"),
        h.cell(one.note or None, "Note", "name"),
    )
