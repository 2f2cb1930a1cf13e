"""What people put on a page: title and purpose, a place to sign, and a model card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairaudit_reports.html import parts as h
from fairaudit_reports.html.markup import Markup, tag
from fairaudit_reports.view.card_view import write_card
from fairaudit_reports.view.cover import SIGN_STATEMENT, current_cover
from fairaudit_reports.view.numerals import moment_text

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.data.facts import Source

__all__ = ["card_section", "cover_head", "provenance_section", "sign_section"]

_SIGN = {"sign": "To sign"}
_CARD = {"card": "For a model card"}


def cover_head() -> list[Markup]:
    """Title, model and purpose, where they were given; also of other pages."""
    cover = current_cover()
    facts = [
        ("Model", " ".join(filter(None, [cover.model, cover.model_version])), ""),
        ("Purpose", cover.purpose or "", ""),
        ("Auditor", cover.auditor or "", ""),
        ("Next review", cover.next_review or "", ""),
    ]
    known = [fact for fact in facts if fact[1]]
    parts = []
    if cover.title:
        parts.append(h.paragraph(cover.title, class_="title name"))
    if known:
        parts.append(h.facts(known))
    return [tag("div", *parts, class_="cover")] if parts else []


def sign_section(created: str) -> Markup | None:
    """Lines for a signature, where somebody answers for the report."""
    cover = current_cover()
    if not cover.is_signed:
        return None
    day, _ = moment_text(created)
    lines = [
        ("Auditor", cover.auditor or ""),
        ("Date of the report", day),
        ("Signature", ""),
        ("Signed on", ""),
        ("Next review", cover.next_review or ""),
    ]
    rows = (tag("div", tag("dt", name), tag("dd", text or None)) for name, text in lines)
    return h.section(
        "sign", _SIGN, [h.paragraph(SIGN_STATEMENT), tag("dl", *rows, class_="signature")]
    )


def provenance_section(version: str, sources: Sequence[tuple[str, Source]] = ()) -> Markup | None:
    """The command and the data, of results that do not keep them; `sources` of those that do."""
    cover = current_cover()
    sources = sources or [("Data", source) for source in cover.data]
    if cover.command is None and not sources:
        return None
    command = None if cover.command is None else h.command_block(cover.command)
    facts = [("Version", f"fairaudit {version}")]
    facts += [(name, h.source_text(source)) for name, source in sources]
    return h.section("repeat", {"repeat": "How to repeat it"}, [command, h.listing(facts)])


def card_section(result: AuditResult) -> Markup | None:
    """A part of a model card, where the model has a name."""
    if current_cover().model is None:
        return None
    lead = (
        "The part of a model card of Hugging Face about this audit (for a Card of skops: "
        "fairaudit_reports.markdown.model_card.add_to_card):"
    )
    return h.section("card", _CARD, [h.paragraph(lead), h.code_block(write_card(result))])
