"""The trade-off of a remedy: the curve, drawn and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairaudit_reports.html import parts as h
from fairaudit_reports.html.markup import Markup, tag
from fairaudit_reports.html.plane_chart import Point, plane
from fairaudit_reports.view.numerals import loss_text, number, p_decimal, typeset
from fairaudit_reports.view.remedy_view import Model, describe_rows, list_gap_sizes, list_models
from fairaudit_reports.view.sections import REMEDY
from fairaudit_reports.view.wording import capitalize, several

if TYPE_CHECKING:
    from fairaudit.remedy.remedy_result import RemedyResult

__all__ = ["curve_section"]


def curve_section(result: RemedyResult) -> Markup:
    models = list_models(result)
    lead = (
        f"Every model was trained on {result.rows['train']:,} rows and measured on "
        f"{describe_rows(result)}. Chosen: {result.because}."
    )
    return h.section(
        "curve",
        REMEDY,
        [
            h.paragraph(lead, class_="lead name"),
            _figure(result, models),
            h.paragraph(
                "The dashed line is what anyone can have: give a random share of people the plain "
                "model’s answer and the rest a constant. It lowers the dependence by throwing "
                "information away. A repair is worth its price only below that line. A collapsed "
                "model gives nearly everyone the same answer, or its ranking is lost."
            ),
            _table(result, models),
        ],
    )


def _figure(result: RemedyResult, models: Sequence[Model]) -> Markup:
    symbol = result.symbol
    share = result.loss_name == "misclassified"
    unit, y_name = (100, "misclassified, %") if share else (1, result.loss_name)
    points = [
        Point(f"{symbol} {model.mu:g}", model.kpc, unit * model.loss, model.chosen)
        for model in models
    ]
    mixed = [
        Point("", record["kpc"], unit * record["loss"])
        for record in result.mixture.to_dict("records")
    ]
    keys = [
        ("k-path", f"models, by {symbol}"),
        ("k-chosen", "the chosen one"),
        ("k-dash", "plain training mixed with a constant"),
    ]
    chart = plane(
        points,
        mixed,
        x_name="KPC →",
        y_name=f"↑ {y_name}",
        title=f"Loss against KPC on {describe_rows(result)}",
        description=_describe_curve(result, models),
    )
    caption = (
        "Lower is more accurate. KPC is 0 under equalized odds; estimates from few rows can fall "
        "below."
    )
    return tag("figure", h.figure_key(keys), chart, tag("figcaption", caption), class_="curve")


def _describe_curve(result: RemedyResult, models: Sequence[Model]) -> str:
    symbol = result.symbol
    ends = [
        f"{symbol} = {model.mu:g} with KPC {typeset(model.kpc)} and loss {number(model.loss)}"
        for model in (models[0], models[-1])
    ]
    chosen = next(model for model in models if model.chosen)
    return (
        f"{several(len(models), 'model')}, from {ends[0]} to {ends[1]}. Chosen: {symbol} = "
        f"{chosen.mu:g}. The table has the numbers."
    )


def _table(result: RemedyResult, models: Sequence[Model]) -> Markup:
    gaps = list_gap_sizes(models)
    size = None if gaps is None else capitalize(gaps[0])
    columns = [
        ("Model", None),
        (capitalize(result.loss_name), "n"),
        ("KPC", "n"),
        *([] if size is None else [(size, "n")]),
        ("p", "n"),
        ("p, training rows", "n"),
        ("Choice", None),
    ]
    cells = [
        None if gaps is None or size is None else h.cell(text, size, "n")
        for text in ([""] * len(models) if gaps is None else gaps[1])
    ]
    rows = (_model(model, result, cell) for model, cell in zip(models, cells, strict=True))
    return h.table(f"The models on {describe_rows(result)}", columns, [h.body(rows)])


def _model(model: Model, result: RemedyResult, size: Markup | None) -> Markup:
    cells = [
        h.row_head(f"{result.symbol} = {model.mu:g}"),
        h.cell(loss_text(model.loss, result.loss_name), capitalize(result.loss_name), "n"),
        h.cell(typeset(model.kpc), "KPC", "n"),
        *([] if size is None else [size]),
        h.cell(p_decimal(model.p_value), "p", "n"),
        h.cell(p_decimal(model.p_train), "p, training rows", "n"),
        h.cell(_fate(model), "Choice"),
    ]
    return h.row(*cells)


def _fate(model: Model) -> str | None:
    if not model.chosen:
        return model.fate or None
    return tag("span", tag("span", class_="mark", aria_hidden="true"), model.fate, class_="good")
