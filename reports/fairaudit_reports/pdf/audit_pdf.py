"""An audit as PDF: an executive summary on the first page, then pictures and all numbers."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from datetime import datetime, timezone
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fairaudit._words import quiet
from fairaudit.errors import MissingDependencyError
from fairaudit_reports.html.first_figure import list_first_pictures
from fairaudit_reports.html.histogram import histogram
from fairaudit_reports.html.scores_section import list_score_pictures
from fairaudit_reports.view.audit_view import (
    build_audited_section,
    build_measures_section,
    build_notes_section,
    build_questions_section,
)
from fairaudit_reports.view.cover import current_cover, name_label, name_labels
from fairaudit_reports.view.evidence_view import describe_observed, list_finite_copies
from fairaudit_reports.view.gaps_view import (
    build_certificates_section,
    build_curve_section,
    build_gaps_section,
)
from fairaudit_reports.view.groups_view import build_groups_section
from fairaudit_reports.view.next_steps_view import list_next_steps
from fairaudit_reports.view.numerals import moment_text, number, p_decimal, typeset
from fairaudit_reports.view.place_view import build_place_section
from fairaudit_reports.view.power_view import build_power_section
from fairaudit_reports.view.sections import Section, build_facts_section
from fairaudit_reports.view.selection import select_cells
from fairaudit_reports.view.statements_view import describe_statements
from fairaudit_reports.view.trust_view import build_copies_section
from fairaudit_reports.view.wording import LONGEST_NOTE

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult

__all__ = ["render", "render_page"]

MOST_CELLS = 60
_COLORS = {
    "violation": "#9f1f1b",
    "no violation found": "#17596a",
    "inconclusive": "#744c00",
    "equivalent within tolerance": "#1d6b34",
}
_WIDTH = 380  # of a picture, in units of its text


def render(result: AuditResult) -> bytes:
    """The bytes of a tagged PDF, the same for the same result.

    By the fonts of the typesetter; by those of the machine where names need others, and without the
    promise of PDF/UA where no font has their letters.
    """
    import_typst()
    from typst import TypstError

    for own_fonts, standard in ((True, "ua-1"), (False, "ua-1"), (False, "1.7")):
        try:
            made = _compile(result, own_fonts, format="pdf", pdf_standards=standard)
        except TypstError:
            if standard == "1.7":
                raise
            continue
        return bytes(made)
    raise AssertionError  # the last one returns or raises


def render_page(result: AuditResult) -> bytes:
    """The first page as a picture."""
    pages = _compile(result, True, format="png", ppi=90)
    return bytes(pages[0] if isinstance(pages, list) else pages)


def import_typst() -> Any:
    try:
        import typst
    except ImportError:
        raise MissingDependencyError(
            "PDF reports need the package typst: pip install typst (the extra pdf has it)."
        ) from None
    return typst


def _compile(result: AuditResult, own_fonts: bool, **how: Any) -> Any:
    data = json.dumps(_quieted(_build_data(result)), ensure_ascii=False)
    template = files("fairaudit_reports.pdf").joinpath("report.typ").read_bytes()
    return import_typst().compile(
        template,
        sys_inputs={"data": data},
        ignore_system_fonts=own_fonts,
        timestamp=int(_moment(result).timestamp()),
        **how,
    )


def _quieted(value: Any) -> Any:
    """Names may hold what no font shows."""
    if isinstance(value, str):
        return "\n".join(map(quiet, value.split("\n")))
    if isinstance(value, dict):
        return {key: _quieted(item) for key, item in value.items()}
    return [_quieted(item) for item in value] if isinstance(value, (list, tuple)) else value


def _moment(result: AuditResult) -> datetime:
    try:
        return datetime.fromisoformat(result.capsule.created.replace("Z", "+00:00"))
    except ValueError:
        return datetime(1980, 1, 1, tzinfo=timezone.utc)


def _build_data(result: AuditResult) -> dict[str, Any]:
    cover, verdict = current_cover(), result.verdict.value
    moment, (day, _) = _moment(result), moment_text(result.capsule.created)
    about = [
        ("Model", " ".join(filter(None, [cover.model, cover.model_version]))),
        ("Purpose", cover.purpose or ""),
    ]
    sign = [
        ("Auditor", cover.auditor or " "),
        ("Date of the audit", day),
        ("Signature", " "),
        ("Signed on", " "),
        ("Next review", cover.next_review or " "),
    ]
    names = ", ".join(name_labels(result.joint.attributes))
    return {
        "title": cover.title or f"Equalized odds of {names}: {verdict}",
        "authors": [cover.auditor] if cover.auditor else [],
        "date": [moment.year, moment.month, moment.day],
        "color": _COLORS[verdict],
        "foot": f"fairaudit {result.capsule.version}, {day}",
        "cover": cover.title,
        "about": [pair for pair in about if pair[1]],
        "kicker": "Equalized odds: verdict",
        "verdict": verdict[:1].upper() + verdict[1:],
        "sentences": describe_statements(result),
        "because": result.because,
        "beside": [_picture("", svg, verdict, title) for title, svg in list_first_pictures(result)],
        "facts": _list_facts(result),
        "sign": sign if cover.is_signed else [],
        "pictures": _list_pictures(result),
        "sections": [_plain(section) for section in _list_sections(result)],
    }


def _list_facts(result: AuditResult) -> list[tuple[str, str]]:
    return [
        ("Rows", f"{result.table.rows:,}"),
        ("Sensitive attributes", ", ".join(name_label(c.name) for c in result.table.attributes)),
        ("Outcome", name_label(result.table.outcome.name)),
        ("p-value", p_decimal(result.p_value)),
        ("Size (KPC)", typeset(result.joint.kpc)),
        ("Level", number(result.alpha)),
    ]


def _list_pictures(result: AuditResult) -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = []
    before = ""
    for title, labels, pictures in list_score_pictures(result):
        items = [_picture(caption, svg, result.verdict.value) for caption, svg in pictures]
        groups.append({"title": "" if title == before else title, "labels": labels, "items": items})
        before = title
    null = list_finite_copies(result)
    if null:
        caption = describe_observed(null, result.joint.value)
        chart = histogram(
            null, result.joint.value, title="The statistic on copies", description=caption
        )
        groups.append(
            {
                "title": "The test",
                "labels": [],
                "items": [_picture(caption, chart, result.verdict.value)],
            }
        )
    return groups


def _list_sections(result: AuditResult) -> list[tuple[Section, list[str]]]:
    steps = list_next_steps(result)
    parts: list[tuple[Section | None, list[str]]] = [
        (Section(title=f"Next: {step.title}", lines=(step.text,)), [step.command or ""])
        for step in steps
    ]
    questions, _ = build_questions_section(result, 60)
    sections: list[Section | None] = [
        build_certificates_section(result),
        build_gaps_section(result, 2 * MOST_CELLS),
        build_curve_section(result, MOST_CELLS),
        _build_groups(result),
        build_audited_section(result),
        questions,
        build_place_section(result.localisation, LONGEST_NOTE),
        build_measures_section(result),
        build_power_section(result.power),
        build_copies_section(result),
        build_notes_section(result, LONGEST_NOTE),
    ]
    capsule = result.capsule
    facts = [
        ("Created", capsule.created),
        ("Seed", f"{capsule.seed}; {capsule.copies:,} copies"),
        ("Audited columns", f"SHA-256 {capsule.table_sha256}"),
        *(
            (source.path or source.kind, f"SHA-256 {source.sha256}")
            for source in (*([capsule.model] if capsule.model else []), *capsule.data)
        ),
    ]
    repeat = build_facts_section("How to repeat it", facts)
    parts += [(section, []) for section in sections]
    parts.append((repeat, [capsule.command or "", capsule.verify or ""]))
    return [(part, commands) for part, commands in parts if part is not None]


def _build_groups(result: AuditResult) -> Section | None:
    if result.cells is None:
        return None
    cells, left = select_cells(result.cells, result.gaps, MOST_CELLS)
    section = build_groups_section(result.cells, cells, left=left, elsewhere="see the JSON record")
    return replace(section, title="Groups")


def _plain(part: tuple[Section, list[str]]) -> dict[str, Any]:
    section, commands = part
    return {
        "title": section.title,
        "head": section.head,
        "rows": [list(map(str, row)) for row in section.rows],
        "right": sorted(section.right),
        "lines": list(section.lines),
        "bullets": section.bullets,
        "commands": [command for command in commands if command],
    }


def _picture(caption: str, svg: str, tone: str, alt: str = "") -> dict[str, str]:
    """A chart of the page as a file of its own: a width, and colors without variables."""
    found = re.search(r'height="([\d.]+)"', svg)
    height = 200.0 if found is None else float(found[1])
    alone = svg.replace('width="100%"', f'width="{_WIDTH}" xmlns="http://www.w3.org/2000/svg"', 1)
    start = alone.index(">") + 1
    style = f"<style>{_style(tone)}</style>"
    alone = (
        alone[:start].replace("<svg", f'<svg viewBox="0 0 {_WIDTH} {math.ceil(height)}"', 1)
        + style
        + alone[start:]
    )
    return {"caption": caption, "alt": alt or caption, "svg": _unstretched(alone)}


def _unstretched(svg: str) -> str:
    """Curves that a page stretches in width, at their full width: strokes keep their shape."""
    factor = _WIDTH / 100

    def widen(match: re.Match[str]) -> str:
        pairs = (pair.split(",") for pair in match[1].split())
        return f'points="{" ".join(f"{float(x) * factor:.2f},{y}" for x, y in pairs)}"'

    return re.sub(
        r'points="([^"]*)"', widen, svg.replace('viewBox="0 0 100 ', f'viewBox="0 0 {_WIDTH} ')
    )


@cache
def _style(tone: str) -> str:
    """The rules of the page that charts use, with the colors of paper."""
    text = files("fairaudit_reports.html").joinpath("page.css").read_text(encoding="utf-8")
    root = text[text.index(":root") : text.index("}")]
    colors = dict(re.findall(r"--([\w-]+): (#\w+);", root))
    colors |= {"verdict": _COLORS[tone]}
    chart = text[text.index("/* Charts */") : text.index("footer {")]
    rules = re.sub(r"var\(--([\w-]+)\)", lambda m: colors.get(m[1], "#000000"), chart)
    kept = re.findall(r"^(\.[\w-]+(?: [.\w-]+)? \{[^}]*\})", rules, re.MULTILINE)
    words = ".chart text { font-family: 'Libertinus Serif'; }"
    wanted = [rule for rule in kept if re.search(r"fill|stroke|font", rule)]
    return " ".join([*wanted, words]).replace("0.8125rem", "12px").replace("0.75rem", "11px")
