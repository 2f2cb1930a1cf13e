"""Reports as PDF: one page of summary with a place to sign, then pictures and tables."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fairaudit._words import quiet
from fairaudit.errors import MissingDependencyError
from fairaudit_reports.view.cover import SIGN_STATEMENT, current_cover
from fairaudit_reports.view.numerals import moment_text
from fairaudit_reports.view.repeat import wrap_command
from fairaudit_reports.view.sections import Section, build_facts_section

if TYPE_CHECKING:
    from fairaudit.data.facts import Source

__all__ = [
    "Document",
    "Part",
    "Pictures",
    "picture",
    "provenance_part",
    "source_facts",
    "typeset_document",
    "typeset_page",
]

#: A section, and commands below it.
Part = tuple[Section, list[str]]
#: Title, labels of the series, pictures.
Pictures = dict[str, Any]
_COLORS = {
    "violation": "#9f1f1b",
    "no violation found": "#17596a",
    "inconclusive": "#744c00",
    "equivalent within tolerance": "#1d6b34",
}
_COLUMNS = 94  # of a command
_WIDTH = 380  # of a picture, in units of its text


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a PDF says.

    Attributes
    ----------
    title : str
        Where people gave none.
    kicker, verdict : str
        The answer, and what it answers.
    tone : str
        The verdict of an audit that it looks like.
    sentences : sequence of str
        In the words of people.
    because, limit : str
        The reason, and what the result cannot say.
    facts : sequence of pairs
    beside : sequence of pictures
        On the first page.
    pictures : sequence of groups of pictures
    parts : sequence of sections with commands
    version : str
    created : str or None
        When the result was made; None: it does not say, and nor does the PDF.
    """

    title: str
    kicker: str
    verdict: str
    tone: str
    sentences: Sequence[str]
    because: str
    limit: str
    facts: Sequence[tuple[str, str]]
    beside: Sequence[dict[str, str]] = ()
    pictures: Sequence[Pictures] = ()
    parts: Sequence[Part]
    version: str
    created: str | None


def typeset_document(document: Document) -> bytes:
    """The bytes of a tagged PDF, the same for the same document.

    By the fonts of the typesetter; by those of the machine where names need others, and without the
    promise of PDF/UA where no font has their letters.
    """
    _import_typst()
    from typst import TypstError

    for own_fonts, standard in ((True, "ua-1"), (False, "ua-1"), (False, "1.7")):
        try:
            made = _compile(document, own_fonts, format="pdf", pdf_standards=standard)
        except TypstError:
            if standard == "1.7":
                raise
            continue
        return bytes(made)
    raise AssertionError  # the last one returns or raises


def typeset_page(document: Document) -> bytes:
    """The first page as a picture."""
    pages = _compile(document, True, format="png", ppi=90)
    return bytes(pages[0] if isinstance(pages, list) else pages)


def _import_typst() -> Any:
    try:
        import typst
    except ImportError:
        raise MissingDependencyError(
            "PDF reports need the package typst: pip install typst (the extra pdf has it)."
        ) from None
    return typst


def _compile(document: Document, own_fonts: bool, **how: Any) -> Any:
    data = json.dumps(_quieted(_build_data(document)), ensure_ascii=False)
    template = files("fairaudit_reports.pdf").joinpath("report.typ").read_bytes()
    return _import_typst().compile(
        template,
        sys_inputs={"data": data},
        ignore_system_fonts=own_fonts,
        timestamp=int(_moment(document.created).timestamp()),
        **how,
    )


def _quieted(value: Any) -> Any:
    """Names may hold what no font shows."""
    if isinstance(value, str):
        return "\n".join(map(quiet, value.split("\n")))
    if isinstance(value, dict):
        return {key: _quieted(item) for key, item in value.items()}
    return [_quieted(item) for item in value] if isinstance(value, (list, tuple)) else value


def _moment(created: str | None) -> datetime:
    try:
        return datetime.fromisoformat((created or "").replace("Z", "+00:00"))
    except ValueError:
        return datetime(1980, 1, 1, tzinfo=timezone.utc)


def _build_data(document: Document) -> dict[str, Any]:
    cover, moment = current_cover(), _moment(document.created)
    day = moment_text(document.created)[0] if document.created else ""
    about = [
        ("Model", " ".join(filter(None, [cover.model, cover.model_version]))),
        ("Purpose", cover.purpose or ""),
    ]
    sign = [
        ("Auditor", cover.auditor or " "),
        ("Date of the report", day or " "),
        ("Signature", " "),
        ("Signed on", " "),
        ("Next review", cover.next_review or " "),
    ]
    return {
        "title": cover.title or document.title,
        "authors": [cover.auditor] if cover.auditor else [],
        "date": [moment.year, moment.month, moment.day],
        "color": _COLORS[document.tone],
        "foot": ", ".join(filter(None, [f"fairaudit {document.version}", day])),
        "cover": cover.title,
        "about": [pair for pair in about if pair[1]],
        "kicker": document.kicker,
        "verdict": document.verdict[:1].upper() + document.verdict[1:],
        "sentences": list(document.sentences),
        "because": document.because,
        "limit": document.limit,
        "statement": SIGN_STATEMENT,
        "beside": list(document.beside),
        "facts": list(document.facts),
        "sign": sign if cover.is_signed else [],
        "pictures": list(document.pictures),
        "sections": [_plain(part) for part in document.parts],
    }


def source_facts(sources: Iterable[tuple[str, Source]]) -> list[tuple[str, str]]:
    """Files and their hashes."""
    return [
        (
            name,
            f"{source.path or source.kind}, "
            + (f"SHA-256 {source.sha256}" if source.sha256 else "no hash"),
        )
        for name, source in sources
    ]


def provenance_part(version: str, sources: Sequence[tuple[str, Source]] = ()) -> list[Part]:
    """The command and the data, of results that do not keep them; `sources` of those that do."""
    cover = current_cover()
    sources = sources or [("Data", source) for source in cover.data]
    if cover.command is None and not sources:
        return []
    facts = [("Version", f"fairaudit {version}"), *source_facts(sources)]
    return [(build_facts_section("How to repeat it", facts), [cover.command or ""])]


def _plain(part: Part) -> dict[str, Any]:
    section, commands = part
    return {
        "title": section.title,
        "head": section.head,
        "rows": [list(map(str, row)) for row in section.rows],
        "right": sorted(section.right),
        "lines": list(section.lines),
        "bullets": section.bullets,
        "commands": [_fold(command) for command in commands if command],
    }


def _fold(command: str) -> str:
    """A line that a shell reads in lines that fit: else it is broken within options."""
    return command if "\n" in command else "\n".join(wrap_command(command, _COLUMNS))


def picture(caption: str, svg: str, tone: str, *, alt: str = "", style: str = "") -> dict[str, str]:
    """A chart of the page as a file of its own: a width, and colors without variables."""
    found = re.search(r'height="([\d.]+)"', svg)
    height = 200.0 if found is None else float(found[1])
    alone = svg.replace('width="100%"', f'width="{_WIDTH}" xmlns="http://www.w3.org/2000/svg"', 1)
    start = alone.index(">") + 1
    rules = f"<style>{_style(tone, style)}</style>"
    alone = (
        alone[:start].replace("<svg", f'<svg viewBox="0 0 {_WIDTH} {math.ceil(height)}"', 1)
        + rules
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
def _style(tone: str, more: str) -> str:
    """The rules of the page that charts use, and `more`, with the colors of paper."""
    text = files("fairaudit_reports.html").joinpath("page.css").read_text(encoding="utf-8")
    root = text[text.index(":root") : text.index("}")]
    colors = dict(re.findall(r"--([\w-]+): (#\w+);", root))
    colors |= {"verdict": _COLORS[tone]}
    chart = text[text.index("/* Charts */") : text.index("footer {")] + more
    rules = re.sub(r"var\(--([\w-]+)\)", lambda m: colors.get(m[1], "#000000"), chart)
    kept = re.findall(r"^(\.[\w-]+(?: [.\w-]+)? \{[^}]*\})", rules, re.MULTILINE)
    words = ".chart text { font-family: 'Libertinus Serif'; }"
    wanted = [rule for rule in kept if re.search(r"fill|stroke|font", rule)]
    return " ".join([*wanted, words]).replace("0.8125rem", "12px").replace("0.75rem", "11px")
