"""What is said of the place of a violation: claims in words, and the curves worth drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.view.sections import Section
from fairaudit_reports.view.wording import clean

if TYPE_CHECKING:
    from fairaudit.evidence.localization.claims import Claim, Curve, Localization

__all__ = ["TITLE", "build_place_section", "select_curves", "split_claims"]

TITLE = "Where it sits"


def build_place_section(place: Localization | None, most: int) -> Section | None:
    """What was found, then what was not, then how; lines of at most so many characters."""
    if place is None:
        return None
    others = [_describe_open_claim(claim) for claim in place.claims if not claim.significant]
    clear = [f"Not shown to differ: {'; '.join(other.rstrip('.') for other in others)}."]
    lines = [*(claim.text for claim in place.found), *(clear if others else []), *place.notes]
    return Section(title=TITLE, lines=tuple(clean(line, most) for line in lines), bullets=True)


def _describe_open_claim(claim: Claim) -> str:
    """A question without an answer; in a few words where they are enough."""
    if claim.family == "subgroup" or claim.p_value is None:
        return claim.text
    if claim.family == "attribute":
        return f"{claim.name} beyond the others"
    return f"the mean over {claim.name}" + (f" ({claim.outcome})" if claim.outcome else "")


def split_claims(place: Localization) -> tuple[list[Claim], list[Claim]]:
    """The claims that hold, and the others."""
    return list(place.found), [claim for claim in place.claims if not claim.significant]


def select_curves(place: Localization) -> list[Curve]:
    """Curves with something to see: those of findings, or of all rows where there is none."""
    claims = [claim for claim in place.found if claim.family == "curve"]
    if not claims:
        return [curve for curve in place.curves if curve.group is None]
    return [curve for curve in place.curves if any(map(curve.belongs_to, claims))]
