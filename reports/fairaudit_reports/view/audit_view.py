"""What is said of an audit: its verdict, what was audited, the questions and the measures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairaudit._words import as_words, figures
from fairaudit_reports.view.cover import name_label, name_labels, trace_column
from fairaudit_reports.view.numerals import count_text, describe_measure, fixed, p_text
from fairaudit_reports.view.sections import Row, Section, build_facts_section
from fairaudit_reports.view.wording import LONGEST, clean

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.auditing.findings import Finding
    from fairaudit.evidence.measured import MeasuredValue

__all__ = [
    "build_audited_section",
    "build_measures_section",
    "build_notes_section",
    "build_questions_section",
    "describe_adjustment",
    "describe_finding",
    "find_measure",
    "list_table_facts",
    "name_question",
    "select_findings",
    "split_verdict",
]

_IN_UNITS = (
    "mean_error_difference",
    "prediction_gap",
)  # of the outcome; all others are about 0 to 1
_ADJUSTMENTS = {"holm": "Holm", "fdr_bh": "Benjamini and Hochberg"}
_MOST_FACTS = 12  # below one name


def split_verdict(result: AuditResult) -> tuple[str, str]:
    """The verdict in capitals, and the rest of its sentence."""
    because = clean(result.because, 4 * LONGEST)
    begins = r"^(no violation( found)?|violation|inconclusive|equivalent within tolerance)\b"
    rest = re.sub(begins, "", because, flags=re.I)
    mark = result.verdict.value.upper()
    return (mark + ":", rest[1:].strip()) if rest.startswith(":") else (mark, rest.strip())


def name_question(finding: Finding) -> str:
    """What was asked, in few words."""
    names = as_words(name_labels(finding.attributes))
    if finding.family == "joint":
        return clean(f"{names} together" if len(finding.attributes) > 1 else names)
    phrases = {"attribute": f"{names} alone", "pair": names, "outcome": f"where {finding.name}"}
    return clean(phrases.get(finding.family, finding.name))


def describe_finding(finding: Finding, result: AuditResult) -> str:
    """A significant finding behind the gate, as a sentence."""
    names = as_words(name_labels(finding.attributes))
    outcome = name_label(result.table.outcome.name)
    if finding.outcome is None:
        what = f"The prediction carries information about {names} that the outcome {outcome} does "
        return clean(f"{what}not explain ({_describe_evidence(finding)}).")
    what = f"Where {finding.outcome}, the prediction carries information about {names}"
    return clean(f"{what} ({_describe_evidence(finding)}).")


def _describe_evidence(finding: Finding) -> str:
    """``adjusted p = 0.006, KPC 0.113, 2,000 rows``."""
    size = "" if finding.kpc is None else f"KPC {fixed(finding.kpc)}, "
    return f"adjusted p = {p_text(finding.p_adjusted)}, {size}{finding.rows:,} rows"


def describe_adjustment(result: AuditResult) -> str:
    return _ADJUSTMENTS.get(result.adjust, clean(result.adjust))


def list_table_facts(result: AuditResult) -> list[tuple[str, str]]:
    """What was audited: names and facts; the name is empty where the one before goes on."""
    table, capsule = result.table, result.capsule
    rows = f"{table.rows:,}"
    if table.ids is not None:
        rows += f" of {table.people:,} people (by {table.ids})"
    facts = [("rows", rows), ("prediction", table.prediction)]
    outcome, *attributes = map(trace_column, (table.outcome, *table.attributes))
    facts += [("outcome", outcome.describe())]
    facts += _put_under("attributes", [column.describe() for column in attributes])
    if table.features:
        some = ", ".join(table.features[:12]) + (", …" if len(table.features) > 12 else "")
        facts.append(("features", f"{len(table.features)} ({some})"))
    if table.weights is not None:
        facts.append(("weights", table.weights))
    left_out = [f"{count_text(part.rows)} rows: {part.reason}" for part in table.excluded]
    facts += _put_under("left out", left_out)
    if capsule.model is not None:
        facts.append(
            ("model", " ".join(filter(None, [capsule.model.path, _describe_kind(result)])))
        )
    facts += _put_under("data", [source.path or source.kind for source in capsule.data])
    if result.tolerance:
        limits = (f"{name} up to {limit:g}" for name, limit in result.tolerance.items())
        facts.append(("tolerated", ", ".join(limits)))
    return [(name, clean(fact)) for name, fact in facts]


def _describe_kind(result: AuditResult) -> str:
    model = result.capsule.model
    name = "" if model is None else model.kind.rpartition(".")[2]
    return f"({name})" if model is not None and model.path else name


def _put_under(name: str, facts: Sequence[str]) -> list[tuple[str, str]]:
    left = len(facts) - _MOST_FACTS
    lines = [*facts[:_MOST_FACTS], *([f"… and {left} more"] if left > 0 else [])]
    return [(name if k == 0 else "", fact) for k, fact in enumerate(lines)]


def select_findings(result: AuditResult, most: int) -> tuple[list[Finding], int]:
    """Findings to list (the gate, the significant ones, then the others), and how many are left."""
    behind = sorted(result.findings[1:], key=lambda finding: not finding.significant)[: most - 1]
    chosen = {id(finding) for finding in (result.joint, *behind)}
    shown = [finding for finding in result.findings if id(finding) in chosen]
    return shown, len(result.findings) - len(shown)


def build_questions_section(result: AuditResult, most: int) -> tuple[Section, int]:
    """The questions with their p-values, at most so many; and how many are left."""
    findings, left = select_findings(result, most)
    section = Section(
        title="Questions",
        head=["question", "rows", "KPC", "p", "adjusted p", ""],
        rows=[_build_question_row(finding) for finding in findings],
        right=frozenset({1, 2}),
        lines=(_explain_p_values(result),),
        strong=frozenset(k for k, finding in enumerate(findings) if finding.significant),
    )
    return section, left


def _build_question_row(finding: Finding) -> Row:
    return [
        name_question(finding),
        f"{finding.rows:,}",
        fixed(finding.kpc),
        p_text(finding.p_value),
        "" if finding.family == "joint" else p_text(finding.p_adjusted),
        _mark_finding(finding),
    ]


def _mark_finding(finding: Finding) -> str:
    if finding.inconclusive is not None or finding.p_value is None:
        return "not settled"
    return "significant" if finding.significant else ""


def _explain_p_values(result: AuditResult) -> str:
    """What the p-values mean for the verdict."""
    if len(result.findings) == 1:
        return f"It decides at level {result.alpha:g}."
    return (
        f"The first question decides at level {result.alpha:g}. The others count only where it is "
        "significant; their p-values are adjusted for one another "
        f"({describe_adjustment(result)})."
    )


def build_measures_section(result: AuditResult) -> Section | None:
    """The measures; KPC of single attributes is left to the findings that state it."""
    stated = {finding.attributes for finding in result.findings[1:] if finding.outcome is None}
    rows = [
        [
            clean(measure.name),
            _format_size(measure),
            clean(", ".join(name_labels(measure.attributes))),
            clean(about) if (about := describe_measure(measure)) else "",
        ]
        for measure in result.measures
        if measure.key != "kpc" or measure.attributes not in stated
    ]
    if not rows:
        return None
    head = ["measure", "value", "attributes", ""]
    return Section(title="Measures", head=head, rows=rows, right=frozenset({1}))


def _format_size(measure: MeasuredValue) -> str:
    if measure.value is None or measure.key not in _IN_UNITS:
        return fixed(measure.value)
    return figures(measure.value)


def find_measure(result: AuditResult, key: str) -> float | None:
    """The first measure of this key."""
    return next((measure.value for measure in result.measures if measure.key == key), None)


def build_audited_section(result: AuditResult) -> Section:
    return build_facts_section("Audited", list_table_facts(result))


def build_notes_section(result: AuditResult, most: int) -> Section | None:
    """The notes, each of at most so many characters."""
    if not result.notes:
        return None
    lines = tuple(clean(note, most) for note in result.notes)
    return Section(title="Notes", lines=lines, bullets=True)
