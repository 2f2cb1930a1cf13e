"""Pictures of scores and predictions by group, given the outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.html import parts as h
from fairaudit_reports.html.line_chart import Line, legend, line_chart, span_of
from fairaudit_reports.html.markup import Markup, join, tag
from fairaudit_reports.view.cover import level_label, name_label
from fairaudit_reports.view.curves_view import (
    calibrate,
    distribute,
    label_level,
    order_attributes,
    predict,
    rates_over_thresholds,
)
from fairaudit_reports.view.sections import AUDIT

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.evidence.localization.claims import Curve
    from fairaudit.evidence.portrait.binned import PredictionBins, ScoreBins

__all__ = ["list_score_pictures", "scores_section"]

MOST_ATTRIBUTES = 4
MOST_CLASSES = 4


#: A title, the labels of a legend, and pictures with their captions.
Pictures = tuple[str, list[str], list[tuple[str, Markup]]]


def scores_section(result: AuditResult) -> Markup | None:
    """None where the record holds nothing to draw."""
    inside: list[Markup | None] = []
    before = ""
    for title, labels, pictures in list_score_pictures(result):
        inside += [tag("h3", title) if title != before else None, _charts(labels, pictures)]
        before = title
    if not inside:
        return None
    lead = (
        "Under equalized odds, people of all groups with the same outcome have the same "
        "distribution of scores: the lines of a picture lie on one another, up to chance."
    )
    return h.section("scores", AUDIT, [h.paragraph(lead, class_="lead"), *inside])


def list_score_pictures(result: AuditResult) -> list[Pictures]:
    """What there is to draw, attribute by attribute."""
    portrait, found = result.portrait, list[Pictures]()
    if portrait is None:
        return found
    outcome = result.table.outcome.name
    for name in order_attributes(result)[:MOST_ATTRIBUTES]:
        title = f"By {name_label(name)}"
        curves = [curve for curve in portrait.curves if curve.attribute == name]
        if curves:
            found.append((title, [], _effect_curves(curves, outcome, _name_mean(result))))
        for bins in portrait.scores:
            if bins.attribute == name and len(bins.levels) > 1:
                found.append((title, *_of_scores(bins, outcome)))
        for ranges in portrait.predictions:
            if ranges.attribute == name and len(ranges.levels) > 1:
                found.append((title, *_of_predictions(ranges, outcome)))
    return found


def _charts(labels: list[str], pictures: list[tuple[str, Markup]]) -> Markup:
    """Pictures that share a legend, side by side where there is room."""
    figures = (tag("figure", picture, tag("figcaption", caption)) for caption, picture in pictures)
    shown = legend(labels) if labels else None
    return join([shown, tag("div", *figures, class_="charts")])


def _of_scores(bins: ScoreBins, outcome: str) -> tuple[list[str], list[tuple[str, Markup]]]:
    labels = [label_level(bins.attribute, level) for level in bins.levels]
    places = range(len(bins.levels))
    span = bins.edges[0], bins.edges[-1]
    pictures = []
    for k, name in enumerate(bins.outcomes[:MOST_CLASSES]):
        curves = [distribute(bins, level, k) for level in places]
        lines = [Line(label=label, x=c.x, y=c.y) for label, c in zip(labels, curves, strict=True)]
        among = f"{name_label(outcome)} = {level_label(outcome, name)}"
        picture = line_chart(
            lines,
            across=span,
            upwards=span_of([y for line in lines for y in line.y], zero=True),
            title=f"Scores of people with {among}",
            about_y="share of the group",
            mark=bins.threshold,
        )
        pictures.append((f"Scores of people with {among}", picture))
    if bins.positive in bins.outcomes and len(bins.outcomes) == 2:
        pictures += _decisions(bins, labels, bins.outcomes.index(bins.positive), outcome)
    return labels, pictures


def _decisions(
    bins: ScoreBins, labels: list[str], positive: int, outcome: str
) -> list[tuple[str, Markup]]:
    """ROC, calibration, and both rates over thresholds."""
    places = range(len(bins.levels))
    whole = (0.0, 1.0)
    rates = {
        k: [rates_over_thresholds(bins, level, k) for level in places]
        for k in (positive, 1 - positive)
    }
    roc = [
        Line(label=label, x=false[::-1], y=list(true[::-1]))
        for label, true, false in zip(labels, rates[positive], rates[1 - positive], strict=True)
    ]
    pictures = [
        (
            "ROC: rates of all thresholds. Below, the share of false positives",
            line_chart(
                roc,
                across=whole,
                upwards=whole,
                title="ROC by group",
                about_y="true positive rate",
                diagonal=True,
            ),
        )
    ]
    span = bins.edges[0], bins.edges[-1]
    if span == whole:
        curves = [calibrate(bins, level, positive) for level in places]
        lines = [
            Line(label=label, x=c.x, y=c.y, low=c.low, high=c.high)
            for label, c in zip(labels, curves, strict=True)
        ]
        picture = line_chart(
            lines,
            across=whole,
            upwards=whole,
            title="Calibration by group",
            about_y=f"share with {level_label(outcome, bins.outcomes[positive])}",
            diagonal=True,
        )
        pictures.append(("Calibration: what became of people with a score (95 % bands)", picture))
    for k, name in ((positive, "true"), (1 - positive, "false")):
        lines = [
            Line(label=label, x=list(bins.edges), y=list(rate))
            for label, rate in zip(labels, rates[k], strict=True)
        ]
        picture = line_chart(
            lines,
            across=span,
            upwards=whole,
            title=f"{name} positive rate over thresholds",
            about_y=f"{name} positive rate",
            mark=bins.threshold,
        )
        caption = f"Threshold sweep: {name} positives, if scores from here on are positive"
        pictures.append((caption, picture))
    return pictures


def _of_predictions(
    bins: PredictionBins, outcome: str
) -> tuple[list[str], list[tuple[str, Markup]]]:
    labels = [label_level(bins.attribute, level) for level in bins.levels]
    curves = [predict(bins, level) for level in range(len(bins.levels))]
    lines = [
        Line(label=label, x=c.x, y=c.y, low=c.low, high=c.high)
        for label, c in zip(labels, curves, strict=True)
    ]
    ends = [end for line in lines for end in (*line.y, *line.low, *line.high)]
    picture = line_chart(
        lines,
        across=span_of(bins.outcome),
        upwards=span_of(ends),
        title=f"Predictions over {outcome} by group",
        about_y="mean prediction",
    )
    caption = f"Mean predictions over the true {name_label(outcome)}, with 95 % bands"
    return labels, [(caption, picture)]


def _name_mean(result: AuditResult) -> str:
    """What the curves over a number are means of; of labels, the share that is told elsewhere."""
    if not result.table.outcome.levels:
        return "mean prediction, less that of all"
    binned = result.portrait is not None and result.portrait.scores
    return "mean score, less that of all" if binned else "difference from the mean"


def _effect_curves(curves: list[Curve], outcome: str, mean: str) -> list[tuple[str, Markup]]:
    """The curves of one number on one scale, so that classes can be compared."""
    ends = [end for curve in curves for end in (*curve.low, *curve.high)]
    upwards = span_of(ends, zero=True)
    pictures = []
    for curve in curves:
        line = Line(label=curve.attribute, x=curve.x, y=curve.value, low=curve.low, high=curve.high)
        among = curve.outcome or f"the same {name_label(outcome)}"
        picture = line_chart(
            [line],
            across=span_of(curve.x),
            upwards=upwards,
            title=f"Scores over {curve.attribute}: {among}",
            about_y=mean,
        )
        caption = f"Over {name_label(curve.attribute)}, people with {among} (simultaneous band)"
        pictures.append((caption, picture))
    return pictures
