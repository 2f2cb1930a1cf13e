"""The report of a remedy as one HTML page: before and after, the curve, the groups."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from fairaudit._words import quiet
from fairaudit_reports.html import page as p
from fairaudit_reports.html import parts as h
from fairaudit_reports.html.histogram import far_away, histogram
from fairaudit_reports.html.markup import Markup, tag
from fairaudit_reports.html.power_section import power_section
from fairaudit_reports.html.remedy_curve_section import curve_section
from fairaudit_reports.html.remedy_groups_section import groups_part
from fairaudit_reports.html.remedy_style import LIMIT, STYLE
from fairaudit_reports.html.repeat_section import moment_line, versions_text
from fairaudit_reports.view.cover import name_label, name_labels
from fairaudit_reports.view.evidence_view import (
    describe_observed,
    describe_range,
    list_finite_copies,
)
from fairaudit_reports.view.numerals import number, p_decimal, percent
from fairaudit_reports.view.remedy_answer_view import list_answers, title_advice
from fairaudit_reports.view.remedy_view import list_audits, list_changes, list_notes
from fairaudit_reports.view.sections import REMEDY
from fairaudit_reports.view.wording import capitalize, join_names

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.remedy.remedy_result import RemedyResult
    from fairaudit_reports.view.remedy_view import Change

__all__ = ["render"]

MOST_FEATURES = 40


def render(result: RemedyResult) -> str:
    """The report as one HTML document."""
    capsule = result.after.capsule
    names = join_names(name_labels(result.after.joint.attributes))
    frame = p.Frame(
        title=f"{capitalize(str(result.outcome))}: equalized odds of {names} – fairaudit",
        about="remedy toward equalized odds",
        version=capsule.version,
        created=capsule.created,
        limit=LIMIT,
        style=STYLE,
    )
    inside = [
        _headline(result),
        _banners(result),
        _facts(result),
        h.contents(REMEDY),
        _answers(result),
        _change(result),
        curve_section(result),
        h.section("groups", REMEDY, [groups_part(result)]),
        _evidence(result),
        power_section(result.after.power),
        h.notes_section(REMEDY, list_notes(result)),
        _repeat(result),
    ]
    return p.page(frame, inside)


def _headline(result: RemedyResult) -> Markup:
    """The outcome: what may be said of the repair as a whole."""
    words = tag(
        "div",
        h.paragraph("Outcome of the repair", class_="kicker name"),
        tag("h1", str(result.outcome), id="verdict"),
    )
    parts = [h.paragraph(result.headline, class_="because name")]
    title = title_advice(result)
    if title:
        parts += [h.paragraph(f"{title}:", class_="because"), h.bullets(result.advice)]
    verdict = str(result.verdict)
    reasons = tag("div", *parts, class_="because")
    return tag("div", p.icon(verdict), words, reasons, class_=f"banner outcome {p.TONES[verdict]}")


def _banners(result: RemedyResult) -> Markup:
    both = []
    for when, model, audit in list_audits(result):
        verdict = str(audit.verdict)
        words = tag(
            "div",
            h.paragraph(f"{when}: {model}", class_="kicker name"),
            h.paragraph(verdict, class_="was"),
        )
        because = h.paragraph(audit.because, class_="because name")
        kind = f"banner {p.TONES[verdict]}"
        both.append(tag("div", p.icon(verdict), words, because, class_=kind))
    return tag("div", *both, class_="pair")


def _facts(result: RemedyResult) -> Markup:
    table, rows = result.after.table, result.rows
    return h.facts(
        [
            ("Audited rows", f"{rows['audit']:,}", "used for nothing else"),
            ("Rows to train", f"{rows['train']:,}", ""),
            ("Rows to choose", *_rows_to_choose(result)),
            ("Sensitive attributes", ", ".join(name_label(c.name) for c in table.attributes), ""),
            ("Outcome", name_label(table.outcome.name), table.outcome.kind),
            ("Method", result.method, f"{result.symbol} = {result.mu:g}"),
            ("Level α", number(result.after.alpha), ""),
        ]
    )


def _rows_to_choose(result: RemedyResult) -> tuple[str, str]:
    if result.goal and not result.rows["choice"]:
        return "–", "those to train, out of fold"
    return f"{result.rows['choice']:,}", ""


def _answers(result: RemedyResult) -> Markup:
    return h.section("answers", REMEDY, [h.listing(list_answers(result))])


def _change(result: RemedyResult) -> Markup:
    columns = [("Measure", None), ("Before", None), ("After", None)]
    lead = (
        f"Both models on the same {result.rows['audit']:,} rows, which neither training nor "
        "the choice of a model has seen, and by the same copies."
    )
    rows = map(_change_row, list_changes(result))
    return h.section(
        "change",
        REMEDY,
        [h.paragraph(lead, class_="lead"), h.table("Before and after", columns, [h.body(rows)])],
    )


def _change_row(change: Change) -> Markup:
    texts = [text.replace("-", "−") for text in (change.before, change.after)]
    if change.is_verdict:
        texts = [tag("span", text, class_=f"verdict {p.TONES[text]}") for text in texts]
    about = tag("small", change.about) if change.about else None
    head = h.row_head(capitalize(change.name), about)
    return h.row(head, h.cell(texts[0], "Before"), h.cell(texts[1], "After"))


def _evidence(result: RemedyResult) -> Markup:
    lead = (
        "Bars: the statistic on copies of the audited table in which equalized odds holds. "
        "Line: the table as it is. Far to the right of the bars is evidence of a violation."
    )
    both = (_null(when, audit) for when, _, audit in list_audits(result))
    return h.section(
        "evidence", REMEDY, [h.paragraph(lead, class_="lead"), tag("div", *both, class_="pair")]
    )


def _null(when: str, audit: AuditResult) -> Markup:
    joint, tone, null = audit.joint, p.TONES[audit.verdict.value], list_finite_copies(audit)
    head = tag("h3", f"{when}: p = {p_decimal(joint.p_value)}")
    if not null:
        return tag("div", head, h.paragraph("There are no copies to draw."), class_=tone)
    caption = describe_observed(null, joint.value)
    chart = histogram(
        null,
        joint.value,
        title=f"{when}: histogram of the statistic {joint.statistic} on copies",
        description=f"{describe_range(null)} {caption}",
    )
    if far_away(null, joint.value):
        caption += " The axis is broken."
    if not audit.quality.trustworthy:
        caption += f" The copies are doubtful: {audit.quality.because}."
    return tag("div", head, tag("figure", chart, tag("figcaption", caption)), class_=tone)


def _repeat(result: RemedyResult) -> Markup:
    capsule, saved = result.after.capsule, result.saved
    features = result.features
    some = ", ".join(features[:MOST_FEATURES]) + (", …" if len(features) > MOST_FEATURES else "")
    facts = [
        ("Created", moment_line(capsule)),
        ("Seed", f"{result.seed}: the split, the training and the copies"),
        ("Split", f"{', '.join(map(percent, result.split))} to train, to choose and to audit"),
        ("Features", f"{len(features):,}: {some}"),
        ("Copies", f"{capsule.copies:,} in both audits"),
        ("New model", h.source_text(saved)),
        *(("Data", h.source_text(source)) for source in capsule.data),
        ("Versions", versions_text(capsule)),
        ("Platform", capsule.platform),
    ]
    unwritten = f"The new model was not written, because it is not a repair ({result.outcome})."
    return h.section(
        "repeat",
        REMEDY,
        [
            h.command_block(result.command)
            if result.command
            else h.paragraph(
                "The remedy was called from Python. No command repeats it, because the objects "
                "that it was given are not in files; its seed and its split are below."
            ),
            _later(result, saved.path) if saved.path is not None else None,
            h.paragraph(unwritten) if result.refused else None,
            h.listing(facts),
        ],
    )


def _later(result: RemedyResult, model: str) -> Markup:
    """How the new model is audited on rows that do not exist yet."""
    table = result.after.table
    names = ",".join(_in_list(column.name) for column in table.attributes)
    words = ["fairaudit", "test", "--model", model, "--data", "FILE"]
    words += ["--outcome", _in_list(table.outcome.name), "--sensitive", names]
    return h.paragraph(
        "The new model is an ordinary scikit-learn model. Later rows, in a FILE with the same "
        "columns, are audited by ",
        tag("code", quiet(shlex.join(words))),
        ".",
    )


def _in_list(name: str) -> str:
    """A name in a list with commas."""
    return '"' + name.replace('"', '""') + '"' if set(name) & set(',"') else name
