"""One HTML page that needs nothing else: no script, no request; light, dark and on paper."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairaudit._words import quiet
from fairaudit_reports import html_parts as h
from fairaudit_reports.calibration import calibration_part
from fairaudit_reports.equivalence import gaps
from fairaudit_reports.html_evidence import evidence, size, where
from fairaudit_reports.html_groups import groups
from fairaudit_reports.markup import Markup, join, tag
from fairaudit_reports.power import power_section
from fairaudit_reports.repeat import python_call
from fairaudit_reports.svg import icon, number
from fairaudit_reports.terminal import count_text

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.data.facts import ColumnFacts, Source

__all__ = ["render"]

MOST_LEVELS = 12  # of a column
LIMIT = "A test can find evidence of a violation; it cannot show that there is none."
#: Levels of the two checks of a fitted density; `fairaudit.testing.diagnostics` sets them.
COPY_CHECK_LEVEL, CALIBRATION_LEVEL = 0.01, 0.001

_TONES = {
    "violation": "violation",
    "no violation found": "none",
    "inconclusive": "open",
    "equivalent within tolerance": "shown",
}


def render(result: AuditResult) -> str:
    """The report as one HTML document."""
    title = f"{result.verdict}: equalized odds of {h.names(result.joint.attributes)} – fairaudit"
    head = h.head(title, result.capsule.version)
    sections = (
        _audited(result),
        evidence(result),
        where(result),
        size(result),
        groups(result),
        gaps(result),
        power_section(result),
        _belief(result),
        _notes(result),
        _repeat(result),
    )
    body = tag(
        "body",
        _brand(result),
        tag("main", _verdict(result), join(sections)),
        _footer(result),
        class_=_TONES[result.verdict.value],
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _brand(result: AuditResult) -> Markup:
    left = join([tag("strong", "fairaudit"), " audit of equalized odds"])
    right = f"version {result.capsule.version}"
    return tag("header", h.paragraph(tag("span", left), tag("span", right), class_="brand"))


def _verdict(result: AuditResult) -> Markup:
    words = tag(
        "div",
        h.paragraph("Certified" if _certified(result) else "Verdict", class_="kicker"),
        tag("h1", str(result.verdict), id="verdict"),
    )
    because = h.paragraph(result.because, class_="because name")
    return join(
        [
            tag("div", icon(result.verdict.value), words, because, class_="banner"),
            _facts(result),
            _contents(),
        ]
    )


def _certified(result: AuditResult) -> bool:
    return result.verdict.value == "equivalent within tolerance"


def _facts(result: AuditResult) -> Markup:
    table, joint = result.table, result.joint
    day, time = h.when(result.capsule.created)
    moment = tag("time", day, datetime=result.capsule.created)
    facts: list[tuple[str, str, str]] = [("Rows", f"{table.rows:,}", "")]
    if table.people != table.rows:
        facts.append(("People", f"{table.people:,}", ""))
    facts += [
        ("Sensitive attributes", ", ".join(one.name for one in table.attributes), ""),
        ("Outcome", table.outcome.name, table.outcome.kind),
        ("p-value", h.chance(joint.p_value), "" if joint.p_value is not None else "not given"),
        ("Size (KPC)", h.fixed(joint.kpc), "0 is none"),
        ("Level α", number(result.alpha), ""),
        ("Date", moment, time),
    ]
    return tag(
        "dl",
        *(
            tag("div", tag("dt", name), tag("dd", value, tag("small", note) if note else None))
            for name, value, note in facts
        ),
        class_="facts",
    )


def _contents() -> Markup:
    links = (tag("li", tag("a", title, href=f"#{key}")) for key, title in h.SECTIONS.items())
    return tag("nav", tag("ul", *links), aria_label="Sections")


def _audited(result: AuditResult) -> Markup:
    table = result.table
    names = tag("em", h.names([one.name for one in table.attributes]))
    question = join(
        [
            "Among rows with the same ",
            tag("em", table.outcome.name),
            ", does the prediction still depend on ",
            names,
            "? Equalized odds holds if it does not: Ŷ ⟂ A | Y.",
        ]
    )
    columns = [("outcome", table.outcome), *(("sensitive", one) for one in table.attributes)]
    return h.section(
        "audited",
        h.paragraph(question, class_="lead name"),
        h.table(
            "The outcome and the sensitive attributes",
            [("Column", None), ("Role", None), ("Kind", None), ("Values", None), ("Missing", "n")],
            [h.body(_column(role, column) for role, column in columns)],
        ),
        h.listing(
            [
                ("Prediction", table.prediction),
                ("Features of the model", _features(result)),
                ("Rows", _rows(result)),
                ("Weights", f"column {table.weights}" if table.weights else "none"),
                (
                    "Ids of people",
                    f"column {table.ids}" if table.ids else "none: every row counts as one person",
                ),
            ]
        ),
    )


def _column(role: str, column: ColumnFacts) -> Markup:
    if column.levels:
        values = _listed(column.levels, MOST_LEVELS)
        if len(column.levels) > 2:
            values = f"{len(column.levels)} levels: {values}"
    elif column.low is not None and column.high is not None:
        values = f"{number(column.low, 6)} to {number(column.high, 6)}"
    else:
        values = "–"
    return h.row(
        h.row_head(column.name),
        h.cell(role, "Role"),
        h.cell(column.kind, "Kind"),
        h.cell(values, "Values", "name"),
        h.cell("some" if column.missing is None else f"{column.missing:,}", "Missing", "n"),
    )


def _listed(values: Sequence[str], most: int) -> str:
    more = len(values) - most
    return ", ".join(values[:most]) + (f", … and {more:,} more" if more > 0 else "")


def _features(result: AuditResult) -> str:
    if result.table.features:
        count = len(result.table.features)
        return (
            f"{count:,}: {_listed(result.table.features, 40)}"
            if count > 1
            else (result.table.features[0])
        )
    if result.capsule.model is None:
        return "not known: predictions were given, and no model"
    return "not recorded"


def _rows(result: AuditResult) -> Markup:
    table = result.table
    told = f"{table.rows:,} audited"
    if table.people != table.rows:
        told += f", of {table.people:,} people"
    if not table.excluded:
        return join([f"{told}; none was left out."])
    known = [one.rows for one in table.excluded if one.rows is not None]
    left = f"{sum(known):,}" if len(known) == len(table.excluded) else "some"
    return join(
        [
            f"{told}; {left} left out:",
            *(tag("p", f"{count_text(one.rows)}: {one.reason}") for one in table.excluded),
        ]
    )


def _belief(result: AuditResult) -> Markup:
    quality = result.quality
    mark = tag("span", class_="mark", aria_hidden="true")
    answer = (
        tag("strong", mark, "Yes", class_="good")
        if quality.trustworthy
        else tag("strong", mark, "No", class_="maybe")
    )
    moved = (
        f"{h.percent(quality.moved)} of the rows have other attributes in a copy than in the data, "
        "on average. At 0 there would be nothing to compare."
    )
    return h.section(
        "belief",
        h.paragraph(answer, f", because {quality.because}.", class_="lead name"),
        h.paragraph(
            "A p-value is only as good as its copies: apart from the prediction they must look "
            "like the data. These checks never look at the prediction."
        ),
        h.listing(
            [
                ("Copies by", quality.copies_by),
                (
                    "Copy check",
                    _check(
                        quality.copy_check,
                        COPY_CHECK_LEVEL,
                        "Can the attributes and outcomes of the copies be told from those of the "
                        "data?",
                    ),
                ),
                (
                    "Calibration",
                    _check(
                        quality.calibration,
                        CALIBRATION_LEVEL,
                        "Are the outcomes spread as the fitted model of the outcome says?",
                    ),
                ),
                ("Rows that moved", moved),
                ("Different copies", f"{quality.distinct:,} among those looked at"),
            ]
        ),
        calibration_part(result.calibration, result.alpha),
        _scores(result),
    )


def _check(p: float | None, level: float, question: str) -> Markup:
    if p is None:
        return join(["not needed: nothing was fitted"])
    told = "failed" if p <= level else "passed"
    return join(
        [
            f"{told}, p = {h.chance(p)}",
            tag("p", f"{question} A p-value of {number(level)} or less fails.", class_="quiet"),
        ]
    )


def _scores(result: AuditResult) -> Markup | None:
    quality = result.quality
    if not quality.scores:
        return None
    ranked = sorted(quality.scores.items(), key=lambda item: -_order(item[1]))
    rows = (
        h.row(
            h.row_head(name),
            h.cell(h.fixed(score), "Log-likelihood per row", "n"),
            h.cell("used" if name == quality.family else None, "Choice"),
        )
        for name, score in ranked
    )
    return h.table(
        "Models of the outcome given the attributes that were tried; higher fits better",
        [("Model", None), ("Log-likelihood per row, held out", "n"), ("Choice", None)],
        [h.body(rows)],
    )


def _order(score: float | None) -> float:
    return -math.inf if score is None else score


def _notes(result: AuditResult) -> Markup:
    if not result.notes:
        return h.section("notes", h.paragraph("There are none."))
    return h.section("notes", tag("ul", *(tag("li", note) for note in result.notes), class_="name"))


def _repeat(result: AuditResult) -> Markup:
    capsule = result.capsule
    day, time = h.when(capsule.created)
    versions = {"fairaudit": capsule.version, "Python": capsule.python, **capsule.packages}
    options = "\n".join(f"{name} = {_plain(value)}" for name, value in capsule.options.items())
    return h.section(
        "repeat",
        _command(result) if capsule.command else _call(result),
        h.listing(
            [
                ("Created", f"{day} {time}".strip()),
                ("Seed", str(capsule.seed)),
                ("Copies", f"{capsule.copies:,}"),
                ("Steps", f"{capsule.steps:,} between data and copy, where a model was fitted"),
                ("Model", None if capsule.model is None else _source(capsule.model)),
                *(("Data", _source(one)) for one in capsule.data),
                ("Audited columns", _hash(capsule.table_sha256)),
                ("Versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
                ("Platform", capsule.platform),
                ("CPU", f"{result.seconds:,.1f} seconds"),
            ]
        ),
        join([tag("h3", "Options"), tag("pre", tag("code", options))]) if options else None,
    )


def _command(result: AuditResult) -> Markup:
    from fairaudit.data.reading.files import STANDARD_INPUT

    capsule = result.capsule
    told = "The command that was run, in the folder in which its paths begin:"
    parts = [h.paragraph(told), tag("pre", tag("code", quiet(capsule.command or "")))]
    if capsule.verify:
        told = "This repeats the audit from its JSON record and compares every number:"
        parts += [h.paragraph(told), tag("pre", tag("code", quiet(capsule.verify)))]
    else:
        parts.append(
            h.paragraph(
                "No JSON record was written. With ",
                tag("code", "--report audit.json"),
                " added, the record can be repeated and compared number by number (",
                tag("code", "fairaudit verify"),
                ").",
            )
        )
    if any(source.path == STANDARD_INPUT for source in capsule.data):
        parts.append(h.paragraph("The table came from standard input: pass the same rows there."))
    return join(parts)


def _call(result: AuditResult) -> Markup:
    return join(
        [
            h.paragraph(
                "The audit was called from Python. No command repeats it, because the objects that "
                "it "
                "was given are in no file; with the same objects this call does (A: the "
                "attributes):"
            ),
            tag("pre", tag("code", python_call(result))),
        ]
    )


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _hash(digest: str | None) -> Markup:
    return tag("span", f"SHA-256 {digest}" if digest else "no hash", class_="hash")


def _source(source: Source) -> Markup:
    named = f"{source.path} ({source.kind})" if source.path else source.kind
    return join([tag("span", named), tag("br"), _hash(source.sha256)])


def _footer(result: AuditResult) -> Markup:
    day, time = h.when(result.capsule.created)
    return tag(
        "footer",
        None if _certified(result) else h.paragraph(LIMIT, class_="limit"),
        h.paragraph(f"fairaudit {result.capsule.version}, {day} {time}".rstrip()),
    )
