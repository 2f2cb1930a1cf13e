"""An audit in a few sentences, for places where a whole report is too long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult

__all__ = ["describe_briefly", "say_gaps", "say_places"]


def say_places(result: AuditResult) -> list[str]:
    """Where the violation sits: claims that hold, or the questions that are significant."""
    if result.localisation is not None and result.localisation.found:
        return [claim.text for claim in result.localisation.found]
    named = [finding.name for finding in result.findings[1:] if finding.significant]
    return [f"Significant by themselves: {', '.join(named)}."] if named else []


def say_gaps(result: AuditResult, most: int = 3) -> list[str]:
    """The largest gaps whose intervals, which all hold at once, leave 0 out."""
    gaps = result.to_frame("gaps").dropna(subset=["value"])
    clear = gaps[gaps["beyond_zero"].astype(bool)]
    order = clear["value"].abs().sort_values(ascending=False, kind="stable").index[:most]
    return [
        f"{gap.group}: {gap.rate} {abs(gap.value):.3g} {'higher' if gap.value > 0 else 'lower'} "
        f"than that of all others with the same outcome ({gap.low:+.3g} to {gap.high:+.3g})."
        for gap in clear.loc[order].itertuples()
    ]


def describe_briefly(result: AuditResult, most: int = 3) -> str:
    """Verdict, where and how much, in a few lines."""
    return "\n".join(
        [
            result.because,
            *_list("where", say_places(result), most),
            *_list("how much", say_gaps(result, most + 1), most),
        ]
    )


def _list(heading: str, sentences: Sequence[str], most: int) -> list[str]:
    if not sentences:
        return []
    more = [f"  … and {len(sentences) - most} more"] if len(sentences) > most else []
    return [f"{heading}:", *(f"  - {sentence}" for sentence in sentences[:most]), *more]
