"""Local lines along the outcome: the arithmetic by brute force, windows, ties, cells."""

from __future__ import annotations

import numpy as np
import pytest

from fairaudit.geometry import outcome_smoother
from fairaudit.geometry.outcome_smoother import OutcomeSmoother


def fit_without_row(y, x, row, width):
    """The row minus the least-squares line through its neighbors, by the definition."""
    order = np.argsort(y, kind="stable")
    ordered = y[order]
    first = np.searchsorted(ordered, y[row], side="left")
    last = np.searchsorted(ordered, y[row], side="right")
    low, high = max(first - width, 0), min(last + width, len(y))
    near = (y >= ordered[low]) & (y <= ordered[high - 1])  # equal outcomes are never divided
    near[row] = False
    if np.ptp(y[near]) == 0:
        return x[row] - x[near].mean()
    line = np.polynomial.Polynomial.fit(y[near], x[near], 1)
    return x[row] - line(y[row])


def choose_by_hand(y, x, widths):
    """The window with the smallest bounded leave-one-out error, wide ones first."""
    best, chosen, residuals = np.inf, None, None
    for width in widths:
        found = np.array([fit_without_row(y, x, row, width) for row in range(len(y))])
        squared = found**2
        error = np.minimum(squared, 25 * np.median(squared)).mean()
        if error < 0.98 * best:
            best, chosen, residuals = error, width, found
    return chosen, residuals


def columns_along(y, rng):
    return np.column_stack(
        [
            3 * y + rng.normal(size=len(y)),
            np.sin(9 * y) + 0.2 * rng.normal(size=len(y)),
            rng.standard_t(1.5, size=len(y)),
        ]
    )


@pytest.mark.parametrize("ties", [None, 1, 0], ids=["no ties", "tenths", "integers"])
def test_residuals_and_windows_are_those_of_the_definition(ties):
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    y = y if ties is None else np.round(y, ties)
    x = columns_along(y, rng)
    smoother = OutcomeSmoother(y)
    assert smoother.list_windows() == [60, 32, 16, 8, 4]
    found = smoother.remove(x)
    for column, expected in enumerate(x.T):
        width, residuals = choose_by_hand(y, expected, smoother.list_windows())
        assert found.windows[column] == width
        assert found.residuals[:, column] == pytest.approx(residuals, abs=1e-8)


def test_a_line_has_the_widest_window_and_a_wave_a_narrow_one():
    rng = np.random.default_rng(1)
    y = rng.normal(size=500)
    x = np.column_stack([2 * y, np.sin(12 * y)]) + 0.1 * rng.normal(size=(500, 2))
    line, wave = OutcomeSmoother(y).remove(x).windows
    assert line == 500 and wave <= 16


@pytest.mark.parametrize("n", [200, 5_000])
def test_the_order_of_the_rows_does_not_matter(n):
    rng = np.random.default_rng(2)
    y = np.round(rng.normal(size=n), 5 if n < 1000 else 9)
    x = columns_along(y, rng)
    shuffled = rng.permutation(n)
    found = OutcomeSmoother(y).remove(x)
    again = OutcomeSmoother(y[shuffled]).remove(x[shuffled])
    assert (found.windows == again.windows).all()
    assert again.residuals == pytest.approx(found.residuals[shuffled], abs=1e-8)


def test_one_outcome_leaves_deviations_from_the_mean_of_the_others():
    x = np.arange(10.0)
    residuals = OutcomeSmoother(np.full(10, 7.0)).remove(x[:, None]).residuals[:, 0]
    assert residuals == pytest.approx((x - x.mean()) * 10 / 9)


def test_cells_of_many_rows_are_close_to_the_rows_themselves(monkeypatch):
    rng = np.random.default_rng(3)
    y = rng.normal(size=10_000)
    x = np.column_stack([np.sin(3 * y), y**2, np.sign(y)]) + 0.5 * rng.normal(size=(10_000, 3))
    cells = OutcomeSmoother(y)
    assert len(cells.ends) == 4_096 and np.diff(cells.ends, prepend=0).max() <= 3
    by_cells = cells.remove(x)
    monkeypatch.setattr(outcome_smoother, "_MOST_CELLS", 10_000)
    rows = OutcomeSmoother(y)
    assert len(rows.ends) == 10_000
    by_rows = rows.remove(x)
    assert (np.abs(np.log2(by_cells.windows / by_rows.windows)) <= 1).all()
    errors = [(smoothed.residuals**2).mean(axis=0) for smoothed in (by_cells, by_rows)]
    assert errors[0] == pytest.approx(errors[1], rel=0.01)
    same = by_cells.windows == by_rows.windows
    apart = ((by_cells.residuals - by_rows.residuals) ** 2).mean(axis=0) / errors[1]
    assert same.sum() >= 2 and (apart[same] < 1e-3).all()


def test_windows_of_many_rows_with_few_outcomes_rest_on_many_of_them():
    """They were chosen on one row of every outcome: with 25 outcomes on 25 rows of 6,000."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, 25, 6_000).astype(float)
    straight = y[:, None] + 5 * rng.normal(size=(6_000, 30))
    assert (OutcomeSmoother(y).remove(straight).windows == 6_000).all()
