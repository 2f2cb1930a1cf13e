"""Hypergeometric numbers of any size: numpy's sampler stops at 10⁹.

Ratio of uniforms (Stadlober 1989), as numpy has it, with probabilities that stay accurate: the
logarithm of a factorial of 10¹⁰ has no digits left for a quotient of such factorials, so quotients
are formed of deviances and Stirling's errors (Loader 2000).
"""

from __future__ import annotations

import math

import numpy as np

__all__ = ["draw_hypergeometric", "log_hypergeometric"]

_D1 = 2 * math.sqrt(2 / math.e)
_D2 = 3 - 2 * math.sqrt(3 / math.e)
_SMALL = 15  # factorials of which the error is computed as such
_WIDE = 16  # standard deviations beyond which there is nothing
_FEW = 10  # things that are drawn one by one


def draw_hypergeometric(rng: np.random.Generator, good: int, bad: int, drawn: int) -> int:
    """How many of `drawn` things are good ones, of so many good and bad."""
    if good <= 0 or drawn <= 0:
        return 0
    if bad <= 0:
        return drawn
    total = good + bad
    if 2 * good > total:
        return drawn - draw_hypergeometric(rng, bad, good, drawn)
    if 2 * drawn > total:
        return good - draw_hypergeometric(rng, good, bad, total - drawn)
    if drawn < _FEW:
        return _draw_one_by_one(rng, good, total, drawn)
    share = good / total
    mean = drawn * share
    variance = (total - drawn) / (total - 1) * drawn * share * (1 - share)
    spread = math.sqrt(variance + 0.5)
    width = _D1 * spread + _D2
    mode = (drawn + 1) * (good + 1) // (total + 2)
    at_mode = log_hypergeometric(mode, good, bad, drawn)
    highest = min(drawn, good, math.floor(mean + _WIDE * spread))
    while True:
        uniform, place = rng.random(), rng.random()
        if uniform == 0.0:
            continue
        number = mean + 0.5 + width * (place - 0.5) / uniform
        if number < 0 or number >= highest + 1:
            continue
        result = math.floor(number)
        if 2 * math.log(uniform) <= log_hypergeometric(result, good, bad, drawn) - at_mode:
            return result


def _draw_one_by_one(rng: np.random.Generator, good: int, total: int, drawn: int) -> int:
    left, found = good, 0
    for k in range(drawn):
        if int(rng.integers(total - k)) < left:
            left, found = left - 1, found + 1
    return found


def log_hypergeometric(x: int, good: int, bad: int, drawn: int) -> float:
    """Logarithm of the probability of x good ones."""
    if not max(0, drawn - bad) <= x <= min(drawn, good):
        return -math.inf
    total = good + bad
    p, q = drawn / total, (total - drawn) / total
    return (
        _log_binomial(x, good, p, q)
        + _log_binomial(drawn - x, bad, p, q)
        - _log_binomial(drawn, total, p, q)
    )


def _log_binomial(x: int, n: int, p: float, q: float) -> float:
    if x == 0:
        return n * math.log1p(-p) if p < 0.1 else n * math.log(q)
    if x == n:
        return n * math.log1p(-q) if q < 0.1 else n * math.log(p)
    errors = _stirling_error(n) - _stirling_error(x) - _stirling_error(n - x)
    deviances = _deviance(x, n * p) + _deviance(n - x, n * q)
    return errors - deviances - 0.5 * math.log(2 * math.pi * (x / n) * (n - x))


def _stirling_error(n: int) -> float:
    """log n! less Stirling's formula for it."""
    if n <= _SMALL:
        return math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - 0.5 * math.log(2 * math.pi)
    square = float(n) * n
    series = 1 / 1260 - (1 / 1680 - 1 / (1188 * square)) / square
    return (1 / 12 - (1 / 360 - series / square) / square) / n


def _deviance(x: float, mean: float) -> float:
    """x log(x / mean) + mean − x, without the loss of digits where they are close."""
    gap = x - mean
    if abs(gap) >= 0.1 * (x + mean):
        return x * math.log(x / mean) - gap
    v = gap / (x + mean)
    total, term = gap * v, 2 * x * v
    for j in range(1, 1000):
        term *= v * v
        added = total + term / (2 * j + 1)
        if added == total:
            break
        total = added
    return total
