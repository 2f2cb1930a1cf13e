"""What is said of a remedy: both verdicts, what changed, and the models of the curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairaudit_reports.view.audit_view import find_measure
from fairaudit_reports.view.numerals import (
    chance_text,
    figures_after_point,
    fixed,
    loss_text,
    p_text,
    percent,
)

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.remedy.remedy_result import RemedyResult

__all__ = [
    "Change",
    "Model",
    "build_curve_columns",
    "describe_mixture",
    "describe_models",
    "describe_rows",
    "list_audits",
    "list_changes",
    "list_gap_sizes",
    "list_models",
    "list_notes",
    "name_chosen",
    "name_model",
    "name_ranking",
    "select_models",
]

MOST_MODELS = 12  # of a search, beside the chosen one and plain training


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One measure before and after, and what it means; `is_verdict` where it is the verdict."""

    name: str
    before: str
    after: str
    about: str | None = None
    is_verdict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model of the curve; undefined numbers are None.

    `method` is None where all have the same; `strength` is that of a randomized last stage (0:
    none), `levels` counts its scores, and `needs` says whether the sensitive attributes must be
    known to predict.
    """

    mu: float
    plain: bool
    method: str | None
    strength: float
    levels: int
    needs: bool
    ranking: float | None
    chance: float | None
    loss: float
    kpc: float
    deo: float | None
    prediction_gap: float | None
    p_value: float | None
    p_train: float | None
    chosen: bool
    fate: str


def name_chosen(result: RemedyResult) -> str:
    """``hgr, λ = 3``; of a search also the last stage."""
    drawn = ", answers drawn" if result.strength else ""
    return f"{result.method}, {result.symbol} = {result.mu:g}{drawn}"


def name_model(model: Model, symbol: str) -> str:
    """``μ 0.8*, 2 levels + 30 %``: a last stage of two scores, three in ten answers by chance.

    ``μ 0.8, 30 % constant``: three in ten people, by chance, get a constant.
    """
    method = "" if model.method is None else f"{model.method} "
    name = f"{method}{symbol} {model.mu:g}{'*' if model.needs else ''}"
    if not model.strength:
        return name
    share = f"{100 * max(model.strength - 1, 0.0):.0f} %"
    return (
        f"{name}, {model.levels} levels + {share}" if model.levels else f"{name}, {share} constant"
    )


def list_audits(result: RemedyResult) -> list[tuple[str, str, AuditResult]]:
    """When, which model, and its audit; before comes first."""
    old = "plain training" if result.old is None else result.old
    return [("Before", old, result.before), ("After", name_chosen(result), result.after)]


def list_changes(result: RemedyResult) -> list[Change]:
    """Every measure before and after."""
    before, after = result.before, result.after
    changes = [
        Change(
            name="verdict", before=str(before.verdict), after=str(after.verdict), is_verdict=True
        ),
        Change(
            name="joint test, p",
            before=p_text(before.p_value),
            after=p_text(after.p_value),
            about="Small: evidence against equalized odds.",
        ),
        Change(
            name="KPC",
            before=fixed(before.joint.kpc),
            after=fixed(after.joint.kpc),
            about="Size of the dependence on the attributes given the outcome; 0 is none.",
        ),
    ]
    for key, name, in_units, about in (
        ("deo", "DEO", False, "Distances of the groups’ rates from the common rate, summed."),
        (
            "prediction_gap",
            "prediction gap",
            True,
            "Largest difference of two groups’ predictions given the outcome, in its units; 0 is "
            "none.",
        ),
        ("mean_error_difference", "mean errors (calibration)", True, None),
    ):
        sizes = [find_measure(audit, key) for audit in (before, after)]
        known = [abs(size) for size in sizes if size is not None]
        if known:
            digits = figures_after_point(max(known)) if in_units else 3
            old, new = (fixed(size, digits) for size in sizes)
            changes.append(Change(name=name, before=old, after=new, about=about))
    old, new = (loss_text(value, result.loss_name) for value in result.loss)
    share = "Share of rows with a wrong label." if result.loss_name == "misclassified" else None
    changes.append(Change(name=result.loss_name, before=old, after=new, about=share))
    return [*changes, *_list_quality(result)]


def _list_quality(result: RemedyResult) -> list[Change]:
    """What the predictions are worth besides."""
    ranks = "How well the answers are in order; " + (
        "0.5 is chance." if result.loss_name == "misclassified" else "0 is none."
    )
    about = {
        "ranking": (name_ranking(result), ranks),
        "brier": ("Brier score", "Mean squared error of the probabilities."),
        "calibration_error": (
            "calibration error",
            "Mean distance of the probabilities from the shares that they promise.",
        ),
    }
    before, after = result.quality
    return [
        Change(
            name=name,
            before=fixed(getattr(before, key)),
            after=fixed(getattr(after, key)),
            about=words,
        )
        for key, (name, words) in about.items()
        if getattr(before, key) is not None or getattr(after, key) is not None
    ]


def name_ranking(result: RemedyResult) -> str:
    return "AUC" if result.loss_name == "misclassified" else "correlation"


def list_models(result: RemedyResult) -> list[Model]:
    """The models of the curve; methods have names where there are several."""
    several_methods = "method" in result.curve and result.curve["method"].nunique() > 1
    return [
        Model(
            mu=record["mu"],
            plain=number == 0,
            method=record["method"] if several_methods else None,
            strength=record.get("strength", 0.0),
            levels=int(record.get("levels", 0)),
            needs=bool(record.get("attributes", False)),
            ranking=_keep_number(record.get("ranking")),
            chance=_keep_number(record.get("chance")),
            loss=record["loss"],
            kpc=record["kpc"],
            deo=_keep_number(record["deo"]),
            prediction_gap=_keep_number(record.get("prediction_gap")),
            p_value=_keep_number(record["p_value"]),
            p_train=_keep_number(record["p_train"]),
            chosen=record["chosen"],
            fate=_describe_fate(record),
        )
        for number, record in enumerate(result.curve.to_dict("records"))
    ]


def select_models(models: Sequence[Model]) -> list[Model]:
    """Plain training, the chosen one, and the best others, by loss.

    Better are models that neither collapsed nor are worse than the mixture, and of these the ones
    that few others beat in both the loss and the chance to pass. All, in their order, where they
    are not many.
    """
    if len(models) <= MOST_MODELS + 2:
        return list(models)
    usable = [(model.loss, _worth(model)) for model in models if model.fate in ("", "chosen")]

    def rank(model: Model) -> tuple[bool, int, float]:
        worth = _worth(model)
        beaten = sum(loss < model.loss and other >= worth for loss, other in usable)
        return bool(model.fate), beaten, model.loss

    others = [model for model in models if not (model.plain or model.chosen)]
    best = sorted(others, key=rank)[:MOST_MODELS]
    return [
        *(model for model in models if model.plain),
        *sorted([*best, *_list_chosen(models)], key=lambda model: (model.loss, model.kpc)),
    ]


def _worth(model: Model) -> float:
    return -model.kpc if model.chance is None else model.chance


def _list_chosen(models: Sequence[Model]) -> list[Model]:
    return [model for model in models if model.chosen and not model.plain]


def describe_mixture(result: RemedyResult) -> str | None:
    """The trivial alternative that passes as often as the chosen model; None: none is known."""
    (place,) = result.curve["chosen"].to_numpy().nonzero()[0]
    if not place:  # plain training itself
        return None
    chosen = result.curve.iloc[place].to_dict()
    if "chance" not in result.mixture or _keep_number(chosen.get("chance")) is None:
        return None
    lines = result.mixture.to_dict("records")
    enough = [line for line in lines if line["chance"] >= chosen["chance"]]
    if not enough:
        return None
    loss = loss_text(enough[0]["loss"], result.loss_name)
    who = (
        "A constant answer for everybody"
        if enough[0]["share"] >= 1
        else f"Plain training with a constant answer for a random {percent(enough[0]['share'])} of "
        "people"
    )
    mine = loss_text(chosen["loss"], result.loss_name)
    return f"{who} passes as often, at a loss of {loss}; the chosen model has {mine}."


def describe_models(models: Sequence[Model], shown: Sequence[Model]) -> list[str]:
    """What a reader of the table must know of the models: how many there were, and how named."""
    sentences = []
    if len(shown) < len(models):
        sentences.append(
            f"{len(models):,} models were looked at; these are plain training, the chosen one, and "
            "the best others: not collapsed, and beaten by few in both the loss and the chance to "
            "pass. The JSON record has all."
        )
    if any(model.strength and model.levels for model in shown):
        sentences.append(
            "“2 levels + 30 %”: answers are drawn among 2 scores, 30 % of them by mere chance."
        )
    if any(model.strength and not model.levels for model in shown):
        sentences.append("“30 % constant”: 30 % of the people, by chance, get a constant.")
    if any(model.needs for model in shown):
        sentences.append("A star: the sensitive attributes are needed to predict.")
    return sentences


def _keep_number(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def _describe_fate(record: dict[Any, Any]) -> str:
    """What became of a model."""
    fates = (
        ("chosen", record["chosen"]),
        ("collapsed", isinstance(record["collapsed"], str)),  # None becomes NaN among texts
        ("worse than the mixture", record["dominated"]),
    )
    return ", ".join(name for name, holds in fates if holds)


def list_gap_sizes(models: Sequence[Model]) -> tuple[str, list[str]] | None:
    """The size of gaps that the models have, and that of each: DEO, or the prediction gap."""
    if any(model.deo is not None for model in models):
        return "DEO", [fixed(model.deo) for model in models]
    gaps = [abs(model.prediction_gap) for model in models if model.prediction_gap is not None]
    if not gaps:
        return None
    digits = figures_after_point(max(gaps))
    return "prediction gap", [fixed(model.prediction_gap, digits) for model in models]


def build_curve_columns(
    result: RemedyResult, models: Sequence[Model], *, narrow: bool = False
) -> list[tuple[str, list[str]]]:
    """Names of the columns and their texts; a search leaves sizes of gaps out where it is narrow.

    Columns without a number are left out.
    """
    searched = "strength" in result.curve
    names = (
        ("model", [name_model(model, result.symbol) for model in models])
        if searched
        else (result.symbol, [f"{model.mu:g}" for model in models])
    )
    gaps = None if searched and narrow else list_gap_sizes(models)
    columns = [
        names,
        ("loss", [loss_text(model.loss, result.loss_name) for model in models]),
        (name_ranking(result), [fixed(model.ranking) for model in models]),
        ("KPC", [fixed(model.kpc) for model in models]),
        *([] if gaps is None else [gaps]),
        ("p", [p_text(model.p_value) for model in models]),
        ("p, training rows", [p_text(model.p_train) for model in models]),
        ("passes", [chance_text(model.chance) for model in models]),
    ]
    told = [column for column in columns if any(text != "–" for text in column[1])]
    return [*told, ("", [model.fate for model in models])]


def describe_rows(result: RemedyResult) -> str:
    """On which rows the curve was measured."""
    if result.rows["choice"]:
        return f"the {result.rows['choice']:,} rows for choosing"
    if result.goal:
        return f"the {result.rows['train']:,} rows to train, each by models that have not seen it"
    return "the audited rows, since nothing was chosen"


def list_notes(result: RemedyResult) -> list[str]:
    """Of the remedy, then of both audits; those of one audit say of which."""
    before, after = result.before.notes, result.after.notes
    return [
        *result.notes,
        *(note for note in after if note in before),
        *(f"Before: {note}" for note in before if note not in after),
        *(f"After: {note}" for note in after if note not in before),
    ]
