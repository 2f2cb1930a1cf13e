"""Simultaneous intervals, upper bounds and certificates."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import binom, norm
from verdicts import verdict_of

import fairaudit as fa
from fairaudit.auditing.audit_result import AuditResult
from fairaudit.data.rates import RateTable
from fairaudit.evidence.intervals import bounds, gaps, kpc_bound
from fairaudit.evidence.intervals.bounds import deo_bound, gap_bound
from fairaudit.evidence.intervals.certificates import Certificate
from fairaudit.evidence.intervals.gaps import newcombe, wider_limits
from fairaudit.metrics._labels import label_groups
from fairaudit.metrics._rates import wilson
from fairaudit_cli.main import main
from fairaudit_reports.machine import badge


def find_tied_blocks(rate, size, **changes):
    """Groups × outcomes."""
    rate, size = np.array(rate, float).T, np.array(size, float).T
    levels = tuple((str(k),) for k in range(rate.shape[1]))
    return replace(RateTable(levels=levels, rate=rate, size=size, weight=size), **changes)


def rates_of(*given, **options):
    return label_groups(fa.AuditTable.of(*given, **options)).rates()


def labels(n=2000, groups=3, seed=0, gap=0.0):
    rng = np.random.default_rng(seed)
    y, z = rng.integers(0, 2, n), rng.integers(0, groups, n)
    label = (rng.random(n) < 0.3 + 0.4 * y + gap * (z == 0)).astype(int)
    return label, pd.DataFrame({"z": pd.Categorical(z.astype(str))}), y


@pytest.mark.parametrize("sizes", [(5, 40), (20, 20), (30, 200)])
def test_the_bound_of_one_gap_fails_with_probability_alpha_at_most(sizes):
    """All tables there can be, with their exact probabilities; gaps of up to 0.3."""
    first, second = (np.arange(n + 1) for n in sizes)
    uppers = np.array(
        [
            [
                gap_bound(
                    find_tied_blocks(
                        [[0.5, a / sizes[0]], [0.5, b / sizes[1]]], [[9, sizes[0]], [9, sizes[1]]]
                    ),
                    1,
                    0.05,
                )[1]
                for b in second
            ]
            for a in first
        ]
    )
    rates = [0, 0.003, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97, 0.99, 0.997, 1]
    for p, q in product(rates, rates):
        if abs(p - q) <= 0.3:
            missed = uppers < abs(p - q) - 1e-12
            chance = binom.pmf(first, sizes[0], p) @ missed @ binom.pmf(second, sizes[1], q)
            assert chance <= 0.05, (p, q)


def test_the_bound_of_deo_is_the_largest_over_all_signs(monkeypatch):
    cells = find_tied_blocks([[0.2, 0.7], [0.3, 0.75], [0.25, 0.6]], [[50, 40], [80, 30], [20, 60]])
    value, upper = deo_bound(cells, 0.05)
    best = 0.0
    for signs in product((-1, 1), repeat=6):
        total = spread = 0.0
        for y in (0, 1):
            s, rate, size = np.array(signs[3 * y :][:3]), cells.rate[y], cells.size[y]
            below, above = bounds._reach(rate, size, 0.05)
            share = size / size.sum()
            gaps = np.eye(3) - share  # row z: what the rates contribute to the gap of group z
            factor = s @ gaps
            total += s @ (rate - share @ rate)
            spread += (factor**2 * np.where(factor > 0, above, below) ** 2).sum()
        best = max(best, total + np.sqrt(spread))
    assert upper == pytest.approx(best)
    monkeypatch.setattr(bounds, "MOST_SIGNS", 2)  # the short way is higher, never lower
    assert deo_bound(cells, 0.05)[1] > upper and deo_bound(cells, 0.05)[0] == pytest.approx(value)


def test_related_errors_are_added_up():
    cells = find_tied_blocks([[0.2, 0.7], [0.3, 0.75]], [[50, 40], [80, 30]])
    same = replace(cells, groups_apart=False)
    assert gap_bound(same, 1, 0.05)[1] > gap_bound(cells, 1, 0.05)[1]
    assert deo_bound(replace(cells, outcomes_apart=False), 0.05)[1] > deo_bound(cells, 0.05)[1]


def test_the_estimates_are_those_of_the_metrics():
    label, frame, y = labels()
    limits = dict.fromkeys(["deo", "equalized_odds_difference", "kpc"], 0.1)
    found = {
        certificate.measure: certificate
        for certificate in fa.certify(label, sensitive=frame, y_true=y, limits=limits)
    }
    for name, certificate in found.items():
        measured = getattr(fa.metrics, name)(label, frame, y)
        assert certificate.value == pytest.approx(float(measured))
        assert certificate.upper > max(certificate.value, 0)
    rates = fa.metrics.group_rates(label, sensitive=frame, y_true=y)
    tpr = [cell.tpr.value for cell in rates.cells]
    (certificate,) = fa.certify(label, sensitive=frame, y_true=y, limits={"tpr_gap": 0.1})
    assert certificate.value == pytest.approx(max(tpr) - min(tpr))


def rare_event(score):  # sparse features; every row of dense ones would have about 800
    return 1 / (1 + np.exp(9 - 3 * score))


@pytest.mark.parametrize("shape", [lambda score: score, rare_event], ids=["plain", "rare"])
def test_kpc_of_scores_is_bounded(shape):
    rng = np.random.default_rng(0)
    y, sex = rng.integers(0, 2, (2, 4000))
    for shift in (0.0, 0.5):
        score = shape(y + shift * sex + rng.normal(size=4000))
        (certificate,) = fa.certify(score, {"sex": sex}, y, {"kpc": 0.01})
        assert certificate.value == pytest.approx(float(fa.metrics.kpc(score, {"sex": sex}, y)))
        assert certificate.holds == (shift == 0)


def test_sparse_and_dense_spreads_agree():
    rng = np.random.default_rng(0)
    rows = rng.random((200, 40)) * (rng.random((200, 40)) < 0.3)
    expected = kpc_bound._spread(rows)
    assert kpc_bound._spread(csr_array(rows)) == pytest.approx(expected, rel=1e-9)
    covariance = np.cov(rows.T)
    assert expected == pytest.approx(
        (np.trace(covariance), np.linalg.norm(covariance, 2), (covariance**2).sum()), rel=1e-9
    )


def test_kpc_of_scattered_probabilities_is_not_bounded():
    rng = np.random.default_rng(0)
    score = np.exp(8 * rng.normal(size=(3000, 3)))
    score /= score.sum(axis=1, keepdims=True) * 1e3 ** rng.integers(0, 9, (3000, 1))
    y, sex = rng.integers(0, 2, (2, 3000))
    with pytest.raises(fa.InputError, match="cannot be bounded for these predictions"):
        kpc_bound.kpc_bound(fa.AuditTable.of(score, {"sex": sex}, y), 0.05)


def test_sizes_are_a_mapping():
    with pytest.raises(fa.InputError, match="'certify' must map measures to sizes"):
        fa.audit(predictions=[0, 1], outcome=[0, 1], sensitive=[0, 1], certify="kpc=0.02")


def test_critical_values():
    label, frame, y = labels(groups=2)
    # the two gaps of one rate are the same but for their sign; the rates are independent
    sidak = norm.ppf((1 + 0.95**0.5) / 2)
    assert fa.gap_intervals(label, sensitive=frame, y_true=y).critical == pytest.approx(
        sidak, abs=0.03
    )
    label, frame, y = labels(groups=8)
    many = fa.gap_intervals(label, sensitive=frame, y_true=y).critical
    assert norm.ppf(1 - 0.05 / 16) < many <= norm.ppf(1 - 0.05 / 32) + 0.02
    again = fa.gap_intervals(
        label, sensitive=frame, y_true=y, ids=np.arange(len(y)) // 2
    )  # in several groups
    assert again.critical == pytest.approx(norm.ppf(1 - 0.05 / 32))


@pytest.mark.parametrize("sizes", [(5, 5), (5, 20), (5, 300), (10, 300)])
def test_gaps_of_a_few_people_are_covered(sizes):
    """By enumeration, at the critical value of two gaps (error .025); Wilson's limits miss more."""
    counts = np.meshgrid(*(np.arange(size + 1) for size in sizes), indexing="ij")
    rates = [
        (k / size, np.full(k.shape, float(size))) for k, size in zip(counts, sizes, strict=True)
    ]
    missed = {}
    for limits in (wilson, wider_limits):
        low, high = newcombe(rates[0], rates[1], 2.2414, limits=limits)
        outside = (low > 0) | (high < 0)
        missed[limits] = max(
            np.outer(*(binom.pmf(np.arange(size + 1), size, p) for size in sizes))[outside].sum()
            for p in np.linspace(0.01, 0.99, 99)
        )
    assert 0.005 < missed[wider_limits] <= 0.035
    assert sizes[1] < 300 or missed[wilson] > 0.06


def test_labels_of_unknown_weight_may_be_as_heavy_as_any():
    """Nobody is predicted positive: the rate of 0 is worth W / u rows, u by squared weights."""
    weights = np.tile(np.r_[10.0, np.ones(9)], 40)
    groups = label_groups(
        fa.AuditTable.of(
            np.zeros(400, dtype=int),
            {"sex": ["f", "m"] * 200},
            [1] * 400,
            weights=weights,
            positive=1,
        )
    )
    size, rows = groups.rates().size[1], groups.counts[1].sum(axis=1)
    assert rows.tolist() == [200, 200]
    for k, own in enumerate((weights[::2], weights[1::2])):
        assert size[k] == pytest.approx(own.sum() * (own**2).sum() / (own**3).sum())


def test_a_person_counts_once():
    label, frame, y = labels(600)
    twice = [
        np.repeat(label, 2),
        frame.loc[frame.index.repeat(2)].reset_index(drop=True),
        np.repeat(y, 2),
    ]
    once = rates_of(label, frame, y)
    both = rates_of(*twice, ids=np.arange(1200) // 2)
    np.testing.assert_allclose(both.size, once.size, rtol=0.02)  # n − 1 instead of n
    weighted = rates_of(label, frame, y, weights=np.full(600, 3.0))
    np.testing.assert_allclose(weighted.size, once.size)
    assert both.groups_apart and both.outcomes_apart


def answers(label, frame, y, **options):
    table = fa.gap_intervals(label, frame, y, **options)
    shown = fa.certify(label, frame, y, {"deo": 0.1, "tpr_gap": 0.1}, **options)
    return [(gap.low, gap.high) for gap in table.gaps] + [
        (certificate.value, certificate.upper) for certificate in shown
    ]


@pytest.mark.parametrize("ids", [None, np.arange(600) // 3])
def test_equal_weights_change_no_interval_and_no_certificate(ids):
    label, frame, y = labels(600)
    weighted = answers(label, frame, y, ids=ids, weights=np.full(600, 0.3))
    np.testing.assert_allclose(weighted, answers(label, frame, y, ids=ids), rtol=1e-9)


def test_weights_related_to_the_label_make_rates_worth_fewer_rows():
    """Kish's size does not ask whose weights are large: 5:1 leaves it at .78 of the rows."""
    rng = np.random.default_rng(0)
    y, z = np.ones(4000, dtype=int), pd.DataFrame({"z": rng.choice(list("ab"), 4000)})
    label = (rng.random(4000) < 0.022).astype(int)  # weighted: 0.10
    weights = np.where(label == 1, 5.0, 1.0)
    cells = rates_of(label, z, y, weights=weights)
    np.testing.assert_allclose(cells.size[1], 0.24 * 2000, rtol=0.15)
    people = rates_of(
        *(np.repeat(x, 2) for x in (label, z["z"].to_numpy(), y)),
        weights=np.repeat(weights, 2),
        ids=np.arange(8000) // 2,
    )
    np.testing.assert_allclose(people.size, cells.size, rtol=0.1)


def test_the_rest_is_worth_what_the_variance_of_its_rows_says():
    """90 % of the rest have a rate of .01 and are well known, 10 % one of .5 and 10 rows."""
    rate, share = np.array([0.3, 0.01, 0.5]), np.array([0.2, 0.72, 0.08])
    size = np.array([500.0, 10_000.0, 10.0])
    rest = np.array([0.059])
    found = gaps._rest_size(rate, size, share, np.full(3, rest))[0]
    variance = 0.9**2 * 0.01 * 0.99 / 10_000 + 0.1**2 * 0.5 * 0.5 / 10
    assert 0.5 * variance < rest[0] * (1 - rest[0]) / found - variance < variance
    counts = np.array([40.0, 30.0, 20.0])  # without weights: the number of rows
    share = counts / counts.sum()
    rest = (share @ rate - share * rate) / (1 - share)
    np.testing.assert_allclose(gaps._rest_size(rate, counts, share, rest), 90 - counts)
    none = gaps._rest_size(np.zeros(3), counts, share, np.zeros(3))
    np.testing.assert_allclose(none, 90 - counts)


def test_weights_and_people_in_a_group_where_all_labels_agree():
    """Nobody of a is predicted positive; elsewhere such rows are 10 times as heavy."""
    label = np.array([0] * 100 + [1, 1, 0, 0] * 25)
    z, y = pd.DataFrame({"z": ["a"] * 100 + ["b"] * 100}), np.ones(200, dtype=int)
    weights = np.where(label == 1, 10.0, 1.0)
    rows = rates_of(label, z, y, weights=weights)
    both = rates_of(label, z, y, weights=weights, ids=np.arange(200) // 2)
    assert rows.size[1, 0] == pytest.approx(100 / 10)
    assert both.size[1, 0] == pytest.approx(50 / 10)


SHOWN = Certificate(measure="deo", limit=0.05, value=0.02, upper=0.04, confidence=0.95)
UNSHOWN = replace(SHOWN, upper=0.2)


@pytest.mark.parametrize(
    ("given", "changes", "verdict"),
    [
        ([SHOWN], {"p_value": 0.5}, "equivalent within tolerance"),
        ([SHOWN], {"p_value": 0.001}, "equivalent within tolerance"),
        ([SHOWN, UNSHOWN], {"p_value": 0.5}, "inconclusive"),
        ([UNSHOWN], {"p_value": 0.001}, "violation"),
        ([UNSHOWN], {"p_value": 0.001, "tolerance": {"kpc": 0.01}}, "inconclusive"),
        ([replace(SHOWN, upper=None, note="why")], {"p_value": 0.5}, "inconclusive"),
        ([SHOWN], {"inconclusive": "why"}, "inconclusive"),
        ([SHOWN], {"p_value": None}, "inconclusive"),
    ],
)
def test_decide(given, changes, verdict):
    found, because = verdict_of(certificates=given, **changes)
    assert found == verdict and because.lower().startswith(verdict)


def test_a_group_without_rows_of_an_outcome_cannot_be_certified():
    label, frame, y = labels(groups=2)
    y = np.where((frame["z"] == "0") & (np.arange(len(y)) % 50 > 0), 0, y)
    y[frame["z"] == "0"] = 0
    tpr, fpr = fa.certify(label, sensitive=frame, y_true=y, limits={"tpr_gap": 0.9, "fpr_gap": 0.9})
    assert not tpr.holds and tpr.upper is None and "no rows to estimate the TPR from" in tpr.note
    assert fpr.holds


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"certify": {"codec": 0.1}}, "no certificate of 'codec'"),
        ({"certify": {"deo": 0.0}}, "must be above 0"),
        ({"sensitive": {"age": np.linspace(0, 1, 2000)}}, "No certificate is possible with age"),
        (
            {"outcome": np.linspace(0, 1, 2000)},
            "No certificate of deo is possible with the outcome",
        ),
        ({"certify": {"prediction_gap": 0.1}}, "prediction_gap is possible with the outcome"),
        ({"certify": {"kpc": 0.1}, "ids": np.arange(2000) // 2}, "KPC cannot be certified"),
    ],
)
def test_what_cannot_be_certified(change, message):
    label, frame, y = labels()
    given = {"predictions": label, "outcome": y, "sensitive": frame, "certify": {"deo": 0.1}}
    with pytest.raises(fa.InputError, match=message):
        fa.audit(**(given | change), permutations=fa.Permutations(n=19))


def test_masked_groups_give_nothing_away():
    label, frame, y = labels(400)
    frame["z"] = frame["z"].cat.add_categories("rare")
    frame.iloc[:6, 0] = "rare"
    y[:6] = [0, 1, 0, 1, 0, 1]
    result = fa.audit(
        predictions=label,
        outcome=y,
        sensitive=frame,
        certify={"deo": 3.0, "tpr_gap": 0.01},
        permutations=fa.Permutations(n=19),
    )
    shown = result.suppressed(10)
    hidden = [gap for gap in shown.gaps.gaps if gap.value is None]
    assert ("rare",) in {gap.levels for gap in hidden} and len(hidden) == 4
    for before, after in zip(result.certificates, shown.certificates, strict=True):
        assert after.value is None and after.holds == before.holds
        assert round(after.upper, 2) == after.upper >= min(before.upper, before.limit)
    assert result.suppressed(10).suppressed(20).gaps is not None


@pytest.fixture
def table(tmp_path):
    label, frame, y = labels(3000, groups=2)
    frame.assign(y=y, label=label).to_csv(tmp_path / "test.csv", index=False)
    return [
        "test",
        "--data",
        str(tmp_path / "test.csv"),
        "--predictions",
        "label",
        "--outcome",
        "y",
        "--sensitive",
        "z:categorical",
        "--permutations",
        "99",
        "--json",
    ]


def test_command(table, capsys, tmp_path):
    assert main([*table, "--certify", "tpr_gap=0.2,kpc=0.05"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["verdict"] == "equivalent within tolerance"
    result = AuditResult.from_dict(record)
    assert badge.describe_verdict(result) == "certified tpr_gap ≤ 0.2, kpc ≤ 0.05"
    assert badge.render(result).startswith("<svg")
    assert main([*table, "--certify", "deo=0.01"]) == 3
    record = json.loads(capsys.readouterr().out)
    assert record["verdict"] == "inconclusive" and "neither" in record["because"]
    assert "certified" not in badge.render(AuditResult.from_dict(record))
    settings = tmp_path / "fairaudit.toml"
    settings.write_text("certify = { tpr_gap = 0.2 }\n")
    assert main([*table, "--config", str(settings)]) == 0


def test_an_older_record_without_gaps_is_read():
    label, frame, y = labels(200)
    result = fa.audit(
        predictions=label, outcome=y, sensitive=frame, permutations=fa.Permutations(n=19)
    )
    record = result.to_dict()
    assert AuditResult.from_dict(record) == result
    del record["gaps"], record["certificates"]
    assert AuditResult.from_dict(record).gaps is None
