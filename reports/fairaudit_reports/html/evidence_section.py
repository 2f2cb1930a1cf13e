"""The evidence of the page of an audit: the null distribution and how to read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.html import parts as h
from fairaudit_reports.html.histogram import far_away, histogram
from fairaudit_reports.html.markup import Markup, tag
from fairaudit_reports.view.cover import name_label, name_labels
from fairaudit_reports.view.evidence_view import (
    OPEN_QUESTION,
    count_reaching,
    describe_copies,
    describe_observed,
    describe_p_value,
    describe_range,
    list_finite_copies,
)
from fairaudit_reports.view.sections import AUDIT
from fairaudit_reports.view.wording import join_names, several

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult

__all__ = ["evidence_section"]


def evidence_section(result: AuditResult) -> Markup:
    is_open = result.verdict.value == "inconclusive"
    lead = "How does the audited table compare with copies of it that satisfy equalized odds?"
    return h.section(
        "evidence",
        AUDIT,
        [
            h.paragraph(lead, class_="lead"),
            h.paragraph(OPEN_QUESTION, class_="said") if is_open else None,
            _null_figure(result),
            tag("h3", "How to read this"),
            *_reading(result),
        ],
    )


def _null_figure(result: AuditResult) -> Markup:
    null, joint = list_finite_copies(result), result.joint
    if not null:
        return h.paragraph(
            "The record holds no statistics of copies, so there is nothing to draw.", class_="said"
        )
    observed, copies = joint.value, describe_copies(len(null))
    description = describe_observed(null, observed)
    unit = (
        ", in standard deviations of the copies from their mean, since groups are masked"
        if result.masked
        else ""
    )
    caption = f"Statistic: {joint.statistic}{unit}. Larger values mean more dependence."
    if far_away(null, observed):
        caption += " The axis is broken: the observed value lies far outside the copies."
    keys = [("", f"{copies} of the table")]
    if observed is not None:
        keys.append(("k-line", "the audited table"))
        if count_reaching(null, observed):
            keys.append(("k-reached", "copies that reach its value"))
    chart = histogram(
        null,
        observed,
        title=f"Histogram of the statistic {joint.statistic} on {copies}",
        description=f"{describe_range(null)} {description}",
    )
    return tag("figure", h.figure_key(keys), chart, tag("figcaption", caption))


def _reading(result: AuditResult) -> list[Markup]:
    joint, has_bars = result.joint, bool(list_finite_copies(result))
    outcome = tag("em", name_label(result.table.outcome.name))
    sentences = [
        "Suppose the prediction carried nothing about ",
        tag("em", join_names(name_labels(joint.attributes))),
        " beyond what the outcome ",
        outcome,
        " explains. Then these attributes could be exchanged ",
        *_exchange(result),
        " and nothing systematic would change. The audit did so "
        f"{several(joint.copies, 'time')}. Each copy of the table gives one value of the statistic",
        ": the bars" if has_bars else None,
        ".",
        " The line is the table as it is." if has_bars and joint.value is not None else None,
    ]
    paragraphs = [h.paragraph(*sentences, class_="name"), h.paragraph(*describe_p_value(result))]
    if joint.statistic == "kpc":
        paragraphs.append(
            h.paragraph(
                "The statistic averages over more neighboring rows than the effect size KPC, which "
                "makes it less noisy; the two numbers can differ.",
                class_="quiet",
            )
        )
    return paragraphs


def _exchange(result: AuditResult) -> list[str]:
    """Between which rows attributes are exchanged."""
    outcome = tag("em", name_label(result.table.outcome.name))
    if result.quality.law == "exact":
        return ["between rows with the same ", outcome]
    if result.quality.law == "local":
        return ["between rows that are neighbors in ", outcome]
    return [
        "between rows, as often as the law of ",
        outcome,
        f" given the attributes behind these copies allows ({result.joint.copies_by}),",
    ]
