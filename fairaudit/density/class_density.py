"""Class probabilities P(Y = y | A) for a categorical outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairaudit._types import Array
from fairaudit.density.conditional_density import ClassTable, quietly_fitted

__all__ = ["Frequencies", "Logistic", "NeuralClassifier"]

_MIX = 1e-3  # no class is ever impossible


@dataclass(frozen=True, slots=True)
class Logistic:
    """Multinomial logistic regression on the encoded attributes."""

    C: float = 1.0

    name = "logistic"

    def fit(self, y: Array, a: Array, seed: int) -> _FittedClassifier:
        from sklearn.linear_model import LogisticRegression

        return _fit(LogisticRegression(C=self.C, max_iter=500), y, a)


@dataclass(frozen=True, slots=True)
class NeuralClassifier:
    """The paper's classifier: one hidden layer of 64, ReLU, Adam with rate 0.001."""

    hidden: int = 64
    max_iter: int = 200

    name = "mlp"

    def fit(self, y: Array, a: Array, seed: int) -> _FittedClassifier:
        from sklearn.neural_network import MLPClassifier

        model = MLPClassifier(
            (self.hidden,), max_iter=self.max_iter, random_state=seed, early_stopping=len(y) >= 200
        )
        return _fit(model, y, a)


@dataclass(frozen=True, slots=True)
class Frequencies:
    """Class shares in every cell of equal attributes, drawn towards the overall shares."""

    prior: float = 1.0

    name = "frequencies"

    def fit(self, y: Array, a: Array, seed: int) -> _FittedFrequencies:
        cells, cell = np.unique(a, axis=0, return_inverse=True)
        codes = y.astype(np.intp)
        classes = int(codes.max()) + 1
        overall = np.bincount(codes, minlength=classes) / len(codes)
        flat = np.bincount(cell.ravel() * classes + codes, minlength=len(cells) * classes)
        counts = flat.reshape(len(cells), classes) + self.prior * overall
        shares = counts / counts.sum(axis=1, keepdims=True)
        return _FittedFrequencies(
            {row.tobytes(): k for k, row in enumerate(cells)}, shares, overall
        )


def _fit(model: Any, y: Array, a: Array) -> _FittedClassifier:
    return _FittedClassifier(quietly_fitted(model, a, y.astype(np.intp)))


@dataclass(frozen=True, slots=True)
class _FittedClassifier:
    model: Any

    def pairs(self, y: Array, a: Array) -> ClassTable:
        codes = y.astype(np.intp)
        width = max(int(codes.max()), int(self.model.classes_.max())) + 1
        table = np.zeros((len(a), width))
        table[:, self.model.classes_] = self.model.predict_proba(a)
        return ClassTable(codes, (1 - _MIX) * table + _MIX / width)


@dataclass(frozen=True, slots=True)
class _FittedFrequencies:
    cell_of: dict[bytes, int]
    shares: Array
    overall: Array

    def pairs(self, y: Array, a: Array) -> ClassTable:
        codes = y.astype(np.intp)
        distinct, cell = np.unique(a, axis=0, return_inverse=True)
        found = [self.cell_of.get(row.tobytes(), -1) for row in distinct]
        shares = np.vstack([self.shares, self.overall])[np.asarray(found)]  # -1: overall shares
        table = np.zeros((len(a), max(int(codes.max()) + 1, shares.shape[1])))
        table[:, : shares.shape[1]] = shares[cell.ravel()]
        return ClassTable(codes, (1 - _MIX) * table + _MIX / table.shape[1])
