"""Where a violation sits: claims as lists, curves with their bands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fairaudit_reports.html import parts as h
from fairaudit_reports.html.chart_parts import Scale, chart, level_line, word
from fairaudit_reports.html.markup import Markup, join, tag
from fairaudit_reports.view.numerals import number
from fairaudit_reports.view.place_view import TITLE, select_curves, split_claims
from fairaudit_reports.view.wording import several

if TYPE_CHECKING:
    from fairaudit.evidence.localization.claims import Curve, Localization

__all__ = ["place_part"]

MOST_CURVES = 12
_TOP, _BASE = 26.0, 176.0
_SIDE_BY_SIDE = (
    "display:grid;gap:1rem 2rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,22rem),1fr))"
)


def place_part(place: Localization | None) -> Markup | None:
    """A part of the section about where."""
    if place is None:
        return None
    differences, others = ([claim.text for claim in claims] for claims in split_claims(place))
    curves = select_curves(place)
    shown = curves[:MOST_CURVES]
    figures = join(_figure(curve, *_find_scales(curve.attribute, shown)) for curve in shown)
    left = len(curves) - MOST_CURVES
    more = f"{several(left, 'more curve')}: see the JSON report."
    return join(
        [
            tag("h3", TITLE),
            h.bullets(differences, "name") if differences else None,
            tag("h4", "Not shown to differ") if others else None,
            h.bullets(others, "name quiet") if others else None,
            tag("div", figures, class_="charts", style=_SIDE_BY_SIDE) if curves else None,
            h.paragraph(more) if left > 0 else None,
            *(h.paragraph(note, class_="quiet") for note in place.notes),
        ]
    )


def _find_scales(attribute: str, curves: Iterable[Curve]) -> tuple[Scale, Scale]:
    """Across and upwards; all curves over a number have the same, so that they can be compared."""
    same = [curve for curve in curves if curve.attribute == attribute]
    first, last = min(curve.x[0] for curve in same), max(curve.x[-1] for curve in same)
    low = min(0.0, *(min(curve.low) for curve in same))
    high = max(0.0, *(max(curve.high) for curve in same))
    upwards = Scale(low, high, _BASE, _TOP) if high > low else Scale(-1, 1, _BASE, _TOP)
    return Scale(first, last, 12.0, 98.0), upwards


def _figure(curve: Curve, across: Scale, upwards: Scale) -> Markup:
    title = ", ".join(part for part in (curve.outcome, curve.group) if part) or "All rows"
    values = ", ".join(number(value, 2) for value in curve.value[::10])
    picture = chart(
        [*_axes(across, upwards), _band(curve, across, upwards)],
        _BASE + 24,
        title=f"Mean over {curve.attribute}: {title}",
        description=f"From {number(curve.x[0])} to {number(curve.x[-1])}: {values}.",
    )
    caption = f"{title}: over {curve.attribute}, with the simultaneous band"
    return tag("figure", picture, tag("figcaption", caption), style="margin:0")


def _axes(across: Scale, upwards: Scale) -> list[Markup]:
    marks = [tag("text", "difference from the mean", x="0%", y=12, class_="tick")]
    for tick in upwards.ticks(4):
        y = upwards(tick)
        marks.append(level_line("12%", "98%", y, class_="grid"))
        marks.append(word(number(tick), "11%", y + 4, anchor="end", class_="tick"))
    marks.append(level_line("12%", "98%", upwards(0.0), class_="axis"))
    for tick in across.ticks(5):
        x = f"{across(tick):.2f}%"
        marks.append(word(number(tick), x, _BASE + 18, anchor="middle", class_="tick"))
    return marks


def _band(curve: Curve, across: Scale, upwards: Scale) -> Markup:
    """The curve and its band; stretched in width only: text beside it keeps its shape."""

    def points(places: Iterable[tuple[float, float]]) -> str:
        return " ".join(f"{across(x):.2f},{upwards(y):.1f}" for x, y in places)

    lower = [*zip(curve.x, curve.low, strict=True)]
    band = [*zip(curve.x, curve.high, strict=True), *reversed(lower)]
    return tag(
        "svg",
        tag("polygon", points=points(band), class_="bar", fill_opacity=0.45),
        tag(
            "polyline",
            points=points(zip(curve.x, curve.value, strict=True)),
            class_="reach",
            fill="none",
            vector_effect="non-scaling-stroke",
        ),
        x=0,
        y=0,
        width="100%",
        height=_BASE + 1,
        viewBox=f"0 0 100 {_BASE + 1:g}",
        preserveAspectRatio="none",
        aria_hidden="true",
    )
