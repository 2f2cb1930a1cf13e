"""A badge for a README: the verdict, and "certified" only where equivalence is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit.auditing.findings import Verdict
from fairaudit_reports.html.markup import Markup, tag

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult

__all__ = ["describe_verdict", "render"]

_COLORS = {
    Verdict.EQUIVALENT: "#1d6b34",
    Verdict.NO_VIOLATION: "#17596a",
    Verdict.INCONCLUSIVE: "#744c00",
    Verdict.VIOLATION: "#9f1f1b",
}


def describe_verdict(result: AuditResult) -> str:
    """``certified deo ≤ 0.05`` where it is; else the verdict."""
    if result.verdict is not Verdict.EQUIVALENT:
        return result.verdict.value
    limits = ", ".join(
        f"{certificate.measure} ≤ {certificate.limit:g}" for certificate in result.certificates
    )
    return f"certified {limits}"


def render(result: AuditResult) -> str:
    """One SVG picture without outside requests."""
    left, right = "equalized odds", describe_verdict(result)
    first, second = (14 + round(6.6 * len(text)) for text in (left, right))
    inside = [
        tag("title", f"{left}: {right}"),
        tag("rect", width=first + second, height=20, rx=3, fill="#3b434c"),
        tag("rect", x=first, width=second, height=20, rx=3, fill=_COLORS[result.verdict]),
        _text(left, first / 2),
        _text(right, first + second / 2),
    ]
    picture = tag(
        "svg",
        *inside,
        xmlns="http://www.w3.org/2000/svg",
        width=first + second,
        height=20,
        role="img",
        aria_label=f"{left}: {right}",
        font_family="Verdana,DejaVu Sans,sans-serif",
        font_size=11,
    )
    return picture + "\n"


def _text(text: str, x: float) -> Markup:
    return tag("text", text, x=x, y=14, text_anchor="middle", fill="#fff")
