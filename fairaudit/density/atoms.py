"""Outcomes that many rows share exactly: zero claims, top-coded incomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.density.bases import Basis, select_terms
from fairaudit.density.conditional_density import Density, Fitted, PairDensity, fit_quietly
from fairaudit.density.least_squares import fit_ridge

__all__ = ["WithAtoms", "find_atoms", "mark_atoms"]

_SHARE = 0.1
_FEWEST_ROWS = 15
_LEAST_CHANCE = 1e-6


def find_atoms(y: Array) -> Array:
    """Outcomes that a tenth of the rows or more share; none where they leave too few others.

    Examples
    --------
    >>> find_atoms(np.concatenate([np.zeros(30), np.arange(1.0, 71.0)]))
    array([0.])
    """
    distinct, count = np.unique(y, return_counts=True)
    large = (count >= _SHARE * len(y)) & (count >= _FEWEST_ROWS)
    others = count[~large]
    if others.sum() < max(2 * _FEWEST_ROWS, 0.2 * len(y)) or len(others) < _FEWEST_ROWS:
        return distinct[:0]
    return distinct[large]


def mark_atoms(y: Array, atoms: Array) -> Index:
    """The number of every outcome's atom, from 1; 0 for the others."""
    place = np.searchsorted(atoms, y)
    inside = place < len(atoms)
    hit = np.zeros(len(y), dtype=np.bool_)
    hit[inside] = atoms[place[inside]] == y[inside]
    return np.where(hit, place + 1, 0)


@dataclass(frozen=True, slots=True, eq=False)
class WithAtoms:
    """Probabilities of the atoms by a logistic regression, a density for the other outcomes."""

    family: Density
    atoms: Array

    @property
    def name(self) -> str:
        values = ", ".join(f"{value:g}" for value in self.atoms)
        return f"{self.family.name} with atoms at {values}"

    def fit(self, y: Array, a: Array, seed: int) -> _FittedAtoms:
        other = mark_atoms(y, self.atoms) == 0
        return self.join(self.family.fit(y[other], a[other], seed), y, a)

    def join(self, inner: Fitted, y: Array, a: Array) -> _FittedAtoms:
        """With a density that was fitted to the outcomes that are no atoms."""
        from sklearn.linear_model import LogisticRegression

        code = mark_atoms(y, self.atoms)
        indicator = (code == np.bincount(code).argmax()).astype(np.float64)
        basis = select_terms(a, fit_ridge(a, indicator).left_out)
        model = fit_quietly(LogisticRegression(max_iter=200), basis(a), code.astype(np.float64))
        return _FittedAtoms(inner, self.atoms, basis, model)


@dataclass(frozen=True, slots=True, eq=False)
class _FittedAtoms:
    inner: Fitted
    atoms: Array
    basis: Basis
    model: Any

    def pairs(self, y: Array, a: Array) -> _AtomPairs:
        chance = np.full((len(a), len(self.atoms) + 1), _LEAST_CHANCE)
        chance[:, self.model.classes_.astype(np.intp)] += self.model.predict_proba(self.basis(a))
        chance /= chance.sum(axis=1, keepdims=True)
        return _AtomPairs(self.inner.pairs(y, a), y, self.atoms, chance)


class _AtomPairs(PairDensity):
    def __init__(self, inner: PairDensity, y: Array, atoms: Array, chance: Array) -> None:
        self.inner, self.y, self.atoms, self.chance = inner, y, atoms, chance
        self.code = mark_atoms(y, atoms)
        self.table = np.log(chance)

    def log_density(self, i: Index, j: Index) -> Array:
        code = self.code[j]
        part = self.table[i, code]
        return np.where(code > 0, part, part + self.inner.log_density(i, j))

    def pit(self) -> Array | None:
        return self.cdf(self.y)

    def cdf(self, y: Array) -> Array | None:
        inner = self.inner.cdf(y)
        if inner is None:
            return None
        reached = self.atoms <= y[:, None]
        return self.chance[:, 0] * inner + (self.chance[:, 1:] * reached).sum(axis=1)
