"""An audit as one HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.html import page as p
from fairaudit_reports.html import parts as h
from fairaudit_reports.html.audited_section import audited_section
from fairaudit_reports.html.belief_section import belief_section
from fairaudit_reports.html.cover_parts import card_section, sign_section
from fairaudit_reports.html.evidence_section import evidence_section
from fairaudit_reports.html.first_figure import first_figure
from fairaudit_reports.html.gaps_section import gaps_section
from fairaudit_reports.html.groups_section import groups_section
from fairaudit_reports.html.markup import Markup, tag
from fairaudit_reports.html.next_section import next_section
from fairaudit_reports.html.power_section import power_section
from fairaudit_reports.html.repeat_section import repeat_section
from fairaudit_reports.html.scores_section import scores_section
from fairaudit_reports.html.size_section import size_section
from fairaudit_reports.html.where_section import where_section
from fairaudit_reports.view.cover import name_label, name_labels
from fairaudit_reports.view.numerals import moment_text, number, p_decimal, typeset
from fairaudit_reports.view.sections import AUDIT
from fairaudit_reports.view.statements_view import describe_statements
from fairaudit_reports.view.wording import join_names

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.auditing.findings import Finding

__all__ = ["LIMIT", "render"]

LIMIT = "A test can find evidence of a violation; it cannot show that there is none."


def render(result: AuditResult) -> str:
    """The report as one HTML document."""
    verdict, capsule = result.verdict.value, result.capsule
    names = join_names(name_labels(result.joint.attributes))
    certified = verdict == "equivalent within tolerance"
    frame = p.Frame(
        title=f"{verdict}: equalized odds of {names} – fairaudit",
        about="audit of equalized odds",
        version=capsule.version,
        created=capsule.created,
        limit=None if certified else LIMIT,
        tone=p.TONES[verdict],
    )
    kicker = "Certified" if certified else "Verdict"
    sections = {
        "next": next_section(result),
        "gaps": gaps_section(result),
        "scores": scores_section(result),
        "groups": groups_section(result),
    }
    absent = [key for key, section in sections.items() if section is None]
    inside = [
        p.banner(
            verdict,
            verdict,
            result.because,
            kicker,
            statements=describe_statements(result),
            figure=first_figure(result),
        ),
        _facts(result),
        sign_section(capsule.created),
        h.contents({key: title for key, title in AUDIT.items() if key not in absent}),
        *sections.values(),
        audited_section(result),
        evidence_section(result),
        where_section(result),
        size_section(result),
        power_section(result.power),
        belief_section(result),
        h.notes_section(AUDIT, result.notes),
        repeat_section(result),
        card_section(result),
    ]
    return p.page(frame, inside, signs=False)


def _describe_size(joint: Finding) -> str:
    if joint.kpc_low is None or joint.kpc_high is None:
        return "0 is none"
    return f"{typeset(joint.kpc_low)} to {typeset(joint.kpc_high)}; 0 is none"


def _facts(result: AuditResult) -> Markup:
    table, joint = result.table, result.joint
    day, time = moment_text(result.capsule.created)
    people = [("People", f"{table.people:,}", "")] if table.people != table.rows else []
    not_given = "" if joint.p_value is not None else "not given"
    return h.facts(
        [
            ("Rows", f"{table.rows:,}", ""),
            *people,
            ("Sensitive attributes", ", ".join(name_label(c.name) for c in table.attributes), ""),
            ("Outcome", name_label(table.outcome.name), table.outcome.kind),
            ("p-value", p_decimal(joint.p_value), not_given),
            ("Size (KPC)", typeset(joint.kpc), _describe_size(joint)),
            ("Level α", number(result.alpha), ""),
            ("Date", tag("time", day, datetime=result.capsule.created), time),
        ]
    )
