"""`check_density` sees every kind of broken density."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from fairaudit.density import density_named
from fairaudit.density.gaussian import Gaussian
from fairaudit.errors import InputError
from fairaudit.extend import ClassTable, LocationScale, check_density


@dataclass(frozen=True)
class Linear:
    """Sound: a normal law around a line."""

    name = "linear"

    def fit(self, y, a, seed):
        x = np.column_stack([np.ones(len(a)), a])
        slopes = np.linalg.lstsq(x, y, rcond=None)[0]
        return FittedLinear(type(self), slopes, float((y - x @ slopes).std()))

    @staticmethod
    def pairs(y, location, scale):
        return LocationScale(y, location, np.full(len(y), scale))


@dataclass(frozen=True)
class FittedLinear:
    family: type
    slopes: object
    scale: float

    def pairs(self, y, a):
        return self.family.pairs(y, self.slopes[0] + a @ self.slopes[1:], self.scale)


class Unseeded(Linear):
    def fit(self, y, a, seed):
        return super().fit(y + np.random.default_rng().normal(size=len(y)), a, seed)


class Sorting(Linear):
    def fit(self, y, a, seed):
        y.sort()
        return super().fit(y, a, seed)


class Exchanged(Linear):
    @staticmethod
    def pairs(y, location, scale):
        class Pairs(LocationScale):
            def log_density(self, i, j):
                return super().log_density(j, i)

        return Pairs(y, location, np.full(len(y), scale))


class Scaled(Linear):
    """Looks at the other rows that are bound."""

    @staticmethod
    def pairs(y, location, scale):
        return LocationScale(y, location, np.full(len(y), scale + len(y)))


class WrongOdds(Linear):
    @staticmethod
    def pairs(y, location, scale):
        class Pairs(LocationScale):
            def swap_log_odds(self, i, j, at_i, at_j):
                return -super().swap_log_odds(i, j, at_i, at_j)

        return Pairs(y, location, np.full(len(y), scale))


class Unnormalized(Linear):
    @staticmethod
    def pairs(y, location, scale):
        class Pairs(LocationScale):
            def log_density(self, i, j):
                return super().log_density(i, j) + 0.1

        return Pairs(y, location, np.full(len(y), scale))


class Flat(Linear):
    @staticmethod
    def pairs(y, location, scale):
        class Pairs(LocationScale):
            def log_density(self, i, j):
                return super().log_density(i.ravel(), j.ravel())

        return Pairs(y, location, np.full(len(y), scale))


class Impossible(Linear):
    @staticmethod
    def pairs(y, location, scale):
        class Pairs(LocationScale):
            def log_density(self, i, j):
                found = super().log_density(i, j)
                return np.where(found < found.max() - 3, -np.inf, found)

        return Pairs(y, location, np.full(len(y), scale))


class WrongTransform(Linear):
    @staticmethod
    def pairs(y, location, scale):
        class Pairs(LocationScale):
            def pit(self):
                return 1 - super().pit()

        return Pairs(y, location, np.full(len(y), scale))


class NoPairs(Linear):
    def fit(self, y, a, seed):
        return self.name


class Foreign(Linear):
    @staticmethod
    def pairs(y, location, scale):
        return [y, location]


def test_a_sound_density_passes():
    check_density(Linear())


@pytest.mark.parametrize(
    ("density", "told"),
    [
        (Gaussian, "Gaussian is a class"),
        (Unseeded(), "different densities for the same seed"),
        (Sorting(), "changes the data"),
        (NoPairs(), "linear.fit must return an object with 'pairs'"),
        (Foreign(), "'pairs' must return a PairDensity. Got list"),
        (Flat(), "must broadcast over rows i and j"),
        (Impossible(), "NaN or infinite"),
        (Exchanged(), "Row i is of the attributes, row j of the outcomes"),
        (Scaled(), "nothing may depend on the other rows"),
        (WrongOdds(), "'swap_log_odds' differs"),
        (Unnormalized(), "has mass 1.1"),
        (WrongTransform(), "'pit' gives"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_a_broken_density_is_seen(density, told):
    with pytest.raises(AssertionError, match=told) as error:
        check_density(density)
    assert "\n" not in str(error.value)


@dataclass(frozen=True)
class Shares:
    """Of classes, wherever the attributes are; they may add up to something else."""

    total: float = 1.0

    name, outcome = "shares", "categorical"

    def fit(self, y, a, seed):
        return FittedShares(self.total * np.bincount(y.astype(int)) / len(y))


@dataclass(frozen=True)
class FittedShares:
    shares: object

    def pairs(self, y, a):
        return ClassTable(y.astype(np.intp), np.tile(self.shares, (len(a), 1)))


def test_probabilities_of_classes_add_up():
    check_density(Shares())
    with pytest.raises(AssertionError, match=r"has mass 0\.9 instead of 1"):
        check_density(Shares(total=0.9))


def test_a_density_for_the_other_kind_of_outcome_is_refused():
    with pytest.raises(InputError, match="'shares' is for a categorical outcome, but this"):
        density_named(Shares(), categorical=False)
    assert density_named(Shares(), categorical=True) == Shares()
