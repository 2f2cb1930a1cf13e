"""Fair models, most of a continuous outcome: what rejects here is an error.

Every one is a function of a generator to (prediction, outcome, attributes, ids of people or None).
The prediction depends on the outcome and on noise that knows nothing of the attributes, so that
equalized odds holds exactly, however hard the law of the outcome given the attributes is.

Needs numpy and pandas, and nothing of fairaudit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from settings import SETTINGS

__all__ = ["FAIR_CLASS_MODELS", "FAIR_MODELS", "FairModel"]

#: prediction, outcome, attributes, ids
Drawn = tuple[np.ndarray, np.ndarray, pd.DataFrame, "np.ndarray | None"]
LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


@dataclass(frozen=True)
class FairModel:
    """`draw(rng)` is one table of `rows` rows."""

    name: str
    rows: int
    draw: Callable[[np.random.Generator], Drawn]


def numbers(a: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(a).add_prefix("a")


def curve(y: np.ndarray) -> np.ndarray:
    """A curved model of a standardized outcome."""
    z = (y - y.mean()) / y.std()
    return z + 0.3 * z**2


def as_in_settings(draw: Callable, rng) -> Drawn:
    prediction, y, frame, _ = draw(rng)
    return prediction, y, frame, None


def hard(n: int, rng) -> Drawn:
    """He et al., On the hardness of conditional independence testing in practice, 2025."""
    y, e, f = rng.normal(size=(3, n))
    return np.cos(y) + 0.1 * e, y, pd.DataFrame({"a": np.exp(y) + 0.1 * f}), None


def sharper(n: int, rng, width: int) -> Drawn:
    y, e, f, g = rng.normal(size=(4, n))
    columns = {"a": np.exp(y) + 0.03 * f, "b": np.sin(3 * y) + 0.03 * g}
    frame = pd.DataFrame({name: columns[name] for name in "ab"[:width]})
    return np.cos(2 * y) + 0.05 * e, y, frame, None


def peers(n: int, rng, scenario: str) -> Drawn:
    """The nulls of benchmarks/peers.py."""
    e, u = rng.normal(size=(2, n))
    a = rng.normal(size=(n, 3))
    if scenario == "null_nl":
        a[:, 0] += 0.8 * (u**2 - 1)
        return u + 0.5 * u**2 + e, u, numbers(a), None
    if scenario == "null_mixed":
        a[:, 1] = rng.random(n) < 0.3
        a[:, 2] = rng.integers(0, 4, n)
    y = 0.8 * a[:, 0] + 0.4 * a[:, 1] + u
    return y + e, y, numbers(a), None


def zero_inflated(n: int, rng) -> Drawn:
    """Claims: two in five are zero, others are lognormal."""
    a = rng.normal(size=(n, 2))
    sex = rng.random(n) < 0.4
    claim = rng.random(n) < 1 / (1 + np.exp(-0.4 - 0.8 * a[:, 0] - 0.5 * sex))
    y = np.where(claim, np.exp(0.5 * a[:, 1] + 0.4 * sex + 0.6 * rng.normal(size=n)), 0.0)
    frame = numbers(a).assign(sex=np.where(sex, "f", "m"))
    return np.log1p(y) + (0.4 + 0.3 * (y > 0)) * rng.normal(size=n), y, frame, None


def rounded(n: int, rng) -> Drawn:
    """Whole years; the model sees only those."""
    a = rng.normal(size=(n, 3))
    y = np.round(40 + 6 * a[:, 0] + 4 * a[:, 1] + 7 * rng.normal(size=n))
    return curve(y) + 0.5 * rng.normal(size=n), y, numbers(a), None


def heaped(n: int, rng) -> Drawn:
    """Half of the people round to tens."""
    a = rng.normal(size=(n, 3))
    y = 100 + 20 * a[:, 0] + 10 * a[:, 1] * a[:, 2] + 20 * rng.normal(size=n)
    y = np.where(rng.random(n) < 0.5, np.round(y, -1), y)
    return curve(y) + 0.6 * rng.normal(size=n), y, numbers(a), None


def top_coded(n: int, rng) -> Drawn:
    a = rng.normal(size=(n, 3))
    y = np.minimum(a[:, 0] + 0.7 * a[:, 1] ** 2 + rng.normal(size=n), 1.5)
    return y + 0.5 * y**2 + 0.6 * rng.normal(size=n), y, numbers(a), None


def income(n: int, rng) -> Drawn:
    """Lognormal income with eight mixed attributes and interactions."""
    sex = rng.random(n) < 0.5
    race = rng.choice(5, n, p=[0.5, 0.2, 0.15, 0.1, 0.05])
    married, abroad = rng.random((2, n)) < [[0.55], [0.15]]
    age, school = rng.integers(18, 80, n), rng.integers(6, 21, n)
    region = rng.integers(0, 8, n)
    health = rng.normal(size=n)
    old = (age - 45) / 15
    mean = 10 + 0.08 * (school - 12) * (1 - 0.5 * sex) - 0.3 * old**2 + 0.4 * old * married
    mean = mean - 0.15 * race * abroad + 0.1 * np.sin(region) + 0.2 * health * sex
    y = np.exp(mean + (0.4 + 0.2 * abroad) * rng.normal(size=n))
    frame = pd.DataFrame(
        {
            "sex": np.where(sex, "f", "m"),
            "race": LETTERS[race],
            "married": married,
            "abroad": abroad,
            "age": age,
            "school": school,
            "region": LETTERS[region],
            "health": health,
        }
    )
    return np.log(y) + 0.35 * rng.normal(size=n), y, frame, None


def irrelevant(n: int, rng, width: int = 30) -> Drawn:
    """Many attributes of which three matter, in a curved way."""
    a = rng.normal(size=(n, width))
    y = a[:, 0] + 0.6 * (a[:, 1] ** 2 - 1) + 0.6 * np.sin(2 * a[:, 2]) + rng.normal(size=n)
    return curve(y) + 0.6 * rng.normal(size=n), y, numbers(a), None


def many_levels(n: int, rng) -> Drawn:
    level = np.minimum(rng.geometric(0.06, n) - 1, 39)
    effect = np.random.default_rng(40).normal(size=40)
    y = effect[level] + 0.8 * rng.normal(size=n)
    names = np.array([f"district {k}" for k in range(40)])
    return curve(y) + 0.6 * rng.normal(size=n), y, pd.DataFrame({"district": names[level]}), None


def explained(n: int, rng) -> Drawn:
    """The attributes explain 98 % of the outcome."""
    a = rng.normal(size=(n, 4))
    score = a @ [1.0, 0.8, -0.6, 0.3] + 0.5 * a[:, 0] * a[:, 1]
    y = score + np.sqrt(2.34 * 0.02 / 0.98) * rng.normal(size=n)
    return curve(y) + 0.7 * rng.normal(size=n), y, numbers(a), None


def shape_changes(n: int, rng) -> Drawn:
    """Variance and skewness of the outcome change with the attributes."""
    a = rng.normal(size=(n, 3))
    e = rng.gamma(2.0, size=n) - 2
    e = np.where(a[:, 1] > 0, e, -e)
    y = 0.5 * a[:, 0] + np.exp(0.6 * a[:, 2]) * e
    return np.tanh(y / 2) * 2 + 0.5 * rng.normal(size=n), y, numbers(a), None


def people(n: int, rng, shared: float = 0.0) -> Drawn:
    """Four rows of each person; the outcomes of a person correlate .7, and noise maybe too."""
    ids = np.repeat(np.arange(n // 4), 4)
    a = rng.normal(size=(n // 4, 2))
    sex = rng.random(n // 4) < 0.4
    person = 0.5 * a[:, 0] + 0.4 * sex + 0.55 * rng.normal(size=n // 4)
    y = person[ids] + np.sqrt(0.6 * 0.3 / 0.7) * rng.normal(size=n)
    own, common = rng.normal(size=n), rng.normal(size=n // 4)[ids]
    noise = np.sqrt(1 - shared) * own + np.sqrt(shared) * common
    frame = numbers(a).assign(sex=np.where(sex, "f", "m")).iloc[ids].reset_index(drop=True)
    return y + 0.3 * y**2 + 0.6 * noise, y, frame, ids


def product(n: int, rng) -> Drawn:
    a = rng.normal(size=(n, 10))
    y = 1.2 * a[:, 0] * a[:, 1] + 0.5 * a[:, 2] + 0.7 * rng.normal(size=n)
    return curve(y) + 0.5 * rng.normal(size=n), y, numbers(a), None


def spatial(n: int, rng) -> Drawn:
    """Attributes and outcome are smooth over a map that nobody sees."""
    place = rng.random((n, 2)) * 2 * np.pi
    waves = np.array([[1, 0], [0, 1], [1, 1], [2, -1]])
    field = np.sin(place @ waves.T + rng.random(4) * 6)
    a = field @ rng.normal(size=(4, 3)) + 0.2 * rng.normal(size=(n, 3))
    y = field @ rng.normal(size=4) + 0.3 * rng.normal(size=n)
    return curve(y) + 0.5 * rng.normal(size=n), y, numbers(a), None


def both_spread(n: int, rng) -> Drawn:
    """Spread of the prediction and of the attributes grow with the outcome together."""
    y, e = rng.normal(size=(2, n))
    spread = np.exp(0.7 * y)
    a = spread[:, None] * rng.normal(size=(n, 2)) + 0.3 * y[:, None]
    return y + spread * e, y, numbers(a), None


def jump(n: int, rng) -> Drawn:
    """The model jumps at three outcomes, where attributes change fast."""
    y, e, f = rng.normal(size=(3, n))
    model = np.searchsorted([-0.8, 0.1, 0.9], y)
    a = np.tanh(4 * (y - 0.1)) + 0.3 * f
    return model + 0.2 * e, y, numbers(np.column_stack([a, rng.normal(size=n)])), None


def labels(n: int, rng) -> Drawn:
    a = rng.normal(size=(n, 3))
    y = a[:, 0] + 0.5 * a[:, 1] + rng.normal(size=n)
    return (y + 0.5 * rng.normal(size=n) > 0.3).astype(int), y, numbers(a), None


def heavy_prediction(n: int, rng) -> Drawn:
    a = rng.normal(size=(n, 3))
    y = a[:, 0] + 0.5 * a[:, 1] + rng.normal(size=n)
    return y + rng.standard_cauchy(n), y, numbers(a), None


def heavy_outcome(n: int, rng) -> Drawn:
    """Far outcomes have no neighbors, and attribute and model follow them closely."""
    y = rng.standard_t(2, n)
    a = np.column_stack([y + 0.5 * rng.normal(size=n), rng.normal(size=n)])
    return y + 0.5 * rng.normal(size=n), y, numbers(a), None


def proxy(n: int, rng) -> Drawn:
    """A sharp model, and an attribute that nearly is the outcome."""
    y, e, f = rng.normal(size=(3, n))
    return y + 0.05 * e, y, pd.DataFrame({"a": y + 0.05 * f}), None


def clumps(n: int, rng) -> Drawn:
    """Outcomes in seven clumps of unequal size with gaps; attributes differ between clumps."""
    clump = rng.choice(7, n, p=[0.3, 0.25, 0.2, 0.1, 0.07, 0.05, 0.03])
    y = 3.0 * clump + 0.2 * rng.normal(size=n)
    a = np.sin(y)[:, None] + 0.2 * rng.normal(size=(n, 2))
    return np.cos(y) + 0.2 * rng.normal(size=n), y, numbers(a), None


#: name, rows, function of rows and generator, what else it takes
TABLE: list[tuple[str, int, Callable, dict]] = [
    ("hard", 200, hard, {}),
    ("hard", 500, hard, {}),
    ("hard", 1000, hard, {}),
    ("sharper, 1 attribute", 400, sharper, {"width": 1}),
    ("sharper, 2 attributes", 400, sharper, {"width": 2}),
    ("peers: null", 500, peers, {"scenario": "null"}),
    ("peers: null_mixed", 500, peers, {"scenario": "null_mixed"}),
    ("peers: null_nl", 500, peers, {"scenario": "null_nl"}),
    ("zero-inflated", 400, zero_inflated, {}),
    ("rounded to integers", 400, rounded, {}),
    ("heaped", 400, heaped, {}),
    ("top-coded", 400, top_coded, {}),
    ("lognormal income, 8 mixed attributes", 400, income, {}),
    ("30 attributes, 27 irrelevant", 300, irrelevant, {}),
    ("one attribute of 40 levels", 500, many_levels, {}),
    ("R² = .98", 400, explained, {}),
    ("variance and skewness change", 400, shape_changes, {}),
    ("people with 4 rows", 400, people, {}),
    ("people with 4 rows, noise shared", 400, people, {"shared": 0.5}),
    ("y = a0·a1 + …, 10 attributes", 400, product, {}),
    ("spatially smooth", 500, spatial, {}),
    ("both spread with y", 500, both_spread, {}),
    ("jumps of the model", 400, jump, {}),
    ("labels", 400, labels, {}),
    ("heavy-tailed predictions", 400, heavy_prediction, {}),
    ("heavy-tailed outcome", 300, heavy_outcome, {}),
    ("attribute nearly the outcome", 300, proxy, {}),
    ("clumps with gaps", 400, clumps, {}),
]


def _taken(*, classes: bool) -> list[FairModel]:
    return [
        FairModel(setting.name, setting.n, partial(as_in_settings, setting.draw))
        for setting in SETTINGS
        if setting.categorical == classes
    ]


def _by_name(models: list[FairModel]) -> dict[str, FairModel]:
    return {f"{model.name}, n = {model.rows}": model for model in models}


#: by name and rows; the outcome is continuous
FAIR_MODELS = _by_name(
    [
        *_taken(classes=False),
        *(FairModel(name, n, partial(draw, n, **options)) for name, n, draw, options in TABLE),
    ]
)
#: the same for an outcome of classes
FAIR_CLASS_MODELS = _by_name(_taken(classes=True))
