"""KPC against a second route, against theory, and under transformations that must not matter."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import naive_kpc

import fairaudit as fa
from fairaudit.data.columns import columns_from
from fairaudit.data.encode import encode
from fairaudit.geometry.bandwidth import median_distance
from fairaudit.geometry.kernels import (
    EXACT,
    FeatureMap,
    GridFeatures,
    feature_map,
    has_grid,
    kernel_named,
    low_rank_features,
)
from fairaudit.geometry.neighbors import neighbor_graph
from fairaudit.geometry.spanning_tree import spanning_tree
from fairaudit.geometry.tied_blocks import find_tied_blocks

kpc, codec = fa.metrics.kpc, fa.metrics.codec


def table(n=120, seed=0, rounded=False):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    race = rng.choice(["a", "b", "c", "d"], n, p=[0.6, 0.3, 0.07, 0.03])
    sex = rng.choice(["f", "m"], n)
    age = rng.integers(18, 70, n) if rounded else rng.normal(40, 12, n)
    u = rng.normal(size=n) + y + 0.7 * (race == "b") + 0.02 * age
    return u, pd.DataFrame({"race": race, "sex": sex, "age": age}), y


@pytest.mark.parametrize("knn", [1, 3, 20])
@pytest.mark.parametrize("kernel", ["rbf", "laplace", "linear", "discrete"])
@pytest.mark.parametrize("columns", [["race", "sex"], ["age"], ["race", "sex", "age"]])
@pytest.mark.parametrize("rounded", [False, True])
def test_equals_the_quadratic_version(knn, kernel, columns, rounded):
    u, frame, y = table(rounded=rounded)
    u = np.round(u, 1) if rounded else u
    a = encode(columns_from(frame[columns], argument="sensitive"))
    expected = naive_kpc(u, a, y[:, None].astype(float), knn, kernel)
    assert float(
        kpc(u, sensitive=frame[columns], y_true=y, knn=knn, kernel=kernel)
    ) == pytest.approx(expected, abs=1e-10)
    unconditional = naive_kpc(u, a, None, knn, kernel)
    assert float(kpc(u, frame[columns], knn=knn, kernel=kernel)) == pytest.approx(
        unconditional, abs=1e-10
    )


def test_low_rank_route_equals_the_quadratic_version():
    # Two cells of 600 rows: far more than 64 pairs per row, so features are used.
    rng = np.random.default_rng(3)
    y, a = rng.integers(0, 2, (2, 1200))
    for u in (rng.normal(size=1200) + a, rng.dirichlet([1, 2, 3], 1200)):
        expected = naive_kpc(u, a[:, None].astype(float), y[:, None].astype(float), 1)
        assert float(kpc(u, sensitive=a, y_true=y)) == pytest.approx(expected, abs=1e-10)
    spiked = np.concatenate([np.geomspace(1, 1e8, 600), rng.normal(size=600)])  # no low rank
    for kernel in ("laplace", "rbf"):  # all pairs, and sparse features
        expected = naive_kpc(spiked, a[:, None].astype(float), y[:, None].astype(float), 1, kernel)
        assert float(kpc(spiked, sensitive=a, y_true=y, kernel=kernel)) == pytest.approx(
            expected, abs=1e-10
        )


def test_a_tie_set_larger_than_the_query_is_seen_whole():
    # One point in the middle of 40 others at the same distance.
    angle = np.linspace(0, 2 * np.pi, 41)[:-1]
    points = np.vstack([[0.0, 0.0], np.column_stack([np.cos(angle), np.sin(angle)])])
    cells = find_tied_blocks(columns_from(points, argument="sensitive"), len(points))
    graph = neighbor_graph(points, cells, 1)
    middle = cells.of_row[0]
    assert graph.weight[graph.source == middle] == pytest.approx(np.full(40, 1 / 40))


@given(st.integers(0, 10_000), st.integers(1, 6), st.booleans())
@settings(max_examples=30, deadline=None)
def test_invariances(seed, knn, rounded):
    u, frame, y = table(80, seed, rounded)
    before = float(kpc(u, sensitive=frame, y_true=y, knn=knn))
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(u))
    assert float(
        kpc(u[order], sensitive=frame.iloc[order], y_true=y[order], knn=knn)
    ) == pytest.approx(before, abs=1e-9)
    other = frame.assign(
        race=frame.race.map({"a": "z", "b": "y", "c": "x", "d": "w"}),
        sex=frame.sex == "f",
        age=frame.age * 365.25 + 1000,
    )
    assert float(kpc(u, sensitive=other, y_true=1 - y, knn=knn)) == pytest.approx(before, abs=1e-9)
    assert float(kpc(7 * u - 3, sensitive=frame, y_true=y, knn=knn)) == pytest.approx(
        before, abs=1e-9
    )
    assert float(codec(np.exp(u), sensitive=frame, y_true=y)) == pytest.approx(
        float(codec(u, sensitive=frame, y_true=y)), abs=1e-9
    )


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_is_the_squared_partial_correlation_in_the_linear_gaussian_model(beta):
    # U = αW + βV + ε: KPC with the linear kernel is β²/(1 + β²).
    values = []
    for seed in range(8):
        w, v, noise = np.random.default_rng(seed).normal(size=(3, 2000))
        values.append(
            float(kpc(0.8 * w + beta * v + noise, sensitive=v, y_true=w, kernel="linear", knn=5))
        )
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    # Neighbors differ a little in W and V, which biases T(W) and T(W, V) by O(K/n).
    assert np.mean(values) == pytest.approx(beta**2 / (1 + beta**2), abs=4 * error + 0.01)


def test_random_ties_average_to_the_tie_average():
    rng = np.random.default_rng(0)
    y, a = rng.integers(0, 3, 60), rng.integers(0, 3, (60, 2))
    u = rng.normal(size=60) + a[:, 0]
    for knn in (1, 4):
        drawn = [
            float(kpc(u, sensitive=a, y_true=y, knn=knn, ties="random", seed=s)) for s in range(400)
        ]
        error = np.std(drawn) / np.sqrt(len(drawn))
        # the ratio is nearly linear in its random parts; 4 standard errors and its curvature
        assert np.mean(drawn) == pytest.approx(
            float(kpc(u, sensitive=a, y_true=y, knn=knn)), abs=4 * error + 0.005
        )
    assert float(kpc(u, sensitive=a, y_true=y, ties="random", seed=5)) == float(
        kpc(u, sensitive=a, y_true=y, ties="random", seed=5)
    )
    drawn = [float(codec(u, sensitive=a, y_true=y, ties="random", seed=s)) for s in range(400)]
    error = np.std(drawn) / np.sqrt(len(drawn))
    assert np.mean(drawn) == pytest.approx(
        float(codec(u, sensitive=a, y_true=y)), abs=4 * error + 0.005
    )


def test_probability_pairs_and_scores_agree():
    u, frame, y = table()
    p = 1 / (1 + np.exp(-u))
    both = np.column_stack([1 - p, p])
    assert float(kpc(both, sensitive=frame, y_true=y)) == pytest.approx(
        float(kpc(p, sensitive=frame, y_true=y)), abs=1e-12
    )
    assert float(codec(both, sensitive=frame, y_true=y)) == float(
        codec(p, sensitive=frame, y_true=y)
    )


def test_labels_of_any_type_agree():
    u, frame, y = table()
    labels = (u > 1).astype(int)
    expected = float(kpc(labels, sensitive=frame, y_true=y))
    assert float(kpc(labels.astype(bool), sensitive=frame, y_true=y.astype(bool))) == pytest.approx(
        expected
    )
    words = np.where(labels == 1, "yes", "no")
    assert float(
        kpc(words, sensitive=frame, y_true=np.where(y == 1, "yes", "no"))
    ) == pytest.approx(expected)


def test_a_callable_kernel_equals_the_named_one():
    u, frame, y = table()
    named = kpc(u, sensitive=frame, y_true=y, kernel="laplace", bandwidth=2.0)
    own = kpc(u, sensitive=frame, y_true=y, kernel=lambda a, b: np.exp(-np.abs(a - b)[..., 0] / 2))
    assert float(own) == pytest.approx(float(named), abs=1e-12)


def test_spanning_tree_is_minimal():
    from scipy.sparse.csgraph import minimum_spanning_tree
    from scipy.spatial.distance import pdist, squareform

    rng = np.random.default_rng(0)
    for d in (1, 2, 5):
        for shift in (0, 1000):  # one cloud, or two far apart
            x = rng.normal(size=(300, d))
            x[:150] += shift
            i, j = spanning_tree(x)
            assert len(i) == 299
            length = np.sqrt(((x[i] - x[j]) ** 2).sum(axis=1)).sum()
            assert length == pytest.approx(minimum_spanning_tree(squareform(pdist(x))).sum())


def test_mst_finds_dependence_and_refuses_ties():
    rng = np.random.default_rng(0)
    y, a, noise = rng.normal(size=(3, 1500))
    assert float(kpc(y + a, sensitive=a, y_true=y, knn="mst")) > 0.7
    assert abs(float(kpc(y + noise, sensitive=a, y_true=y, knn="mst"))) < 0.1
    u, frame, outcome = table()
    with pytest.raises(fa.InputError, match="ties='random'"):
        kpc(u, sensitive=frame, y_true=outcome, knn="mst")
    assert np.isfinite(float(kpc(u, sensitive=frame, y_true=outcome, knn="mst", ties="random")))


@pytest.mark.parametrize("n", [2, 3, 50, 1999, 2500])
@pytest.mark.parametrize("values", ["continuous", "rounded", "binary", "heavy"])
def test_median_distance_is_exact(n, values):
    rng = np.random.default_rng(n)
    x = rng.standard_cauchy(n) if values == "heavy" else rng.normal(size=n)
    x = {"rounded": np.round(x, 1), "binary": (x > 0.5) * 1.0}.get(values, x)
    x[:2] = 0, 1
    pairs = np.abs(x[:, None] - x)[np.triu_indices(n, 1)]
    expected = np.median(pairs) or np.median(pairs[pairs > 0])
    assert median_distance(x[:, None]) == pytest.approx(expected, rel=1e-12)


def test_features_reproduce_the_kernel():
    u = np.random.default_rng(0).normal(size=(500, 2))
    kernel, _ = kernel_named("rbf", u)
    features, residual = low_rank_features(kernel, u)
    exact = kernel(u[:, None], u[None])
    assert np.abs(features.T @ features - exact).max() <= max(residual, 1e-11)


LINES = {
    "rare event": lambda rng: 1 / (1 + np.exp(9 - 3 * rng.normal(size=600))),
    "lognormal": lambda rng: np.exp(5 * rng.normal(size=600)),
    "one value and rounding": lambda rng: np.append(
        0.3 + 1e-16 * rng.integers(0, 3, 595), range(5)
    ),
    "far apart": lambda rng: np.append(1e-30 * rng.normal(size=590), np.repeat([1.0, 1e30], 5)),
    "two columns": lambda rng: np.column_stack([(p := rng.beta(0.2, 30, 600)), 1 - p]),
}


@pytest.mark.parametrize("name", LINES)
def test_sparse_features_reproduce_the_kernel(name):
    u = LINES[name](np.random.default_rng(0))
    u = u[:, None] if u.ndim == 1 else u
    kernel, _ = kernel_named("rbf", u)
    assert has_grid(kernel, u)
    features = GridFeatures(kernel, u)(u)
    exact = kernel(u[:, None], u[None])
    assert np.abs((features @ features.T).toarray() - exact).max() < EXACT
    for rows in (slice(17, 40), slice(17, 18)):  # a part may lie on no line of its own
        assert (GridFeatures(kernel, u)(u[rows]) != features[rows]).nnz == 0
    assert features.nnz == 600 * GridFeatures.ENTRIES


def test_scores_of_any_magnitude():
    rng = np.random.default_rng(0)
    y, sex = rng.integers(0, 2, (2, 900))
    tiny = np.exp(-rng.uniform(366, 375, 900))  # the square of the bandwidth is 0
    tiny[:20] = 0.5
    result = fa.equalized_odds_test(
        tiny, y_true=y, sensitive=sex, permutations=fa.Permutations(n=99)
    )
    assert np.isfinite(result.statistic) and result.p_value > 0.01
    both = rng.normal(size=(900, 2)) + np.column_stack([0 * y, 0.8 * sex])  # on no line
    assert float(kpc(1e-13 * both, sensitive=sex, y_true=y)) == pytest.approx(
        float(kpc(both, sensitive=sex, y_true=y)), abs=1e-9
    )


def test_a_statistic_that_is_no_number_gets_no_p_value():
    class Broken:
        name = "broken"

        def bind(self, table, *, within_outcome, seed):
            return lambda rows: np.full(len(rows), np.nan)

    y, sex = np.random.default_rng(0).integers(0, 2, (2, 100))
    with pytest.raises(fa.InputError, match="statistic of the data is not a number"):
        fa.equalized_odds_test(
            y, y_true=y, sensitive=sex, statistic=Broken(), permutations=fa.Permutations(n=9)
        )


def test_dense_features_where_they_suffice():
    u = np.random.default_rng(0).normal(size=(600, 1))
    assert isinstance(feature_map(kernel_named("rbf", u)[0], u), FeatureMap)
    assert isinstance(feature_map(kernel_named("rbf", u**9)[0], u**9), GridFeatures)
    assert not has_grid(kernel_named("laplace", u)[0], u)


def test_rkhs_rank_converges():
    u, frame, y = table(400)
    exact = fa.metrics.kpc_rkhs(u, sensitive=frame, y_true=y)
    coarse, fine = (fa.metrics.kpc_rkhs(u, sensitive=frame, y_true=y, rank=r) for r in (5, 120))
    assert exact.residual < 1e-12 < fine.residual < coarse.residual
    assert abs(float(fine) - float(exact)) < abs(float(coarse) - float(exact))
    assert float(fine) == pytest.approx(float(exact), rel=0.02)


BAD = {
    "length mismatch": (lambda u, f, y: kpc(u[1:], sensitive=f, y_true=y), "differ in length"),
    "NaN": (
        lambda u, f, y: kpc(np.where(u > 1, np.nan, u), sensitive=f, y_true=y),
        "'y_pred' has .* missing",
    ),
    "inf": (
        lambda u, f, y: kpc(u, sensitive=f.assign(age=np.inf), y_true=y),
        "'age' has an infinite",
    ),
    "constant prediction": (
        lambda u, f, y: kpc(u * 0, sensitive=f, y_true=y),
        "'y_pred' is constant",
    ),
    "single row": (lambda u, f, y: kpc(u[:1], sensitive=f[:1], y_true=y[:1]), "at least 2 rows"),
    "no rows": (lambda u, f, y: kpc(u[:0], sensitive=f[:0], y_true=y[:0]), "is empty"),
    "knn too large": (
        lambda u, f, y: kpc(u, sensitive=f, y_true=y, knn=len(u)),
        "'knn' .* less than",
    ),
    "knn zero": (lambda u, f, y: kpc(u, sensitive=f, y_true=y, knn=0), "'knn' .* positive integer"),
    "knn word": (lambda u, f, y: kpc(u, sensitive=f, y_true=y, knn="tree"), "'knn'"),
    "one level": (
        lambda u, f, y: kpc(u, sensitive=f.assign(sex="f"), y_true=y),
        "'sex' has a single value",
    ),
    "kernel": (
        lambda u, f, y: kpc(u, sensitive=f, y_true=y, kernel="cosine"),
        "'kernel' .* Got 'cosine'",
    ),
    "bandwidth": (lambda u, f, y: kpc(u, sensitive=f, y_true=y, bandwidth=-1), "'bandwidth'"),
    "ties": (lambda u, f, y: kpc(u, sensitive=f, y_true=y, ties="first"), "'ties'"),
    "encode": (lambda u, f, y: kpc(u, sensitive=f, y_true=y, encode="rank"), "'encode'"),
    "raw text": (lambda u, f, y: kpc(u, sensitive=f, y_true=y, encode="raw"), "'race' holds text"),
    "backend": (lambda u, f, y: kpc(u, sensitive=f, y_true=y, backend="julia"), "'backend'"),
    "weights": (
        lambda u, f, y: kpc(u, sensitive=f, y_true=y, weights=np.ones(len(u))),
        "no weighted form",
    ),
    "unknown kind": (
        lambda u, f, y: kpc(u, sensitive=f, y_true=y, kinds={"age": "number"}),
        "kind of column 'age'",
    ),
    "kind of nothing": (
        lambda u, f, y: kpc(u, sensitive=f, y_true=y, kinds={"agee": "binary"}),
        "mean 'age'",
    ),
    "text as number": (
        lambda u, f, y: kpc(u, sensitive=f, y_true=y, kinds={"race": "continuous"}),
        "holds text",
    ),
    "many levels": (
        lambda u, f, y: kpc(
            np.arange(900.0), sensitive=[f"id{i}" for i in range(900)], y_true=np.tile([0, 1], 450)
        ),
        "900 levels",
    ),
    "vector codec": (
        lambda u, f, y: codec(np.eye(3)[y], sensitive=f, y_true=y),
        "one numeric prediction",
    ),
    "codec ties": (lambda u, f, y: codec(u, sensitive=f, y_true=y, ties="first"), "'ties'"),
    "codec of the outcome": (lambda u, f, y: codec(y, sensitive=f, y_true=y), "undefined"),
    "rkhs eps": (lambda u, f, y: fa.metrics.kpc_rkhs(u, sensitive=f, y_true=y, eps=0), "'eps'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(name):
    call, message = BAD[name]
    with pytest.raises(fa.FairAuditError, match=message) as caught:
        call(*table())
    assert "\n" not in str(caught.value)


def test_a_measure_is_a_number_for_text_and_numpy():
    rng = np.random.default_rng(0)
    y, a = rng.integers(0, 2, (2, 100))
    found = kpc(y + rng.normal(size=100), sensitive=a, y_true=y)
    assert f"{found:.3f}" == f"{float(found):.3f}" and f"{found}" == str(found)
    assert np.mean([found, found]) == float(found) == float(np.asarray(found))
