"""Unfair models: what a test should find, with an outcome of classes or a continuous one.

Every one is a function of a generator to (prediction, outcome, attributes, ids or None) as in
`fair_models`. Effects are such that the best single statistic of fairaudit 0.1 finds about one half
to three quarters of them. `held_out`: nothing may be chosen by looking at these.

What other tests can run: `conditioning` is "continuous", "binary" or "classes" (of more than two
levels). Tests with a kernel or a regression on the outcome (KCI, SplitKCI, RCIT, RCoT, GCM, PCM)
take a continuous one as it is, a binary one as 0 and 1, and classes as indicators. Probabilities
per class are a prediction of several columns: PCM is run per column.

Needs numpy and pandas; the simulations of the paper also fairaudit.datasets and scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

__all__ = ["UNFAIR_MODELS", "UnfairModel"]

#: prediction, outcome, attributes, ids
Drawn = tuple["np.ndarray | pd.DataFrame", np.ndarray, pd.DataFrame, "np.ndarray | None"]
LETTERS = np.array(list("abcdefghij"))


@dataclass(frozen=True, kw_only=True)
class UnfairModel:
    """`draw(rng)` is one table of `rows` rows."""

    name: str
    rows: int
    conditioning: str
    draw: Callable[[np.random.Generator], Drawn]
    held_out: bool


def numbers(a: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(a).add_prefix("a")


def binary(score: np.ndarray, rng, level: float = 0.0) -> np.ndarray:
    return (score + rng.logistic(size=len(score)) > level).astype(int)


# Binary outcome. The prediction is a score y + noise + effect unless said otherwise.


def shift(n: int, rng, width: int, effect: float) -> Drawn:
    """One guilty attribute of `width`."""
    a = rng.normal(size=(n, width))
    y = binary(a[:, : min(3, width)].sum(axis=1), rng)
    return y + effect * a[:, 0] + rng.normal(size=n), y, numbers(a), None


def interaction(n: int, rng, effect: float) -> Drawn:
    a = rng.normal(size=(n, 3))
    y = binary(a[:, 2], rng)
    return y + effect * a[:, 0] * a[:, 1] + rng.normal(size=n), y, numbers(a), None


def crossed(n: int, rng, effect: float) -> Drawn:
    """Two binary attributes that act only together, without any effect of one of them."""
    a = rng.random((n, 3)) < 0.5
    y = binary(a[:, 2] - 0.5, rng)
    score = y + effect * (2 * (a[:, 0] ^ a[:, 1]) - 1) + rng.normal(size=n)
    return score, y, pd.DataFrame(a, columns=["sex", "abroad", "city"]), None


def small_group(n: int, rng, effect: float) -> Drawn:
    """One in twenty: women of one of the five origins."""
    sex, origin = rng.random(n) < 0.5, rng.choice(5, n, p=[0.4, 0.3, 0.1, 0.1, 0.1])
    age = rng.normal(size=n)
    y = binary(0.5 * age + 0.4 * sex, rng)
    score = y + effect * (sex & (origin == 3)) + rng.normal(size=n)
    return score, y, pd.DataFrame({"sex": sex, "origin": LETTERS[origin], "age": age}), None


def corner(n: int, rng, effect: float) -> Drawn:
    """One in twenty: high in two numbers of three."""
    a = rng.normal(size=(n, 3))
    y = binary(a[:, 2], rng)
    guilty = (a[:, 0] > 0.76) & (a[:, 1] > 0.76)
    return y + effect * guilty + rng.normal(size=n), y, numbers(a), None


def spread(n: int, rng, effect: float) -> Drawn:
    a = rng.normal(size=(n, 3))
    y = binary(a[:, 0] + a[:, 1], rng)
    return y + np.exp(effect * a[:, 0]) * rng.normal(size=n), y, numbers(a), None


def group_spread(n: int, rng, effect: float) -> Drawn:
    """The model knows less about one of four origins."""
    origin, age = rng.choice(4, n, p=[0.5, 0.2, 0.2, 0.1]), rng.normal(size=n)
    y = binary(0.4 * origin - 0.6, rng)
    score = y + np.where(origin == 2, effect, 1.0) * rng.normal(size=n)
    return score, y, pd.DataFrame({"origin": LETTERS[origin], "age": age}), None


def one_class(n: int, rng, effect: float) -> Drawn:
    """Only positives are scored lower."""
    a = rng.normal(size=(n, 2))
    sex = rng.random(n) < 0.4
    y = binary(0.5 * a[:, 0] - 0.8, rng)
    score = y - effect * (sex & (y == 1)) + rng.normal(size=n)
    return score, y, numbers(a).assign(sex=np.where(sex, "f", "m")), None


def age_score(n: int, rng, effect: float) -> Drawn:
    """Monotone in age, and flat beyond fifty; a probability as the score."""
    age, sex = rng.integers(18, 90, n), rng.random(n) < 0.5
    y = binary((age - 50) / 20, rng)
    score = 1.5 * y + effect * np.minimum(age - 50, 0) / 10 + rng.normal(size=n)
    return 1 / (1 + np.exp(-score)), y, pd.DataFrame({"age": age, "sex": sex}), None


def rare_event(n: int, rng, effect: float) -> Drawn:
    """One event in twenty-five; the score is shifted for all."""
    a = rng.normal(size=(n, 2))
    sex = rng.random(n) < 0.3
    y = binary(0.5 * a[:, 0], rng, 3.3)
    y[:2] = [0, 1]
    score = 2 * y + effect * sex + rng.gamma(1.0, size=n)
    return score, y, numbers(a).assign(sex=sex), None


def wave(n: int, rng, effect: float) -> Drawn:
    a = rng.normal(size=(n, 2))
    y = binary(a[:, 0], rng)
    return y + effect * np.sin(4 * a[:, 0]) + rng.normal(size=n), y, numbers(a), None


def labels(n: int, rng, effect: float) -> Drawn:
    """Labels; one group of five gets other ones."""
    origin, age = rng.choice(5, n, p=[0.3, 0.3, 0.2, 0.1, 0.1]), rng.normal(size=n)
    y = binary(0.3 * origin - 0.5, rng)
    chance = np.where(y == 1, 0.7, 0.2) + effect * (origin == 4) * np.where(y == 1, -1, 1)
    label = (rng.random(n) < chance).astype(int)
    return label, y, pd.DataFrame({"origin": LETTERS[origin], "age": age}), None


def true_positives(n: int, rng, effect: float) -> Drawn:
    """Labels whose true-positive rate falls with age."""
    age, sex = rng.integers(18, 90, n), rng.random(n) < 0.5
    y = binary((age - 55) / 25, rng)
    chance = np.where(y == 1, 0.7 - effect * (age - 54) / 36, 0.2)
    return (rng.random(n) < chance).astype(int), y, pd.DataFrame({"age": age, "sex": sex}), None


# Several classes


def four_classes(score: np.ndarray, rng) -> np.ndarray:
    return np.searchsorted([-1.0, 0.0, 1.0], score + rng.logistic(size=len(score)))


def probabilities(n: int, rng, effect: float) -> Drawn:
    """A probability per class; one class is preferred for some."""
    a = rng.normal(size=(n, 3))
    y = four_classes(a[:, 0], rng)
    logit = 1.5 * (y[:, None] == np.arange(4)) + rng.normal(size=(n, 4))
    logit[:, 2] += effect * a[:, 1]
    odds = np.exp(logit)
    frame = pd.DataFrame(odds / odds.sum(axis=1, keepdims=True), columns=list("abcd"))
    return frame, LETTERS[y], numbers(a), None


def class_labels(n: int, rng, effect: float) -> Drawn:
    """Labels of four classes; men of one class are often put into the next."""
    sex, age = rng.random(n) < 0.5, rng.normal(size=n)
    y = four_classes(age, rng)
    right = rng.random(n) < np.where(sex & (y == 1), 0.6 - effect, 0.6)
    return np.where(right, y, (y + 1) % 4), y, pd.DataFrame({"sex": sex, "age": age}), None


def class_score(n: int, rng, effect: float) -> Drawn:
    """A score of five ordered classes that is shifted in the middle class only."""
    a = rng.normal(size=(n, 3))
    y = np.searchsorted([-1.5, -0.5, 0.5, 1.5], a[:, 0] + rng.normal(size=n))
    return y + effect * a[:, 1] * (y == 2) + rng.normal(size=n), y, numbers(a), None


# Continuous outcome


def attributes(n: int, rng, width: int = 3) -> tuple[np.ndarray, np.ndarray]:
    a = rng.normal(size=(n, width))
    return a, 0.8 * a[:, 0] + 0.4 * a[:, min(1, width - 1)] + rng.normal(size=n)


def moved(n: int, rng, width: int, effect: float) -> Drawn:
    a, y = attributes(n, rng, width)
    return y + effect * a[:, 0] + rng.normal(size=n), y, numbers(a), None


def moved_square(n: int, rng, effect: float) -> Drawn:
    a, y = attributes(n, rng)
    return y + effect * (a[:, 0] ** 2 - 1) + rng.normal(size=n), y, numbers(a), None


def moved_product(n: int, rng, effect: float) -> Drawn:
    a, y = attributes(n, rng)
    return y + effect * a[:, 0] * a[:, 2] + rng.normal(size=n), y, numbers(a), None


def moved_spread(n: int, rng, effect: float) -> Drawn:
    a, y = attributes(n, rng)
    return y + np.exp(effect * a[:, 1]) * rng.normal(size=n), y, numbers(a), None


def moved_wave(n: int, rng, effect: float) -> Drawn:
    """Neither monotone nor symmetric in the attribute."""
    a, y = attributes(n, rng)
    return y + effect * np.sin(3 * a[:, 0] + 1) + rng.normal(size=n), y, numbers(a), None


def moved_group(n: int, rng, effect: float) -> Drawn:
    """One in twenty: a pair of levels, with skewed outcomes."""
    sex, region = rng.random(n) < 0.5, rng.choice(6, n, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.1])
    age = rng.normal(size=n)
    y = 0.5 * sex + 0.5 * age + rng.gamma(1.5, size=n)
    score = y + effect * (sex & (region == 4)) + rng.normal(size=n)
    return score, y, pd.DataFrame({"sex": sex, "region": LETTERS[region], "age": age}), None


def moved_corner(n: int, rng, effect: float) -> Drawn:
    a, y = attributes(n, rng)
    guilty = (a[:, 1] > 0.76) & (a[:, 2] < -0.76)
    return np.tanh(y) + effect * guilty + rng.normal(size=n), y, numbers(a), None


def sign_change(n: int, rng, effect: float) -> Drawn:
    """For low outcomes in favor, for high outcomes against."""
    a, y = attributes(n, rng)
    side = np.sign(y - np.median(y))
    return y + effect * side * a[:, 0] + rng.normal(size=n), y, numbers(a), None


def sign_changes(n: int, rng, effect: float) -> Drawn:
    """The alternative of He et al. (2025): the noises correlate by sin(3y)."""
    y, e, f = rng.normal(size=(3, n))
    rho = effect * np.sin(3 * y)
    frame = pd.DataFrame({"a": np.exp(y) + 0.1 * (rho * e + np.sqrt(1 - rho**2) * f)})
    return np.cos(y) + 0.1 * e, y, frame, None


def age_number(n: int, rng, effect: float) -> Drawn:
    """A lognormal income; its model pays the old less, beyond fifty."""
    age, school, sex = rng.integers(18, 80, n), rng.integers(6, 21, n), rng.random(n) < 0.5
    y = np.exp(10 + 0.08 * (school - 12) - 0.4 * ((age - 48) / 20) ** 2 + 0.5 * rng.normal(size=n))
    score = np.log(y) - effect * np.maximum(age - 50, 0) / 30 + 0.5 * rng.normal(size=n)
    return score, y, pd.DataFrame({"age": age, "school": school, "sex": sex}), None


def skewed(n: int, rng, effect: float) -> Drawn:
    """Mean and variance of the error are the same for all; its skewness is not."""
    a, y = attributes(n, rng)
    e = (rng.gamma(effect, size=n) - effect) / np.sqrt(effect)
    return y + np.where(a[:, 1] > 0, e, -e), y, numbers(a), None


def people(n: int, rng, effect: float) -> Drawn:
    """Four rows of each person, outcomes of a person correlate .7; one sex is scored higher."""
    ids = np.repeat(np.arange(n // 4), 4)
    a, sex = rng.normal(size=(n // 4, 2)), rng.random(n // 4) < 0.4
    person = 0.5 * a[:, 0] + 0.4 * sex + 0.55 * rng.normal(size=n // 4)
    y = person[ids] + 0.5 * rng.normal(size=n)
    frame = numbers(a).assign(sex=np.where(sex, "f", "m")).iloc[ids].reset_index(drop=True)
    return y + effect * sex[ids] + 0.8 * rng.normal(size=n), y, frame, ids


# Held out: written after the parts of the default statistic, and nothing was chosen by them


def old_age(n: int, rng, effect: float) -> Drawn:
    """A step at sixty."""
    age, sex = rng.integers(18, 90, n), rng.random(n) < 0.5
    y = binary((age - 50) / 30, rng)
    frame = pd.DataFrame({"age": age, "sex": sex})
    return y - effect * (age >= 60) + rng.normal(size=n), y, frame, None


def everyone(n: int, rng, width: int, effect: float) -> Drawn:
    """All of `width` attributes, with signs of their own."""
    a = rng.normal(size=(n, width))
    y = binary(a[:, 0], rng)
    signs = np.where(np.arange(width) % 3 == 0, -1.0, 1.0)
    return y + effect * a @ signs + rng.normal(size=n), y, numbers(a), None


def slopes(n: int, rng, effect: float) -> Drawn:
    """Age helps women and harms men; probabilities of three classes."""
    age, sex = rng.normal(size=n), rng.random(n) < 0.5
    y = np.searchsorted([-0.7, 0.7], 0.5 * age + rng.logistic(size=n))
    logit = 1.2 * (y[:, None] == np.arange(3)) + rng.normal(size=(n, 3))
    logit[:, 1] += effect * age * np.where(sex, 1, -1)
    odds = np.exp(logit)
    frame = pd.DataFrame(odds / odds.sum(axis=1, keepdims=True), columns=list("abc"))
    return frame, LETTERS[y], pd.DataFrame({"age": age, "sex": sex}), None


def found_events(n: int, rng, effect: float) -> Drawn:
    """Labels; of one event in eight fewer are found among one sex."""
    age, sex = rng.normal(size=n), rng.random(n) < 0.4
    y = binary(0.5 * age, rng, 2.0)
    chance = np.where(y == 1, 0.75 - effect * sex, 0.1)
    return (rng.random(n) < chance).astype(int), y, pd.DataFrame({"sex": sex, "age": age}), None


def moved_heavy(n: int, rng, effect: float) -> Drawn:
    """One origin of four is shifted; errors have heavy tails."""
    origin, age = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1]), rng.normal(size=n)
    y = 0.5 * age + 0.3 * origin + rng.normal(size=n)
    frame = pd.DataFrame({"origin": LETTERS[origin], "age": age})
    return y + effect * (origin == 2) + rng.standard_t(2.5, n), y, frame, None


def moved_top(n: int, rng, effect: float) -> Drawn:
    """Only in the top fifth of the outcome."""
    a, y = attributes(n, rng)
    top = y > 1.1
    return y - effect * a[:, 1] * top + rng.normal(size=n), y, numbers(a), None


def moved_slopes(n: int, rng, effect: float) -> Drawn:
    """Age helps women and harms men, with skewed outcomes."""
    age, sex = rng.normal(size=n), rng.random(n) < 0.5
    y = 0.4 * age + 0.3 * sex + rng.gamma(2.0, size=n)
    score = y + effect * age * np.where(sex, 1, -1) + rng.normal(size=n)
    return score, y, pd.DataFrame({"age": age, "sex": sex}), None


def moved_group_spread(n: int, rng, effect: float) -> Drawn:
    """The model knows less about one of four origins; whole numbers."""
    origin, age = rng.choice(4, n, p=[0.5, 0.2, 0.2, 0.1]), rng.normal(size=n)
    y = np.round(5 + 2 * (0.5 * age + 0.3 * origin + rng.normal(size=n)))
    score = y + np.where(origin == 1, effect, 1.0) * rng.normal(size=n)
    return score, y, pd.DataFrame({"origin": LETTERS[origin], "age": age}), None


def everyone_moved(n: int, rng, width: int, effect: float) -> Drawn:
    a, y = attributes(n, rng, width)
    signs = np.where(np.arange(width) % 3 == 0, -1.0, 1.0)
    return y + effect * a @ signs + rng.normal(size=n), y, numbers(a), None


# Held out: written before the part for one attribute in one class was tried


def rare_class_age(n: int, rng, effect: float) -> Drawn:
    """Six classes of unequal size; age lowers the score in the smallest one only."""
    age, sex = rng.normal(size=n), rng.random(n) < 0.5
    y = np.searchsorted([-1.0, 0.0, 0.6, 1.1, 1.8], 0.4 * age + rng.normal(size=n))
    score = 0.7 * y - effect * age * (y == 5) + rng.normal(size=n)
    return score, y, pd.DataFrame({"age": age, "sex": sex}), None


def class_origin(n: int, rng, effect: float) -> Drawn:
    """Labels of three classes; one origin of four is often missed in one of them."""
    origin, age = rng.choice(4, n, p=[0.4, 0.3, 0.15, 0.15]), rng.normal(size=n)
    y = np.searchsorted([-0.5, 0.8], 0.3 * age + rng.logistic(size=n))
    right = rng.random(n) < np.where((origin == 1) & (y == 2), 0.7 - effect, 0.7)
    frame = pd.DataFrame({"origin": LETTERS[origin], "age": age})
    return np.where(right, y, (y + 2) % 3), y, frame, None


def every_class(n: int, rng, effect: float) -> Drawn:
    """A score of four classes that is shifted in all, by other attributes in each."""
    a = rng.normal(size=(n, 5))
    y = four_classes(a[:, 4], rng)
    return y + effect * a[np.arange(n), y] + rng.normal(size=n), y, numbers(a), None


def moved_middle(n: int, rng, effect: float) -> Drawn:
    """Only for outcomes in the middle third; one of four attributes."""
    a, y = attributes(n, rng, 4)
    middle = np.abs(y) < 0.55
    return y + effect * a[:, 2] * middle + rng.normal(size=n), y, numbers(a), None


def simulation(n: int, rng, number: int, width: int, w: float) -> Drawn:
    """Simulations of the paper (text): 500 rows train a linear model of Y on X, others test it.

    Of Simulation 2 all width + 1 attributes are tested.
    """
    from sklearn.linear_model import LinearRegression

    from fairaudit.datasets import simulate_1, simulate_2

    make, seed = (simulate_1, simulate_2)[number - 1], int(rng.integers(2**31))
    table = make(500 + n, width, w=w, seed=seed)
    model = LinearRegression().fit(table.X[:500], table.Y[:500])
    return model.predict(table.X[500:]), table.Y[500:], numbers(table.A[500:]), None


paper_1, paper_2 = (partial(simulation, number=number) for number in (1, 2))

#: name, rows, conditioning, held out, function, what else it takes
TABLE: list[tuple[str, int, str, bool, Callable, dict]] = [
    ("shift, K = 1", 400, "binary", False, shift, {"width": 1, "effect": 0.13}),
    ("shift, 1 of 5", 400, "binary", True, shift, {"width": 5, "effect": 0.17}),
    ("shift, 1 of 10", 400, "binary", False, shift, {"width": 10, "effect": 0.2}),
    ("shift, 1 of 30", 400, "binary", True, shift, {"width": 30, "effect": 0.23}),
    ("interaction", 400, "binary", False, interaction, {"effect": 0.3}),
    ("two binary attributes crossed", 400, "binary", False, crossed, {"effect": 0.22}),
    ("5 % subgroup of categories", 500, "binary", False, small_group, {"effect": 0.85}),
    ("5 % subgroup of numbers", 500, "binary", True, corner, {"effect": 1.1}),
    ("variance only", 400, "binary", False, spread, {"effect": 0.27}),
    ("variance of one origin", 400, "binary", True, group_spread, {"effect": 1.8}),
    ("one class only", 500, "binary", False, one_class, {"effect": 0.7}),
    ("age, monotone", 400, "binary", True, age_score, {"effect": 0.2}),
    ("rare event", 600, "binary", False, rare_event, {"effect": 0.25}),
    ("sin(4a)", 400, "binary", True, wave, {"effect": 0.5}),
    ("labels, one origin", 500, "binary", False, labels, {"effect": 0.27}),
    ("labels, true positives by age", 500, "binary", True, true_positives, {"effect": 0.22}),
    ("4 classes, probabilities", 400, "classes", False, probabilities, {"effect": 0.22}),
    ("4 classes, labels of one class", 500, "classes", True, class_labels, {"effect": 0.38}),
    ("5 classes, shift in one", 500, "classes", True, class_score, {"effect": 0.35}),
    ("continuous: shift, K = 1", 400, "continuous", True, moved, {"width": 1, "effect": 0.15}),
    ("continuous: shift, 1 of 3", 400, "continuous", False, moved, {"width": 3, "effect": 0.2}),
    ("continuous: shift, 1 of 10", 400, "continuous", True, moved, {"width": 10, "effect": 0.25}),
    ("continuous: shift, 1 of 30", 400, "continuous", False, moved, {"width": 30, "effect": 0.3}),
    ("continuous: interaction", 400, "continuous", True, moved_product, {"effect": 0.33}),
    ("continuous: variance", 400, "continuous", False, moved_spread, {"effect": 0.32}),
    ("continuous: sin(3a + 1)", 400, "continuous", True, moved_wave, {"effect": 0.75}),
    ("continuous: 5 % of categories", 500, "continuous", False, moved_group, {"effect": 0.9}),
    ("continuous: 5 % of numbers", 500, "continuous", False, moved_corner, {"effect": 1.0}),
    ("continuous: sign change along y", 400, "continuous", False, sign_change, {"effect": 0.35}),
    ("continuous: sin(3y)", 200, "continuous", True, sign_changes, {"effect": 0.75}),
    ("continuous: old age, lognormal", 400, "continuous", False, age_number, {"effect": 0.25}),
    ("continuous: skewness only", 500, "continuous", False, skewed, {"effect": 0.3}),
    ("continuous: people with 4 rows", 400, "continuous", True, people, {"effect": 0.25}),
    ("peers: alt", 500, "continuous", False, moved, {"width": 3, "effect": 0.3}),
    ("peers: alt_sq", 500, "continuous", False, moved_square, {"effect": 0.3}),
    ("Simulation 1, K = 1", 100, "continuous", False, paper_1, {"width": 1, "w": 0.6}),
    ("Simulation 1, K = 5", 200, "continuous", True, paper_1, {"width": 5, "w": 0.6}),
    ("Simulation 1, K = 10", 400, "continuous", False, paper_1, {"width": 10, "w": 0.9}),
    ("Simulation 1, K = 10, w = .6", 400, "continuous", True, paper_1, {"width": 10, "w": 0.6}),
    ("step at sixty", 400, "binary", True, old_age, {"effect": 0.35}),
    ("8 of 8 attributes", 400, "binary", True, everyone, {"width": 8, "effect": 0.07}),
    ("3 classes, slopes of age", 400, "classes", True, slopes, {"effect": 0.3}),
    ("labels, events of one sex", 600, "binary", True, found_events, {"effect": 0.3}),
    ("continuous: heavy errors", 400, "continuous", True, moved_heavy, {"effect": 0.55}),
    ("continuous: top fifth", 400, "continuous", True, moved_top, {"effect": 0.5}),
    ("continuous: slopes of age", 400, "continuous", True, moved_slopes, {"effect": 0.2}),
    ("rounded: variance", 400, "continuous", True, moved_group_spread, {"effect": 1.5}),
    ("continuous: 8 of 8", 400, "continuous", True, everyone_moved, {"width": 8, "effect": 0.08}),
    ("6 classes, age in the smallest", 500, "classes", True, rare_class_age, {"effect": 0.55}),
    ("3 classes, labels of one origin", 500, "classes", True, class_origin, {"effect": 0.4}),
    ("4 classes, other shifts in each", 400, "classes", True, every_class, {"effect": 0.22}),
    ("continuous: middle third", 400, "continuous", True, moved_middle, {"effect": 0.35}),
    ("Simulation 2, K = 5", 100, "continuous", True, paper_2, {"width": 5, "w": 0.9}),
]

UNFAIR_MODELS = {
    name: UnfairModel(
        name=name,
        rows=rows,
        conditioning=conditioning,
        draw=partial(draw, rows, **options),
        held_out=held_out,
    )
    for name, rows, conditioning, held_out, draw, options in TABLE
}
