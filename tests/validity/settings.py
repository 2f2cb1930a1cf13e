"""Settings in which equalized odds holds exactly: whatever rejects here is an error.

Every setting draws (prediction, outcome, attributes, log q(y|a)). The prediction depends on the
outcome alone, in a curved way and with a spread that changes with the outcome.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

__all__ = ["SETTINGS", "Setting"]


@dataclass(frozen=True)
class Setting:
    name: str
    n: int
    outcome: str
    draw: Callable
    misfit: bool = False  # a linear Gaussian q(y|a) is wrong here

    @property
    def categorical(self) -> bool:
        return self.outcome != "continuous"


def attributes(kind: str, n: int, rng) -> tuple[pd.DataFrame, np.ndarray]:
    """Attributes and one linear score of them, with variance near 1."""
    if kind == "1 binary":
        a = rng.random((n, 1)) < 0.3
        return pd.DataFrame({"sex": a[:, 0]}), (a[:, 0] - 0.3) / 0.46
    if kind == "2 binary":
        a = rng.random((n, 2)) < [0.3, 0.5]
        return pd.DataFrame(a, columns=["sex", "race"]), a[:, 0] + a[:, 1] - 0.8
    if kind == "binary + binary + continuous":
        a = rng.random((n, 2)) < [0.3, 0.5]
        age = rng.normal(size=n)
        frame = pd.DataFrame({"sex": a[:, 0], "race": a[:, 1], "age": 40 + 12 * age})
        return frame, a[:, 0] + a[:, 1] * age + 0.5 * age - 0.3
    if kind == "12 levels":
        level = rng.integers(0, 12, n)
        return pd.DataFrame({"region": np.array(list("abcdefghijkl"))[level]}), (level - 5.5) / 3.45
    width = int(kind.split()[0])
    a = rng.normal(size=(n, width))
    return pd.DataFrame(a).add_prefix("a"), a[:, : min(3, width)].sum(axis=1) / np.sqrt(3)


def predict(y: np.ndarray, rng) -> np.ndarray:
    y = y / 1.5
    return y + 0.3 * y**2 + (0.7 + 0.2 * np.abs(y)) * rng.normal(size=len(y))


def classes(kind: str, n: int, count: int) -> Callable:
    def draw(rng):
        frame, score = attributes(kind, n, rng)
        cuts = np.linspace(-1.2, 1.2, count - 1) if count > 2 else [0.0]
        y = np.searchsorted(cuts, score + rng.logistic(size=n))
        return predict(y.astype(float), rng), y, frame, None

    return draw


def normal_log(z):
    return -0.5 * z**2


def continuous(kind: str, n: int, noise: str = "normal") -> Callable:
    def draw(rng):
        frame, score = attributes(kind, n, rng)
        scale = np.exp(0.5 * score) if noise == "heteroscedastic" else np.ones(n)
        if noise == "skewed":
            e = rng.gamma(1.5, 1.0, n) - 1.5
            log = lambda z: np.where(z > -1.5, 0.5 * np.log(np.maximum(z + 1.5, 1e-300)) - z, -700)  # noqa: E731
        elif noise == "heavy-tailed":
            e = rng.standard_t(3, n)
            log = lambda z: -2 * np.log1p(z**2 / 3)  # noqa: E731
        else:
            e, log = rng.normal(size=n), normal_log
        y = score + scale * e

        def oracle(values, row):
            s, w = row[:, 0], row[:, 1]
            return log((values - s) / w) - np.log(w)

        return predict(y, rng), y, frame, (oracle, np.column_stack([score, scale]))

    return draw


def curved(rng):
    """A depends on Y², so that q(y|a) has two modes; the oracle is Bayes' rule."""
    n = 500
    y, noise = rng.normal(size=(2, n))
    a = rng.normal(size=(n, 3))
    a[:, 0] += 0.8 * (y**2 - 1)

    def oracle(values, row):
        return -0.5 * values**2 - 0.5 * (row[:, 0] - 0.8 * (values**2 - 1)) ** 2

    frame = pd.DataFrame(a).add_prefix("a")
    return y + 0.5 * y**2 + noise, y, frame, (oracle, a[:, :1])


def _settings() -> list[Setting]:
    table = [
        ("binary", "1 binary", 200, 2),
        ("binary", "2 binary", 1000, 2),
        ("binary", "binary + binary + continuous", 200, 2),
        ("binary", "20 continuous", 200, 2),
        ("4-class", "5 continuous", 200, 4),
        ("4-class", "12 levels", 1000, 4),
    ]
    made = [
        Setting(f"{outcome} y; {kind}", n, outcome, classes(kind, n, count))
        for outcome, kind, n, count in table
    ]
    for kind, n, noise in [
        ("1 binary", 200, "normal"),
        ("binary + binary + continuous", 200, "normal"),
        ("5 continuous", 200, "normal"),
        ("20 continuous", 200, "normal"),
        ("binary + binary + continuous", 200, "heavy-tailed"),
        ("binary + binary + continuous", 200, "skewed"),
        ("12 levels", 1000, "normal"),
        ("5 continuous", 1000, "normal"),
        ("5 continuous", 1000, "skewed"),
        ("2 continuous", 1000, "heteroscedastic"),
    ]:
        name = f"continuous y, {noise}; {kind}"
        wrong = noise != "normal"
        made.append(Setting(name, n, "continuous", continuous(kind, n, noise), wrong))
    made.append(Setting("continuous y, two modes; 3 continuous", 500, "continuous", curved, True))
    return made


SETTINGS = _settings()
