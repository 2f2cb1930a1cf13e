"""`check_statistic` sees every kind of broken statistic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from fairaudit.errors import InputError
from fairaudit.extend import check_statistic, encode


@dataclass(frozen=True)
class Means:
    """Sound: the distance between the groups' mean predictions."""

    name = "means"
    scale: float = 1.0

    def bind(self, table, *, within_outcome, seed):
        u = table.prediction.matrix().sum(axis=1)
        u = u - u.mean()
        a = encode(table.attributes)
        return self.values(self.scale * u, a - a.mean(axis=0), within_outcome, seed)

    def values(self, u, a, within_outcome, seed):
        return lambda rows: np.array([((u @ a[copy]) ** 2).sum() for copy in rows])


class Nameless(Means):
    name = ""


class Secret(Means):
    def __init__(self):
        object.__setattr__(self, "scale", lambda: 1)


class Narrow(Means):
    def bind(self, table, *, within_outcome, seed):
        raise InputError("Not this one.")


class OneNumber(Means):
    def values(self, u, a, within_outcome, seed):
        return lambda rows: float((u @ a[rows[0]]).sum())


class NotANumber(Means):
    def values(self, u, a, within_outcome, seed):
        return lambda rows: np.full(len(rows), np.nan)


class Restless(Means):
    def values(self, u, a, within_outcome, seed):
        return lambda rows: np.random.default_rng().normal(size=len(rows))


class GlobalNumbers(Means):
    def values(self, u, a, within_outcome, seed):
        return lambda rows: np.random.normal(size=len(rows))  # noqa: NPY002


class ByBlock(Means):
    def values(self, u, a, within_outcome, seed):
        plain = super().values(u, a, within_outcome, seed)
        return lambda rows: plain(rows) / plain(rows).max()


class Hinted(Means):
    def values(self, u, a, within_outcome, seed):
        return super().values(u * (2 if within_outcome else 1), a, within_outcome, seed)


class Overwriting(Means):
    def bind(self, table, *, within_outcome, seed):
        table.attributes[0].codes[:] = 0
        return super().bind(table, within_outcome=within_outcome, seed=seed)


class OverwritingCopies(Means):
    def values(self, u, a, within_outcome, seed):
        plain = super().values(u, a, within_outcome, seed)

        def values(rows):
            found = plain(rows)
            rows[:] = 0
            return found

        return values


class FirstRows(Means):
    def values(self, u, a, within_outcome, seed):
        return super().values(u * (np.arange(len(u)) < 40), a, within_outcome, seed)


class Peeking(Means):
    """Knows which copy is the data: p is small whatever they are."""

    def values(self, u, a, within_outcome, seed):
        plain = super().values(u, a, within_outcome, seed)
        itself = np.arange(len(u))
        return lambda rows: plain(rows) + 1e9 * (rows == itself).all(axis=1)


class Reversed(Means):
    def values(self, u, a, within_outcome, seed):
        plain = super().values(u, a, within_outcome, seed)
        return lambda rows: -plain(rows)


def test_a_sound_statistic_passes():
    check_statistic(Means())


@pytest.mark.parametrize(
    ("statistic", "told"),
    [
        (Means, "Means is a class: pass an instance"),
        (3, "int has no method 'bind'"),
        (Nameless(), "Nameless needs a 'name'"),
        (Secret(), "parameters of Secret cannot be recorded"),
        (Narrow(), "refuses every kind of table"),
        (OneNumber(), r"one number per copy.*Got shape \(\)"),
        (NotANumber(), "NaN or infinity"),
        (Restless(), "different values for the same seed"),
        (GlobalNumbers(), "global random numbers"),
        (ByBlock(), "copies in a block and for the same copies one by one"),
        (Hinted(), "with and without 'within_outcome'"),
        (Overwriting(), "changes the data"),
        (OverwritingCopies(), "changes the data"),
        (FirstRows(), "rows of the table are reordered"),
        (Peeking(), "finds violations where there are none"),
        (Reversed(), "not large where the prediction depends on the attributes"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_a_broken_statistic_is_seen(statistic, told):
    with pytest.raises(AssertionError, match=told) as error:
        check_statistic(statistic)
    assert "\n" not in str(error.value)
