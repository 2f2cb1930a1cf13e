"""`fairaudit.metrics.group_confusion`, and what audits say of more than two classes."""

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.evidence.disclosure import suppressed_measurements
from fairaudit.evidence.measurements import measure

CLASSES = ["gold", "none", "silver"]


def medals(rows=1500, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m", "x"], rows, p=[0.5, 0.4, 0.1])
    y = rng.choice(CLASSES, rows, p=[0.2, 0.5, 0.3])
    right = rng.random(rows) < 0.7 - 0.3 * ((sex == "f") & (y == "gold"))
    return np.where(right, y, rng.choice(CLASSES, rows)), sex, y


def test_shares_are_those_of_crosstab():
    label, sex, y = medals()
    result = fa.metrics.group_confusion(label, sensitive={"sex": sex}, y_true=y)
    expected = pd.crosstab([sex, y], label, normalize="index")
    for cell in result.cells:
        share = expected.loc[(cell.levels[0], cell.outcome), cell.predicted]
        assert cell.share.value == pytest.approx(share)
    spreads = expected.groupby(level=1).agg(np.ptp).stack()
    assert result.value == pytest.approx(spreads.max()) and result.largest == spreads.idxmax()
    assert len(result.to_frame()) == 27


def test_shares_are_weighted_and_the_diagonal_is_the_rate_of_each_class():
    label, sex, y = medals()
    weights = np.random.default_rng(1).uniform(0.5, 5, len(y))
    given = {"sensitive": {"sex": sex}, "y_true": y, "weights": weights}
    result = fa.metrics.group_confusion(label, **given)
    for name in CLASSES:
        rates = fa.metrics.group_rates(label, positive=name, **given)
        own = [cell.share for cell in result.cells if cell.outcome == cell.predicted == name]
        for share, group in zip(own, rates.cells, strict=True):
            assert share.value == pytest.approx(group.tpr.value)
            assert (share.count, share.n) == (group.tpr.count, group.tpr.n)
            assert share.low < share.value < share.high and share.effective_n < share.n


def test_the_largest_of_probabilities_is_the_label():
    label, sex, y = medals()
    scores = pd.get_dummies(label)[CLASSES].astype(float) * 0.5 + 0.1
    first, second = (
        fa.metrics.group_confusion(prediction, sensitive={"sex": sex}, y_true=y)
        for prediction in (label, scores)
    )
    assert first.value == second.value and first.cells == second.cells


def test_a_continuous_outcome_has_no_confusion():
    with pytest.raises(fa.InputError, match="a confusion needs classes"):
        fa.metrics.group_confusion([0.5, 0.1] * 30, sensitive=[0, 1] * 30, y_true=np.arange(60) / 7)


def test_an_audit_of_many_classes_measures_all_of_them():
    label, sex, y = medals()
    table = fa.AuditTable.of(label, {"sex": sex}, y)
    found = measure(table)
    size = next(value for value in found.values if value.key == "confusion_gap")
    assert size.value == fa.metrics.group_confusion(label, {"sex": sex}, y).value
    assert size.note == "share predicted gold among gold"
    assert found.cells.columns == ("TPR gold", "TPR none", "TPR silver")
    result = fa.audit(
        predictions=label,
        outcome=y,
        sensitive={"sex": sex},
        tolerance={"confusion_gap": 0.9},
        permutations=fa.Permutations(n=39),
    )
    assert result.verdict.value == "no violation found" and "confusion_gap" in result.because


def test_small_groups_are_masked_in_all_classes():
    label, sex, y = medals(600)
    table = fa.AuditTable.of(label, {"sex": sex}, y)
    found = suppressed_measurements(measure(table), table, 30)
    masked = [cell for cell in found.cells.cells if cell.masked]
    assert ("x",) in [cell.levels for cell in masked] and len(masked) == 2
    assert all(estimate.value is None for cell in masked for estimate in cell.estimates)
    size = next(value for value in found.values if value.key == "confusion_gap")
    assert size.value is None and "masked" in size.note


def test_gaps_and_certificates_of_all_classes():
    label, sex, y = medals(3000)
    result = fa.audit(
        predictions=label,
        outcome=y,
        sensitive={"sex": sex},
        certify={"confusion_gap": 0.5},
        permutations=fa.Permutations(n=39),
    )
    assert result.gaps.of_classes and len(result.gaps.gaps) == 27
    gap = {(gap.rate, gap.levels[0]): gap for gap in result.gaps.gaps}
    among = y == "gold"
    said = label == "silver"
    expected = said[among & (sex == "f")].mean() - said[among & (sex != "f")].mean()
    assert gap["gold → silver", "f"].value == pytest.approx(expected)
    assert gap["gold → gold", "f"].high < 0 and gap["none → none", "m"].low < 0
    (certificate,) = result.certificates
    assert certificate.holds and certificate.value < certificate.upper < 0.5
    assert certificate.value == fa.metrics.group_confusion(label, {"sex": sex}, y).value
    for form in ("txt", "md", "html"):
        assert "gold → gold" in result.render(form)
    assert result.suppressed(30).gaps is not None and result.suppressed(100).gaps is None


def test_intervals_of_all_classes_hold_together_where_equalized_odds_holds():
    """The FPR of one class against the rest differs there, where groups mix classes otherwise."""
    covered, crossed = [], []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        sex = rng.integers(0, 2, 1600)
        y = np.where(rng.random(1600) < 0.15 + 0.7 * sex, rng.integers(0, 2, 1600), 2)
        chance = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.05, 0.1, 0.85]])
        label = (rng.random(1600)[:, None] > np.cumsum(chance, axis=1)[y]).sum(axis=1)
        options = {"kinds": {"y_true": "categorical", "y_pred": "categorical"}}
        gaps = fa.gap_intervals(label, {"sex": sex}, y, seed=seed, **options).gaps
        assert len(gaps) == 18
        covered.append(all(gap.low <= 0 <= gap.high for gap in gaps))
        one = fa.gap_intervals(label, {"sex": sex}, y, positive=0, **options).gaps
        crossed.append(all(gap.low <= 0 <= gap.high for gap in one))
    assert np.mean(covered) > 0.95 - 3.7 * np.sqrt(0.95 * 0.05 / 120)
    assert np.mean(crossed) < 0.5
