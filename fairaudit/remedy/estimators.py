"""FairICP and the methods that differ from it by their copies alone: FairCP and FDL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairaudit._types import Array
from fairaudit.data.columns import Column
from fairaudit.permute.cp import CP
from fairaudit.permute.icp import ICP
from fairaudit.permute.randomize import ConditionalRandomization
from fairaudit.remedy.base import Classifier, Draw, Regressor

__all__ = [
    "FDLClassifier",
    "FDLRegressor",
    "FairCPClassifier",
    "FairCPRegressor",
    "FairICPClassifier",
    "FairICPRegressor",
]


def draw_permuted(
    way: Any, outcome: Column, attributes: Sequence[Column], encoded: Array, seed: int
) -> Draw:
    sampler = way.prepare(outcome, attributes, steps=None, seed=seed).sampler
    return lambda number: encoded[sampler.block(range(number, number + 1))[0]]


class _ByICP:
    """Copies by inverse conditional permutation: only q(y|a) is modeled."""

    density: Any
    seed_: int

    def _draws(self, outcome: Column, attributes: Sequence[Column], encoded: Array) -> Draw:
        return draw_permuted(ICP(self.density), outcome, attributes, encoded, self.seed_)


class _ByCP:
    """Copies by conditional permutation, weighted by q(a|y) (Berrett et al. 2020)."""

    density: Any
    seed_: int

    def _draws(self, outcome: Column, attributes: Sequence[Column], encoded: Array) -> Draw:
        return draw_permuted(CP(self.density), outcome, attributes, encoded, self.seed_)


class _ByRandomization:
    """Copies drawn from a model of q(a|y) (Romano et al. 2020)."""

    density: Any
    seed_: int

    def _draws(self, outcome: Column, attributes: Sequence[Column], encoded: Array) -> Draw:
        way = ConditionalRandomization(self.density)
        return way.fit(outcome, attributes, seed=self.seed_).draw


class FairICPClassifier(_ByICP, Classifier):
    """A classifier trained towards equalized odds by inverse conditional permutation.

    References
    ----------
    Lai, Cheng, Guan (2025). FairICP. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sex, y = rng.integers(0, 2, (2, 400))
    >>> X = np.column_stack([y + rng.normal(size=400), sex + 0.3 * rng.normal(size=400)])
    >>> model = FairICPClassifier(mu=0.7, steps=50).fit(X, y, sensitive_features={"sex": sex})
    >>> model.predict_proba(X).shape
    (400, 2)
    """


class FairICPRegressor(_ByICP, Regressor):
    """A regressor trained towards equalized odds by inverse conditional permutation."""


class FairCPClassifier(_ByCP, Classifier):
    """As FairICP, with copies by conditional permutation."""


class FairCPRegressor(_ByCP, Regressor):
    """As FairICP, with copies by conditional permutation."""


class FDLClassifier(_ByRandomization, Classifier):
    """Fair dummies learning: as FairICP, with attributes drawn from q(a|y)."""


class FDLRegressor(_ByRandomization, Regressor):
    """Fair dummies learning: as FairICP, with attributes drawn from q(a|y)."""


def _documented() -> None:
    """The parameters are those of `Remedy`: say so where people look."""
    from fairaudit.remedy.base import Remedy

    shared = (Remedy.__doc__ or "").partition("\n\n")[2]
    for name in __all__:
        cls = globals()[name]
        head, _, tail = (cls.__doc__ or "").partition("\n\n")
        cls.__doc__ = "\n\n".join(filter(None, [head.rstrip(), shared.rstrip(), tail]))


_documented()
