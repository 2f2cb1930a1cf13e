"""What no derived answer can do: against programs that are solved by hand, and by search."""

import numpy as np
import pytest
from scipy.stats import chi2, ncx2

from fairaudit.data.columns import columns_from
from fairaudit.remedy.limit import _find_noncentrality, find_coarse_groups, find_limit

MANY = 10**12  # rows of an audit that sees everything


def _people(n, shift, seed=0):
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, (2, n))
    return y + shift * group + rng.normal(size=n), group, y


def _limit(score, group, y, *, attributes, rows=MANY, chance=0.75, kept=0.6):
    return find_limit([score], group, y, attributes=attributes, kept=kept, rows=rows, chance=chance)


def test_a_constant_is_left_where_every_function_of_the_score_differs_between_groups():
    """Two bins and different laws in both groups: equal rates mean π is one number."""
    group = np.repeat([0, 1], 800)
    y = np.tile(np.repeat([0, 1], 400), 2)
    high = [100, 300, 250, 390]  # of 400 each: group 0 class 0, group 0 class 1, ...
    score = np.concatenate([np.repeat([1.0, 0.0], [k, 400 - k]) for k in high])
    blind = _limit(score, group, y, attributes=False)
    assert blind.estimate.loss == pytest.approx(0.5, abs=1e-4)
    assert blind.estimate.ranking == pytest.approx(0.5, abs=1e-3)
    seeing = _limit(score, group, y, attributes=True)
    # by hand: the ROC of group 0 has the corner (.25, .75), that of group 1 (.625, .975); the
    # lower of the two at every rate: the first meets the second's line tpr = 1.56 fpr
    by_hand = min(
        (fpr + 1 - min(tpr, _roc(fpr, 0.625, 0.975))) / 2
        for fpr in np.linspace(0, 1, 2001)
        for tpr in [_roc(fpr, 0.25, 0.75)]
    )
    assert seeing.estimate.loss == pytest.approx(by_hand, abs=1e-3)
    assert not seeing.impossible
    sure = _limit(score, group, y, attributes=False, rows=1600)
    assert sure.sure.ranking < 0.65 and sure.impossible == (sure.sure.ranking < sure.kept)


def _roc(fpr, x, top):
    return top / x * fpr if fpr <= x else top + (1 - top) / (1 - x) * (fpr - x)


def test_a_fair_score_loses_nothing():
    """The noise of the rows is not taken for unfairness."""
    score, group, y = _people(4000, 0.0)
    limit = _limit(score, group, y, attributes=False, rows=4000)
    best = min(((score > t) != y).mean() for t in np.linspace(-2, 3, 200))
    assert limit.sure.loss < best + 0.002
    assert limit.sure.ranking > 0.74  # plain: Φ(1/√2) = .76


def test_smaller_audits_and_known_attributes_leave_more():
    score, group, y = _people(4000, 1.0)
    seeing = [_limit(score, group, y, attributes=True, rows=n) for n in (200, 2000, 20_000)]
    blind = [_limit(score, group, y, attributes=False, rows=n) for n in (200, 2000, 20_000)]
    for limits in (seeing, blind):
        losses = [limit.estimate.loss for limit in limits]
        assert losses == sorted(losses)
        assert all(limit.sure.loss <= limit.estimate.loss + 1e-9 for limit in limits)
        bounds = [limit.estimate for limit in limits]
        assert all(bound.ranking >= bound.ranking_of_labels - 1e-6 for bound in bounds)
    pairs = zip(seeing, blind, strict=True)
    assert all(a.estimate.loss <= b.estimate.loss + 1e-9 for a, b in pairs)


def test_no_random_answer_within_the_ball_is_better():
    """Draws of π that an audit of 500 rows would let pass: none has a smaller loss."""
    score, group, y = _people(3000, 1.0, seed=4)
    limit = _limit(score, group, y, attributes=False, rows=500)
    edges = np.quantile(score, np.linspace(0, 1, 21)[1:-1])
    bins = np.searchsorted(edges, score)
    radius = _find_noncentrality(2, 0.75, 0.05)
    rng, losses = np.random.default_rng(5), []
    for _ in range(3000):
        threshold, low, high = rng.integers(0, 20), *np.sort(rng.random(2))
        up = np.where(np.arange(20) > threshold, high, low)[bins]
        apart = 0.0
        for c in (0, 1):
            for g in (0, 1):
                rows = (y == c) & (group == g)
                size = rows.mean() * 500
                apart += 4 * size * (up[rows].mean() - up[y == c].mean()) ** 2
        if apart <= radius:
            losses.append(np.where(y == 1, 1 - up, up).mean())
    assert len(losses) > 100
    assert min(losses) >= limit.estimate.loss - 1e-6


def test_the_noncentrality_is_that_of_the_chance():
    for directions in (2, 6, 30):
        size = _find_noncentrality(directions, 0.75, 0.05)
        passes = ncx2.cdf(chi2.ppf(0.95, directions), directions, size)
        assert passes == pytest.approx(0.75, abs=1e-6)
    assert _find_noncentrality(6, 0.96, 0.05) == 0.0


def test_groups_are_coarser_than_the_attributes():
    rng = np.random.default_rng(6)
    age, race = (
        rng.integers(20, 80, 2000),
        rng.choice(["a", "b", "rare"], 2000, p=[0.5, 0.49, 0.01]),
    )
    columns = columns_from({"age": age, "race": race}, argument="sensitive_features")
    groups = find_coarse_groups(columns, rng.integers(0, 2, 2000))
    assert len(np.unique(groups)) == 7  # three ranges of two races, and the rest
    same = groups[(race == "a") & (age < 35)]
    assert len(np.unique(same)) == 1
