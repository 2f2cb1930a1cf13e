"""The trade-off of a remedy: the curve, drawn and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairaudit_reports.html import parts as h
from fairaudit_reports.html.markup import Markup, tag
from fairaudit_reports.html.plane_chart import Point, plane
from fairaudit_reports.view.numerals import number, typeset
from fairaudit_reports.view.remedy_view import (
    Model,
    build_curve_columns,
    describe_mixture,
    describe_models,
    describe_rows,
    list_models,
    name_model,
    select_models,
)
from fairaudit_reports.view.sections import REMEDY
from fairaudit_reports.view.wording import capitalize, several

if TYPE_CHECKING:
    from fairaudit.remedy.remedy_result import RemedyResult

__all__ = ["curve_section", "draw_curve"]


def curve_section(result: RemedyResult) -> Markup:
    models = list_models(result)
    shown = select_models(models)
    trained = (
        ""
        if result.goal and not result.rows["choice"]
        else (f"trained on {result.rows['train']:,} rows and ")
    )
    lead = f"Every model was {trained}measured on {describe_rows(result)}. "
    mixture = describe_mixture(result)
    return h.section(
        "curve",
        REMEDY,
        [
            h.paragraph(f"{lead}Chosen: {result.because}.", class_="lead name"),
            _figure(result, models),
            h.paragraph(
                "The dashed line is what anyone can have: give a random share of people the plain "
                "model’s answer and the rest a constant. It lowers the dependence by throwing "
                "information away. A repair is worth its price only below that line. A collapsed "
                "model gives nearly everyone the same answer, or its ranking is lost."
            ),
            h.paragraph(mixture) if mixture else None,
            _table(result, shown),
            *(h.paragraph(text, class_="quiet") for text in describe_models(models, shown)),
        ],
    )


def draw_curve(result: RemedyResult, models: Sequence[Model]) -> Markup:
    """Loss against KPC: the models by their parameter, and plain training mixed with a constant."""
    symbol = result.symbol
    share = result.loss_name == "misclassified"
    unit, y_name = (100, "misclassified, %") if share else (1, result.loss_name)
    searched = "strength" in result.curve
    points = [
        Point(_label(model, symbol, searched), model.kpc, unit * model.loss, model.chosen)
        for model in models
    ]
    path = [k for k, model in enumerate(models) if not (model.strength or model.needs)]
    path.sort(key=lambda k: models[k].mu)
    mixed = _draw_mixture(result.mixture.to_dict("records"), unit)
    return plane(
        points,
        mixed,
        x_name="KPC →",
        y_name=f"↑ {y_name}",
        title=f"Loss against KPC on {describe_rows(result)}",
        description=_describe_curve(result, models),
        joined=[points[k] for k in path] if searched else None,
    )


def _draw_mixture(records: list[dict[Any, Any]], unit: float) -> list[Point]:
    """More of a constant never adds to the dependence: what estimates add by chance is levelled.

    Neighbors that rise are pooled, so that the line does not fold back.
    """
    pools: list[tuple[float, int]] = []
    ordered = sorted(records, key=lambda record: record["loss"])
    for record in ordered:
        pools.append((record["kpc"], 1))
        while len(pools) > 1 and pools[-1][0] > pools[-2][0]:
            (right, n), (left, m) = pools.pop(), pools.pop()
            pools.append(((right * n + left * m) / (n + m), n + m))
    levels = [level for level, count in pools for _ in range(count)]
    return [
        Point("", level, unit * record["loss"])
        for level, record in zip(levels, ordered, strict=True)
    ]


def _figure(result: RemedyResult, models: Sequence[Model]) -> Markup:
    staged = any(model.strength or model.needs for model in models)
    keys = [
        ("k-path", f"models, by {result.symbol}"),
        *([("k-small", "with a last stage, or the attributes")] if staged else []),
        ("k-chosen", "the chosen one"),
        ("k-dash", "plain training mixed with a constant"),
    ]
    chart = draw_curve(result, models)
    caption = (
        "Lower is more accurate. KPC is 0 under equalized odds; estimates from few rows can fall "
        "below."
    )
    return tag("figure", h.figure_key(keys), chart, tag("figcaption", caption), class_="curve")


def _label(model: Model, symbol: str, searched: bool) -> str:
    """Of a search only the path by the parameter and the chosen one have names."""
    if model.chosen and searched:
        return name_model(model, symbol)
    return "" if model.strength or model.needs else f"{symbol} {model.mu:g}"


def _describe_curve(result: RemedyResult, models: Sequence[Model]) -> str:
    symbol = result.symbol
    losses = [model.loss for model in models]
    (chosen,) = (model for model in models if model.chosen)
    ends = [
        f"{symbol} = {model.mu:g} with KPC {typeset(model.kpc)} and loss {number(model.loss)}"
        for model in (models[0], chosen)
    ]
    return (
        f"{several(len(models), 'model')} with losses from {number(min(losses))} to "
        f"{number(max(losses))}. The first: {ends[0]}. Chosen: {ends[1]}. The table has the "
        "numbers."
    )


def _table(result: RemedyResult, models: Sequence[Model]) -> Markup:
    columns = build_curve_columns(result, models)
    names = [_heading(name, result) for name, _ in columns]
    heads = [("Model", None), *((name, "n") for name in names[1:-1]), ("Choice", None)]
    rows = (
        h.row(
            h.row_head(_row_name(columns[0][1][k], result)),
            *(
                h.cell(texts[k].replace("-", "−"), name, "n")
                for (_, texts), name in zip(columns[1:-1], names[1:-1], strict=True)
            ),
            h.cell(_fate(model), "Choice"),
        )
        for k, model in enumerate(models)
    )
    return h.table(f"The models on {describe_rows(result)}", heads, [h.body(rows)])


def _heading(name: str, result: RemedyResult) -> str:
    if name == "loss":
        return capitalize(result.loss_name)
    if name == "passes":
        return "Chance to pass"
    return name if name.split(",")[0] == "p" else capitalize(name)


def _row_name(text: str, result: RemedyResult) -> str:
    return text if "strength" in result.curve else f"{result.symbol} = {text}"


def _fate(model: Model) -> str | None:
    if not model.chosen:
        return model.fate or None
    return tag("span", tag("span", class_="mark", aria_hidden="true"), model.fate, class_="good")
