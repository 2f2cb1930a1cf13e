"""Class probabilities P(Y = y | A) for a categorical outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairaudit._types import Array
from fairaudit.density.conditional_density import ClassTable, fit_quietly

__all__ = ["Frequencies", "Logistic", "NeuralClassifier"]

_MIX = 1e-3  # no class is ever impossible


@dataclass(frozen=True, slots=True)
class Logistic:
    """Multinomial logistic regression on the encoded attributes."""

    C: float = 1.0

    name = "logistic"

    def fit(self, y: Array, a: Array, seed: int) -> _FittedClassifier:
        from sklearn.linear_model import LogisticRegression

        return _fit_classifier(LogisticRegression(C=self.C, max_iter=500), y, a)


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
        return _fit_classifier(model, y, a)


@dataclass(frozen=True, slots=True)
class Frequencies:
    """Class shares in every tied block of attributes, drawn toward the overall shares."""

    prior: float = 1.0

    name = "frequencies"

    def fit(self, y: Array, a: Array, seed: int) -> _FittedFrequencies:
        blocks, block = np.unique(a, axis=0, return_inverse=True)
        codes = y.astype(np.intp)
        classes = int(codes.max()) + 1
        overall = np.bincount(codes, minlength=classes) / len(codes)
        flat = np.bincount(block.ravel() * classes + codes, minlength=len(blocks) * classes)
        counts = flat.reshape(len(blocks), classes) + self.prior * overall
        shares = counts / counts.sum(axis=1, keepdims=True)
        return _FittedFrequencies(
            {row.tobytes(): k for k, row in enumerate(blocks)}, shares, overall
        )


def _fit_classifier(model: Any, y: Array, a: Array) -> _FittedClassifier:
    return _FittedClassifier(fit_quietly(model, a, y.astype(np.intp)))


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
    block_of: dict[bytes, int]
    shares: Array
    overall: Array

    def pairs(self, y: Array, a: Array) -> ClassTable:
        codes = y.astype(np.intp)
        distinct, block = np.unique(a, axis=0, return_inverse=True)
        places = [self.block_of.get(row.tobytes(), -1) for row in distinct]
        shares = np.vstack([self.shares, self.overall])[np.asarray(places)]  # -1: overall shares
        table = np.zeros((len(a), max(int(codes.max()) + 1, shares.shape[1])))
        table[:, : shares.shape[1]] = shares[block.ravel()]
        return ClassTable(codes, (1 - _MIX) * table + _MIX / table.shape[1])
