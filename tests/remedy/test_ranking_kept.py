"""Whether half of the ranking is kept, and what rows can show of it."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from fairaudit.data.columns import columns_from
from fairaudit.data.table import AuditTable
from fairaudit.remedy.collapse import KEPT, _rank_both, collapse, ranking_in_doubt
from fairaudit.remedy.judgment import _doubt_ranking
from fairaudit.remedy.rows import Audited


def _tables(scores, y):
    sex = np.arange(len(y)) % 2
    return [AuditTable.of(score, {"sex": sex}, y) for score in scores]


def _half_kept_of_classes(rng, rows):
    """AUC 0.80 before, 0.65 after, from normal scores that share some noise."""
    y = (rng.random(rows) < 0.3).astype(int)
    common = rng.normal(size=rows)
    before, after = (
        np.sqrt(2) * norm.ppf(auc) * y + 0.6 * common + 0.8 * rng.normal(size=rows)
        for auc in (0.8, 0.65)
    )
    return _tables((norm.cdf(after), norm.cdf(before)), y)


def _half_kept_of_numbers(rng, rows):
    y = rng.normal(size=rows)
    before, after = (r * y + np.sqrt(1 - r**2) * rng.normal(size=rows) for r in (0.8, 0.4))
    return _tables((after, before), y)


@pytest.mark.parametrize("draw", [_half_kept_of_classes, _half_kept_of_numbers])
def test_the_error_is_the_spread_over_samples_and_five_percent_are_let_through(draw):
    rng, found, shown = np.random.default_rng(5), [], 0
    for _ in range(400):
        after, before = draw(rng, 400)
        own, others = _rank_both(after, before)
        found.append(own.above(others, KEPT, None))
        shown += ranking_in_doubt(after, before) is None
    above, errors = np.array(found).T
    assert abs(above.mean()) < 4 * above.std() / 20  # half is kept, neither more nor less
    assert abs(errors.mean() / above.std() - 1) < 4 / np.sqrt(2 * 400)
    assert 0.01 < shown / 400 < 0.10


def test_labels_of_several_rows_alike_have_the_error_of_pairs():
    """Against all pairs, ties as halves."""
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, 300)
    score = (y + rng.normal(size=300) > 0.5).astype(float)
    after, before = _tables((score, score + rng.normal(size=300) / 3), y)
    ranking = _rank_both(after, before)[0]
    pairs = np.sign(score[y == 1][:, None] - score[y == 0]) / 2
    assert ranking.value == pytest.approx(pairs.mean())
    inside = (pairs.mean(axis=1) - pairs.mean()) * 300 / pairs.shape[0]
    outside = (pairs.mean(axis=0) - pairs.mean()) * 300 / pairs.shape[1]
    assert ranking.influence[y == 1] == pytest.approx(inside)
    assert ranking.influence[y == 0] == pytest.approx(outside)


def test_many_rows_show_what_few_do_not():
    """Three quarters of the ranking are kept."""
    rng = np.random.default_rng(7)
    for rows, doubted in ((80, True), (8000, False)):
        y = rng.integers(0, 2, rows)
        noise = rng.normal(size=rows)
        scores = (norm.cdf(0.67 * y + noise), norm.cdf(y + noise))
        after, before = _tables(scores, y)
        assert collapse(after, before) is None
        assert (ranking_in_doubt(after, before) is not None) is doubted
        audited = SimpleNamespace(p_value=0.3)
        audits = [Audited(audited, None, table) for table in (before, after)]
        told = _doubt_ranking(*audits)
        assert (told is not None) is doubted
        if doubted:
            assert "(p = 0.3), but 80 rows do not show that half of the ranking is kept (A" in told


def test_a_ranking_must_be_kept_more_clearly_to_be_chosen():
    rng = np.random.default_rng(8)
    verdicts = []
    for _ in range(200):
        after, before = _half_kept_of_classes(rng, 400)
        verdicts.append([collapse(after, before, sure=sure) is None for sure in (0.0, 1.0)])
    kept = np.mean(verdicts, axis=0)
    assert 0.35 < kept[0] < 0.65 and 0.05 < kept[1] < 0.28  # 1/2, and 0.16 beyond one error


def test_rows_of_one_person_tell_as_much_as_one():
    rng = np.random.default_rng(9)
    y = rng.integers(0, 2, 200)
    noise = rng.normal(size=200)
    scores = [norm.cdf(0.67 * y + noise), norm.cdf(y + noise)]
    alone = _rank_both(*_tables(scores, y))
    four = _rank_both(*_tables([np.repeat(score, 4) for score in scores], np.repeat(y, 4)))
    people = columns_from({"id": np.repeat(np.arange(200), 4)}, argument="ids")[0]
    (_, once), (_, counted) = (pair[0].above(pair[1], KEPT, None) for pair in (alone, four))
    assert counted == pytest.approx(once / 2, rel=0.02)
    assert four[0].above(four[1], KEPT, people)[1] == pytest.approx(once, rel=0.02)
