"""The roles exchanged: predictions move between outcomes, under a density of Y given Yhat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column, Kind, column_of
from fairaudit.density.auto import Auto
from fairaudit.density.conditional_density import Density
from fairaudit.density.gaussian import Gaussian
from fairaudit.density.mixture import Mixture
from fairaudit.errors import InputError
from fairaudit.permute.copies import EXACT, FittedCopies
from fairaudit.permute.icp import ICP

__all__ = ["PredictionSide"]

_LARGER = (8, 16)
_ROWS_PER_COMPONENT = 12


@dataclass(frozen=True, slots=True)
class PredictionSide:
    """Settings of conditional permutation of the prediction.

    ICP with the prediction in the place of the attributes: permutations have probability
    ∝ ∏ q(Y_k | Yhat_rows[k]), and H0 makes (Yhat, A) given Y exchange as well as (A, Yhat) does.
    The density is one of the outcome given one prediction, whatever the attributes are.

    Parameters
    ----------
    density : str, density or callable
        q(y|yhat), as for `fairaudit.permute.icp.ICP`. Given one number ``"auto"`` tries larger
        mixtures too: a model that is not monotone leaves several ranges of the outcome open.
    folds : int
        Cross-fitting, as for ICP.

    Notes
    -----
    Where nothing is estimated (``"exact"``, which ``"auto"`` is for classes) rows of equal outcome
    exchange, and it is one law whether the attributes move or the prediction: copies are ICP's.

    Examples
    --------
    >>> from fairaudit.data.columns import columns_from
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=60)
    >>> outcome, = columns_from(y, argument="y_true", outcome=True)
    >>> attributes = columns_from({"sex": rng.integers(0, 2, 60)}, argument="sensitive")
    >>> score = (y + rng.normal(size=60))[:, None]
    >>> copies = PredictionSide("ols").prepare(
    ...     outcome, attributes, steps=20, seed=0, prediction=score
    ... )
    >>> copies.density, copies.sampler.moves
    ('given the prediction: gaussian (ols), cross-fitted in 5 folds', 'prediction')
    """

    density: Any = "auto"
    folds: int = 5

    def prepare(
        self,
        outcome: Column,
        attributes: Sequence[Column],
        *,
        steps: int,
        seed: int,
        units: Index | None = None,
        training: tuple[Column, Sequence[Column]] | None = None,
        strata: Index | None = None,
        prediction: Array | None = None,
    ) -> FittedCopies:
        """Fit q(y|yhat) and return the sampler; the arguments are those of `ICP.prepare`.

        `attributes` are not looked at. `prediction` is n × columns.
        """
        if training is not None:
            raise InputError(
                "The law 'prediction' fits the density of the outcome given the prediction on the "
                "rows of the test. Leave out the table to fit on (density_data)."
            )
        columns = _make_columns(prediction)
        density = self.density
        if density == "auto" and len(columns) == 1 and not outcome.kind.is_categorical:
            density = Auto(_list_families(len(outcome)))
        fitted = ICP(density, self.folds).prepare(
            outcome, columns, steps=steps, seed=seed, units=units, strata=strata
        )
        if fitted.law == EXACT:
            return fitted
        fitted.sampler.moves = "prediction"  # outcome row k gets the prediction of rows[k]
        law = replace(fitted.law, words=f"given the prediction: {fitted.law.words}")
        if law.estimated:
            law = replace(law, kind="prediction")
        return replace(fitted, law=law)


def _list_families(n: int) -> tuple[Density, ...]:
    """What ``"auto"`` tries given one number: regressions, and mixtures of many sizes."""
    usual: list[Density] = [
        Gaussian("ols"),
        Gaussian("quadratic"),
        Gaussian("smooth"),
        Gaussian("ols", heteroscedastic=True),
        Gaussian("ols", residuals="kernel"),
        Gaussian("ols", heteroscedastic=True, residuals="kernel"),
    ]
    sizes = (2, 4, *_LARGER)
    return (*usual, *(Mixture(k) for k in sizes if k * _ROWS_PER_COMPONENT <= n))


def _make_columns(prediction: Array | None) -> tuple[Column, ...]:
    """The columns of the prediction that vary, as numbers."""
    if prediction is None:
        raise InputError("The law 'prediction' moves the prediction. Pass it as 'prediction'.")
    varying = np.flatnonzero(np.ptp(prediction, axis=0) > 0)
    if not len(varying):
        raise InputError(
            "The prediction is constant, so that the law 'prediction' has nothing to move. Check "
            "that the right column was passed."
        )
    return tuple(
        column_of(f"prediction {place + 1}", prediction[:, place], kind=Kind.CONTINUOUS)
        for place in varying
    )
