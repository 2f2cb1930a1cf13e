"""The trade-off between loss and equalized odds: a whole curve, with honest splits."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column, columns_from
from fairaudit.errors import InputError
from fairaudit.remedy.methods import MUS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TradeOff", "evaluate", "mixed", "mixture", "rows_of", "scores_of", "trade_off"]

_ERRORS = 1.96  # standard errors that a 95 % interval reaches
MIXTURE = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9)


@dataclass(frozen=True, slots=True)
class TradeOff:
    """A curve of models.

    Attributes
    ----------
    frame : DataFrame
        One row per model and split: ``mu``, ``split`` ("choice" or "report"), ``loss``, ``kpc``,
        ``deo`` (categorical attributes, two classes), ``prediction_gap`` (categorical attributes,
        a continuous outcome), ``p_value`` (report rows only if asked for).
    models : list
        Fitted estimators, in the order of μ.
    mixture : DataFrame
        The trivial mixture on the same splits: the first model mixed at random with a constant.
        A remedy is worth having only below that line.
    """

    frame: pd.DataFrame
    models: list[Any] = field(repr=False)
    mixture: pd.DataFrame = field(repr=False)

    def on(self, split: str = "report") -> pd.DataFrame:
        """The rows of one split."""
        return self.frame[self.frame["split"] == split].reset_index(drop=True)

    def pareto(self, split: str = "report") -> pd.DataFrame:
        """Models that no other beats in both loss and KPC."""
        rows = self.on(split).sort_values(["loss", "kpc"])
        return rows[rows["kpc"] <= rows["kpc"].cummin()].reset_index(drop=True)

    def best(self, *, kpc: float | None = None, loss: float | None = None) -> Any:
        """The model with the smallest loss up to this KPC, or the smallest KPC up to this loss.

        Chosen on the split made for choosing; its numbers on the other one are not chosen by.
        """
        if (kpc is None) == (loss is None):
            raise InputError("Pass best(kpc=…) or best(loss=…), one of the two.")
        rows = self.on("choice")
        limit, by, value = ("kpc", "loss", kpc) if kpc is not None else ("loss", "kpc", loss)
        allowed = rows[rows[limit] <= value]
        if allowed.empty:
            raise InputError(
                f"No model has {limit} ≤ {value:g} on the split for choosing; the smallest is "
                f"{rows[limit].min():.4g}. Allow more, or try larger values of mu."
            )
        return self.models[int(allowed[by].idxmin())]

    def plot(self, ax: Any = None) -> Any:
        """Loss against KPC on the reporting split, with the trivial mixture; returns the Axes."""
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
        rows = self.on("report")
        ax.plot(rows["kpc"], rows["loss"], marker="o", color="#1f5f8b", label="models, by μ")
        for _, row in rows.iterrows():
            ax.annotate(
                f"{row['mu']:g}",
                (row["kpc"], row["loss"]),
                fontsize=8,
                xytext=(4, 4),
                textcoords="offset points",
            )
        ax.plot(
            self.mixture["kpc"],
            self.mixture["loss"],
            linestyle="--",
            color="#777777",
            label="trivial mixture with a constant",
        )
        ax.axvline(0.0, color="#cccccc", linewidth=1)
        ax.set_xlabel("KPC (0: equalized odds)")
        ax.set_ylabel("loss")
        ax.legend(frameon=False)
        return ax


def trade_off(
    estimator: Any,
    X: Any,
    y: Any,
    sensitive: Any,
    *,
    mus: Sequence[float] = MUS,
    parameter: str = "mu",
    choice: float = 0.2,
    report: float = 0.2,
    p_values: bool = False,
    seed: int = 0,
) -> TradeOff:
    """Train the curve and measure it on rows that no model was trained on.

    Parameters
    ----------
    estimator : estimator with `fit(X, y, sensitive_features=…)`
        Those that have `fit_path` train all values in one pass.
    X, y, sensitive
        Frame or array of features, the outcome, the sensitive attributes.
    mus : sequence of float
        Values of `parameter`.
    parameter : str
        Name of the trade-off parameter.
    choice, report : float
        Shares of the rows for choosing a model and for reporting on it.
    p_values : bool
        Test every model on the reporting rows (199 copies).
    seed : int

    Returns
    -------
    TradeOff

    Examples
    --------
    >>> from fairaudit.remedy.estimators import FairICPClassifier
    >>> rng = np.random.default_rng(0)
    >>> sex, y = rng.integers(0, 2, (2, 600))
    >>> X = np.column_stack([y + rng.normal(size=600), sex + rng.normal(size=600) / 3 + y / 2])
    >>> curve = trade_off(FairICPClassifier(steps=60), X, y, {"sex": sex}, mus=[0, 0.9])
    >>> before, after = curve.on("report")["kpc"]
    >>> bool(after < before)
    True
    """
    import pandas as pd
    from sklearn.base import clone

    (outcome,) = columns_from(y, argument="y", outcome=True)
    attributes = columns_from(sensitive, argument="sensitive")
    if not 0 < choice < 1 or not 0 < report < 1 or choice + report >= 1:
        raise InputError("The shares 'choice' and 'report' must be positive and below 1 together.")
    n = len(outcome)
    order = np.random.default_rng(seed).permutation(n)
    ends = [int(n * (1 - choice - report)), int(n * (1 - report))]
    train, choose, tell = np.split(order, ends)
    target = np.asarray(y)
    fitted_on = (rows_of(X, train), target[train], tuple(c.take(train) for c in attributes))
    if hasattr(estimator, "fit_path") and parameter == "mu":
        models = clone(estimator).fit_path(*fitted_on, mus)
    else:
        models = [
            clone(estimator)
            .set_params(**{parameter: mu})
            .fit(fitted_on[0], fitted_on[1], sensitive_features=fitted_on[2])
            for mu in mus
        ]
    rows = []
    for split, part in (("choice", choose), ("report", tell)):
        some, features = [c.take(part) for c in attributes], rows_of(X, part)
        for mu, model in zip(mus, models, strict=True):
            tested = p_values and split == "report"
            measures = evaluate(
                scores_of(model, features), outcome.take(part), some, p_value=tested
            )
            rows.append({"mu": mu, "split": split, **measures})
    some, features = [c.take(tell) for c in attributes], rows_of(X, tell)
    line = mixture(scores_of(models[0], features), outcome.take(tell), some, seed)
    return TradeOff(pd.DataFrame(rows), list(models), line)


def evaluate(
    scores: Array,
    outcome: Column,
    attributes: Sequence[Column],
    *,
    p_value: bool = False,
    encode: str = "standard",
) -> dict[str, Any]:
    """Loss (misclassified, or mean squared error), KPC, a size of the gaps, and p-value.

    The size is DEO for two classes, the prediction gap for a continuous outcome, and else NaN.
    KPC is centered by copies and has its standard error beside it; with ``encode="raw"`` it is
    R's, as in the paper.
    """
    import fairaudit as fa

    measures: dict[str, Any] = {"loss": loss_of(scores, outcome)}
    groups = [column for column in attributes if column.kind.is_categorical]
    measures |= _gaps(scores, outcome, groups)
    if (scores == scores[0]).all():
        return measures | {"kpc": 0.0, "kpc_error": 0.0, "p_value": 1.0}
    given: Any = {"sensitive": attributes, "y_true": outcome}
    if encode == "standard":
        size = fa.metrics.kpc_centered(scores, **given)
        measures |= {"kpc": size.value, "kpc_error": (size.value - size.low) / _ERRORS}
    else:
        raw = float(fa.metrics.kpc(scores, encode=encode, **given))
        measures |= {"kpc": raw, "kpc_error": float("nan")}
    measures["p_value"] = float("nan")
    if p_value:
        permutations = fa.Permutations(n=199)
        result = fa.equalized_odds_test(
            scores, y_true=outcome, sensitive=attributes, permutations=permutations
        )
        measures["p_value"] = result.p_value
    return measures


def _gaps(scores: Array, outcome: Column, groups: Sequence[Column]) -> dict[str, float]:
    """DEO of two classes, the prediction gap of numbers; NaN where there is none."""
    import fairaudit as fa

    sizes = {"deo": float("nan"), "prediction_gap": float("nan")}
    if groups and outcome.kind.is_categorical and len(outcome.levels) == 2:
        label = (_positive(scores) >= 0.5).astype(np.intp)
        sizes["deo"] = float(
            fa.metrics.deo(outcome.levels[label], sensitive=groups, y_true=outcome)
        )
    elif groups and not outcome.kind.is_categorical:
        with suppress(InputError):  # groups that share no outcomes
            sizes["prediction_gap"] = float(
                fa.metrics.prediction_gap(scores.ravel(), sensitive=groups, y_true=outcome)
            )
    return sizes


def loss_of(scores: Array, outcome: Column) -> float:
    """Share misclassified, or the mean squared error."""
    if not outcome.kind.is_categorical:
        return float(np.mean((scores.ravel() - np.asarray(outcome.numeric)) ** 2))
    if len(outcome.levels) == 2:
        return float(np.mean((_positive(scores) >= 0.5) != (outcome.codes == 1)))
    return float(np.mean(scores.argmax(axis=1) != outcome.codes))


def _positive(scores: Array) -> Array:
    return scores if scores.ndim == 1 else scores[:, -1]


def scores_of(model: Any, features: Any) -> Array:
    """Probability of the larger class, all probabilities, or the prediction."""
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(features), dtype=np.float64)
    chances = np.asarray(model.predict_proba(features))
    return chances[:, 1] if chances.shape[1] == 2 else chances


def mixed(scores: Array, outcome: Column, share: float, rng: np.random.Generator) -> Array:
    """The scores with a random share of them replaced by the best constant."""
    if not outcome.kind.is_categorical:
        constant: Any = float(np.asarray(outcome.numeric).mean())
    elif scores.ndim == 1:
        constant = float(np.argmax(np.bincount(outcome.codes)))
    else:
        constant = np.eye(scores.shape[1])[np.argmax(np.bincount(outcome.codes))]
    answers = scores.copy()
    answers[rng.random(len(scores)) < share] = constant
    return answers


def mixture(
    scores: Array,
    outcome: Column,
    attributes: Sequence[Column],
    seed: int,
    encode: str = "standard",
    shares: Sequence[float] = MIXTURE,
) -> pd.DataFrame:
    """The model mixed at random with the best constant, in these shares."""
    import pandas as pd

    rows = []
    for share in shares:
        draws = [
            evaluate(
                mixed(scores, outcome, share, np.random.default_rng([seed, draw])),
                outcome,
                attributes,
                encode=encode,
            )
            for draw in range(5)
        ]
        names = ("loss", "kpc", "deo", "prediction_gap")
        means = {name: float(np.mean([draw[name] for draw in draws])) for name in names}
        rows.append({"share": share, **means})
    return pd.DataFrame(rows)


def rows_of(X: Any, rows: Index) -> Any:
    """These rows of a frame or of an array."""
    return X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]
