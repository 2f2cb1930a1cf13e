"""What was audited: the question, the columns, the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.html import parts as h
from fairaudit_reports.html.markup import Markup, join, tag
from fairaudit_reports.view.cover import name_label, trace_column
from fairaudit_reports.view.numerals import count_text, number
from fairaudit_reports.view.sections import AUDIT
from fairaudit_reports.view.wording import join_names, list_values

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.data.facts import ColumnFacts

__all__ = ["audited_section"]

MOST_LEVELS = 12  # of a column
MOST_FEATURES = 40


def audited_section(result: AuditResult) -> Markup:
    table = result.table
    columns = [("outcome", table.outcome), *(("sensitive", column) for column in table.attributes)]
    columns = [(role, trace_column(column)) for role, column in columns]
    heads = [("Column", None), ("Role", None), ("Kind", None), ("Values", None), ("Missing", "n")]
    people = f"column {table.ids}" if table.ids else "none: every row counts as one person"
    facts = [
        ("Prediction", table.prediction),
        ("Features of the model", _features(result)),
        ("Rows", _rows(result)),
        ("Weights", f"column {table.weights}" if table.weights else "none"),
        ("Ids of people", people),
    ]
    return h.section(
        "audited",
        AUDIT,
        [
            h.paragraph(_question(result), class_="lead name"),
            h.table(
                "The outcome and the sensitive attributes",
                heads,
                [h.body(_column(role, column) for role, column in columns)],
            ),
            h.listing(facts),
        ],
    )


def _question(result: AuditResult) -> Markup:
    names = join_names([name_label(column.name) for column in result.table.attributes])
    return join(
        [
            "Among rows with the same ",
            tag("em", name_label(result.table.outcome.name)),
            ", does the prediction still depend on ",
            tag("em", names),
            "? Equalized odds holds if it does not: Ŷ ⟂ A | Y.",
        ]
    )


def _column(role: str, column: ColumnFacts) -> Markup:
    if column.levels:
        values = list_values(column.levels, MOST_LEVELS)
        if len(column.levels) > 2:
            values = f"{len(column.levels)} levels: {values}"
    elif column.low is not None and column.high is not None:
        values = f"{number(column.low, 6)} to {number(column.high, 6)}"
    else:
        values = "–"
    cells = [
        h.row_head(column.name),
        h.cell(role, "Role"),
        h.cell(column.kind, "Kind"),
        h.cell(values, "Values", "name"),
        h.cell("some" if column.missing is None else f"{column.missing:,}", "Missing", "n"),
    ]
    return h.row(*cells)


def _features(result: AuditResult) -> str:
    features = result.table.features
    if len(features) == 1:
        return features[0]
    if features:
        return f"{len(features):,}: {list_values(features, MOST_FEATURES)}"
    if result.capsule.model is None:
        return "not known: predictions were given, not a model"
    return "not recorded"


def _rows(result: AuditResult) -> Markup:
    table = result.table
    text = f"{table.rows:,} audited"
    if table.people != table.rows:
        text += f", of {table.people:,} people"
    if not table.excluded:
        return join([f"{text}; none was left out."])
    counts = [part.rows for part in table.excluded if part.rows is not None]
    left = f"{sum(counts):,}" if len(counts) == len(table.excluded) else "some"
    reasons = (tag("p", f"{count_text(part.rows)}: {part.reason}") for part in table.excluded)
    return join([f"{text}; {left} left out:", *reasons])
