"""Parts of an audit as tidy tables: one row per thing that is said, one column per fact of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


__all__ = ["FRAMES", "make_frame", "pick"]

Records = Iterator[dict[str, Any]]


def make_frame(result: Any, what: str) -> pd.DataFrame:
    """The part of this name, with all of its columns where it has no rows."""
    import pandas as pd

    columns, records = pick(FRAMES, what, "table")
    shared = _attribute_columns(result) if what in _BY_GROUP else []
    return pd.DataFrame.from_records(list(records(result)), columns=[*shared, *columns])


def pick(known: dict[str, Any], what: Any, kind: str) -> Any:
    """The entry of this name; a name that is unknown is answered with those that are there."""
    if isinstance(what, str) and what in known:
        return known[what]
    near = get_close_matches(str(what), known, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"Use one of: {', '.join(known)}."
    raise InputError(f"An audit has no {kind} {what!r}. {hint}", argument="what")


def _attribute_columns(result: Any) -> list[str]:
    """Attributes that groups are made of, in columns of their own."""
    table = result.cells or result.gaps
    return [] if table is None else list(table.attributes)


def _name_group(attributes: Sequence[str], levels: Sequence[str]) -> dict[str, Any]:
    pairs = list(zip(attributes, levels, strict=True))
    return {**dict(pairs), "group": ", ".join(f"{name} = {level}" for name, level in pairs)}


def _findings(result: Any) -> Records:
    for finding in result.findings:
        record = asdict(finding)
        record["attributes"] = ", ".join(finding.attributes)
        record["p_low"], record["p_high"] = finding.p_interval
        yield record


def _measures(result: Any) -> Records:
    for measure in result.measures:
        yield {**asdict(measure), "attributes": ", ".join(measure.attributes)}


def _groups(result: Any) -> Records:
    table = result.cells
    if table is None:
        return
    for group in table.cells:
        shared = _name_group(table.attributes, group.levels)
        shared |= {"rows": group.rows, "people": group.people, "masked": group.masked}
        for column, estimate in zip(table.columns, group.estimates, strict=False):
            of = {"of_rows": estimate.rows, "of_people": estimate.people}
            limits = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
            yield {**shared, "measure": column, **limits, **of}
        if not group.estimates:
            yield shared


def _gaps(result: Any) -> Records:
    table = result.gaps
    if table is None:
        return
    for gap in table.gaps:
        limits = (gap.low, gap.high)
        yield {
            **_name_group(table.attributes, gap.levels),
            **asdict(gap),
            "beyond_zero": None not in limits and not (gap.low or 0) <= 0 <= (gap.high or 0),
            "confidence": table.confidence,
        }


def _gaps_in_ranges(result: Any) -> Records:
    table = result.gaps
    if table is None:
        return
    for gap in table.curve:
        yield {**_name_group(table.attributes, gap.levels), **asdict(gap)}


def _claims(result: Any) -> Records:
    for claim in () if result.localisation is None else result.localisation.claims:
        yield {**asdict(claim), "attributes": ", ".join(claim.attributes)}


def _curves(result: Any) -> Records:
    place, portrait = result.localisation, result.portrait
    curves = () if place is None else place.curves
    for curve in curves or (() if portrait is None else portrait.curves):
        shared = {"attribute": curve.attribute, "group": curve.group, "outcome": curve.outcome}
        for x, value, low, high in zip(curve.x, curve.value, curve.low, curve.high, strict=True):
            yield {**shared, "x": x, "value": value, "low": low, "high": high}


def _power(result: Any) -> Records:
    if result.power is None:
        return
    for group in result.power.detectable:
        yield {**asdict(group), "power": result.power.power}


def _scores(result: Any) -> Records:
    portrait = result.portrait
    for bins in () if portrait is None else portrait.scores:
        edges = list(pairwise(bins.edges))
        for level, by_outcome in zip(bins.levels, bins.counts, strict=True):
            for outcome, counts in zip(bins.outcomes, by_outcome, strict=True):
                shared = {"attribute": bins.attribute, "level": level, "outcome": outcome}
                for (start, stop), rows in zip(edges, counts, strict=True):
                    yield {**shared, "start": start, "stop": stop, "rows": rows}


def _predictions(result: Any) -> Records:
    portrait = result.portrait
    for bins in () if portrait is None else portrait.predictions:
        columns = zip(bins.levels, bins.rows, bins.mean, bins.deviation, strict=True)
        for level, *values in columns:
            shared = {"attribute": bins.attribute, "level": level}
            for at, rows, mean, deviation in zip(bins.outcome, *values, strict=True):
                yield {**shared, "outcome": at, "rows": rows, "mean": mean, "deviation": deviation}


def _certificates(result: Any) -> Records:
    for certificate in result.certificates:
        yield {**asdict(certificate), "holds": certificate.holds}


def _statements(result: Any) -> Records:
    for told in result.statements:
        record = {"kind": told.kind.value, "attributes": ", ".join(told.attributes)}
        record |= {"quantity": told.quantity, "value": told.value, "people": told.people}
        if told.contrast is not None:
            record |= asdict(told.contrast) | {"attributes": record["attributes"]}
            for name, levels in (("group", told.contrast.levels), ("others", told.contrast.others)):
                named = None if levels is None else _name_group(told.contrast.attributes, levels)
                record[name] = None if named is None else named["group"]
        yield {**record, "confidence": told.confidence}


def _null(result: Any) -> Records:
    for number, value in enumerate(result.null):
        yield {"copy": number, "statistic": value}


_LIMITS = ("value", "low", "high")
_BY_GROUP = ("groups", "gaps", "ranges")
#: Name → its columns (after those of the attributes, where it is about groups), and its rows.
FRAMES: dict[str, tuple[tuple[str, ...], Callable[[Any], Records]]] = {
    "statements": (
        (
            *("kind", "attributes", "group", "others", "outcome", "quantity", "predicted"),
            *("own", "other", *_LIMITS, "people", "confidence"),
        ),
        _statements,
    ),
    "findings": (
        (
            *("family", "name", "attributes", "outcome", "rows", "statistic", "value", "p_value"),
            *("p_low", "p_high", "p_adjusted", "significant", "kpc", "copies", "copies_by"),
            *("inconclusive", "seconds", "kpc_low", "kpc_high", "kpc_raw"),
        ),
        _findings,
    ),
    "measures": (("key", "name", *_LIMITS, "raw", "attributes", "note"), _measures),
    "groups": (
        (*("group", "rows", "people", "masked", "measure", *_LIMITS, "of_rows", "of_people"),),
        _groups,
    ),
    "gaps": (("group", "rate", *_LIMITS, "beyond_zero", "size", "weight", "confidence"), _gaps),
    "ranges": (("group", "start", "stop", "people", *_LIMITS, "size"), _gaps_in_ranges),
    "claims": (
        (
            *("family", "name", "attributes", "outcome", "effect", "low", "high", "p_value"),
            *("p_adjusted", "significant", "rows", "people", "method", "text"),
        ),
        _claims,
    ),
    "curves": (("attribute", "group", "outcome", "x", *_LIMITS), _curves),
    "power": (
        ("group", "rows", "shift", "tpr_gap", "fpr_gap", "prediction_gap", "kpc", "power"),
        _power,
    ),
    "scores": (("attribute", "level", "outcome", "start", "stop", "rows"), _scores),
    "predictions": (("attribute", "level", "outcome", "rows", "mean", "deviation"), _predictions),
    "certificates": (
        ("measure", "limit", "value", "upper", "confidence", "holds", "note"),
        _certificates,
    ),
    "null": (("copy", "statistic"), _null),
}
