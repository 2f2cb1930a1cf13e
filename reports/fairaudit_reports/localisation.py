"""Where a violation sits, as sentences and as HTML with curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairaudit_reports import html_parts as h
from fairaudit_reports.markup import Markup, join, tag
from fairaudit_reports.svg import Scale, number

if TYPE_CHECKING:
    from fairaudit.evidence.localization.claims import Claim, Curve, Localisation

__all__ = ["place_lines", "place_part", "shown_curves"]

MOST_CURVES = 12
_TOP, _BASE = 26.0, 176.0


def place_lines(place: Localisation) -> tuple[str, ...]:
    """What was found, then what was not, then how."""
    found = [one.text for one in place.found]
    others = [
        one.text if one.family == "subgroup" or one.p_value is None else _short(one)
        for one in place.claims
        if not one.significant
    ]
    told = [f"Not shown to differ: {'; '.join(one.rstrip('.') for one in others)}."]
    return (*found, *(told if others else []), *place.notes)


def _short(claim: Claim) -> str:
    """A question without an answer in a few words."""
    if claim.family == "attribute":
        return f"{claim.name} beyond the others"
    return f"the mean over {claim.name}" + (f" ({claim.outcome})" if claim.outcome else "")


def _ordered(place: Localisation) -> list[Claim]:
    return sorted(place.claims, key=lambda one: not one.significant)


def shown_curves(place: Localisation) -> list[Curve]:
    """Curves with something to see: those of findings, or of all rows where there is none."""
    found = {
        (one.attributes, one.outcome)
        for one in place.claims
        if one.family == "curve" and one.significant
    }
    if not found:
        return [one for one in place.curves if one.group is None]
    return [one for one in place.curves if (_attributes(one, found), one.outcome) in found]


def _attributes(curve: Curve, found: set[tuple[tuple[str, ...], str | None]]) -> tuple[str, ...]:
    """The attributes of the claims that this curve belongs to."""
    if curve.group is None:
        return (curve.attribute,)
    for attributes, _ in found:
        by = attributes[1:]
        if attributes[0] == curve.attribute and by and curve.group.startswith(f"{by[0]} = "):
            return attributes
    return ()


def place_part(place: Localisation | None) -> Markup | None:
    """A part of the section about where."""
    if place is None:
        return None
    found = [one for one in _ordered(place) if one.significant]
    others = [one for one in _ordered(place) if not one.significant]
    curves = shown_curves(place)
    charts = (
        tag(
            "div",
            join(map(_figure, curves[:MOST_CURVES])),
            class_="charts",
            style="display:grid;gap:1rem 2rem;grid-template-columns:"
            "repeat(auto-fill,minmax(min(100%,22rem),1fr))",
        )
        if curves
        else None
    )
    left = len(curves) - MOST_CURVES
    return join(
        [
            tag("h3", "Where it sits"),
            _list(found) if found else None,
            tag("h4", "Not shown to differ") if others else None,
            _list(others, "name quiet") if others else None,
            charts,
            h.paragraph(f"{h.several(left, 'more curve')}: see the JSON report.")
            if left > 0
            else None,
            *(h.paragraph(note, class_="quiet") for note in place.notes),
        ]
    )


def _list(claims: Sequence[Claim], class_: str = "name") -> Markup:
    return tag("ul", *(tag("li", one.text) for one in claims), class_=class_)


def _figure(curve: Curve) -> Markup:
    title = ", ".join(one for one in (curve.outcome, curve.group) if one) or "All rows"
    low, high = min(0.0, *curve.low), max(0.0, *curve.high)
    across = Scale(curve.x[0], curve.x[-1], 12.0, 98.0)
    upwards = Scale(low, high, _BASE, _TOP) if high > low else Scale(-1, 1, _BASE, _TOP)
    marks = [tag("text", "difference to the mean", x="0%", y=12, class_="tick")]
    for tick in upwards.ticks(4):
        y = upwards(tick)
        marks.append(tag("line", x1="12%", x2="98%", y1=y, y2=y, class_="grid"))
        marks.append(tag("text", number(tick), x="11%", y=y + 4, text_anchor="end", class_="tick"))
    zero = upwards(0.0)
    marks.append(tag("line", x1="12%", x2="98%", y1=zero, y2=zero, class_="axis"))
    for tick in across.ticks(5):
        marks.append(
            tag(
                "text",
                number(tick),
                x=f"{across(tick):.2f}%",
                y=_BASE + 18,
                text_anchor="middle",
                class_="tick",
            )
        )
    band = [
        *zip(curve.x, curve.high, strict=True),
        *reversed([*zip(curve.x, curve.low, strict=True)]),
    ]
    line = zip(curve.x, curve.value, strict=True)
    marks.append(
        tag(  # stretched in width only: text beside it keeps its shape
            "svg",
            tag("polygon", points=_points(band, across, upwards), class_="bar", fill_opacity=0.45),
            tag(
                "polyline",
                points=_points(line, across, upwards),
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
    )
    told = (
        f"From {number(curve.x[0])} to {number(curve.x[-1])}: "
        f"{', '.join(number(v, 2) for v in curve.value[::10])}."
    )
    chart = tag(
        "svg",
        tag("title", f"Mean over {curve.attribute}: {title}"),
        tag("desc", told),
        join(marks),
        class_="chart",
        role="img",
        width="100%",
        height=_BASE + 24,
    )
    caption = f"{title}: over {curve.attribute}, with the simultaneous band"
    return tag("figure", chart, tag("figcaption", caption), style="margin:0")


def _points(places, across: Scale, upwards: Scale) -> str:  # type: ignore[no-untyped-def]
    return " ".join(f"{across(x):.2f},{upwards(y):.1f}" for x, y in places)
