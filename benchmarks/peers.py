"""Tests of Yhat ⟂ A | Y, ours and the peers', behind one call; `ci_peers.py` runs them.

Nothing but numpy is imported here at the top: a peer may live in another environment than ours.
Everybody permutes or resamples 199 times. A test that takes one attribute only is run per column
with Bonferroni's correction. Peers that are not on PyPI (pycomets, pywhy-stats for new Pythons)
are read from checkouts in the folder PEER_SRC.

    python benchmarks/peers.py "causal-learn RCIT" --n 500 --scenarios null,alt --reps 20
    python benchmarks/peers.py "SplitKCI" --models '^unfair: continuous' --reps 20

`--models`: the fair and unfair models of tests/validity in whose kind and name a pattern is found,
and the fair twins of the unfair ones (kind `twin`).
Text of attributes and classes of the outcome become indicators. Tables of people with several rows
are left out, since no peer knows ids; so are large ones for KCI.
"""

from __future__ import annotations

import os

THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)
for variable in THREADS:
    os.environ.setdefault(variable, "1")

import argparse  # noqa: E402
import json  # noqa: E402
import re  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
import zlib  # noqa: E402
from functools import partial  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402

COPIES = 199
LEVEL = 0.05
NULLS = ("null", "null_mixed", "null_nl")
ALTERNATIVES = ("alt", "alt_sq")
SCENARIOS = NULLS + ALTERNATIVES
#: rows beyond which a test is not run on the models of tests/validity
MOST_ROWS = {"causal-learn KCI": 500}


def simulate(n: int, scenario: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predictions, attributes and outcomes (all with two axes)."""
    rng = np.random.default_rng(seed)
    e, u = rng.standard_normal(n), rng.standard_normal(n)
    a = rng.standard_normal((n, 3))
    if scenario == "null_mixed":  # a binary and a four-level attribute
        a[:, 1] = rng.random(n) < 0.3
        a[:, 2] = rng.integers(0, 4, n)
    if scenario == "null_nl":  # all links are curved, q(y|a) has two modes
        a[:, 0] = 0.8 * (u**2 - 1) + a[:, 0]
        return (u + 0.5 * u**2 + e)[:, None], a, u[:, None]
    y = 0.8 * a[:, 0] + 0.4 * a[:, 1] + u
    score = y + e
    if scenario == "alt":
        score = score + 0.3 * a[:, 0]
    if scenario == "alt_sq":
        score = score + 0.3 * (a[:, 0] ** 2 - 1)
    return score[:, None], a, y[:, None]


def models(pattern: str, test: str) -> dict:
    """Fair and unfair models that a test can run, by name."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "validity"))
    from fair_models import FAIR_CLASS_MODELS, FAIR_MODELS
    from fair_twins import FAIR_TWINS
    from unfair_models import UNFAIR_MODELS

    fair = FAIR_MODELS | FAIR_CLASS_MODELS
    twins = {model.name: model for model in FAIR_TWINS.values()}
    return {
        name: model
        for kind, some in (("fair", fair), ("unfair", UNFAIR_MODELS), ("twin", twins))
        for name, model in some.items()
        if re.search(pattern, f"{kind}: {name}") and "people" not in name
        if model.rows <= MOST_ROWS.get(test, np.inf)
    }


def draw(model, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predictions, attributes and outcomes of the tables of tests/validity, as numbers."""
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    key = zlib.crc32(f"{model.name}, n = {model.rows}".encode())
    prediction, y, frame, _ = model.draw(np.random.default_rng([seed, key]))
    classes = 2 < len(np.unique(y)) <= 20
    columns = [indicate(frame[name], not is_numeric_dtype(frame[name])) for name in frame]
    scores = np.asarray(prediction, dtype=float).reshape(len(y), -1)
    return scores, np.hstack(columns), indicate(pd.Series(y), classes)


def indicate(column, classes: bool) -> np.ndarray:
    """Indicators of the classes, or the numbers, with two axes."""
    import pandas as pd

    return np.asarray(pd.get_dummies(column) if classes else column.to_frame(), dtype=float)


def ours(statistic: str, density: str = "auto"):
    """A test of ours: p-value, whether the diagnostics object, and the parts of a combination."""
    import sklearn.ensemble  # noqa: F401  (a lazy import of large tables)

    import fairaudit as fa

    def test(h, a, y, seed):
        result = fa.equalized_odds_test(
            h[:, 0],
            y_true=y[:, 0],
            sensitive=a,
            statistic=statistic,
            density=density,
            permutations=fa.Permutations(n=COPIES, seed=seed),
        )
        return result.p_value, not result.diagnostics.trustworthy, result.parts

    return test


OURS = {
    "ours default": ("omnibus",),
    "ours kpc": ("kpc",),
    "ours features": ("features",),
    "ours max": ("max",),
    "ours Gaussian q": ("kpc", "ols"),
}


def _per_column(p, a) -> float:
    """Bonferroni over the attributes."""
    return min(1.0, a.shape[1] * min(float(p(a[:, [k]])) for k in range(a.shape[1])))


def _source(name: str) -> None:
    sys.path.insert(0, os.path.join(os.environ.get("PEER_SRC", "peers-src"), name))


def _rcit(rcit: bool):
    from causallearn.utils.RCIT.RCIT import RCIT

    return lambda h, a, y: RCIT(rcit=rcit).compute_pvalue(h, a, y)[0]


def _kci():
    from causallearn.utils.KCI.KCI import KCI_CInd

    return lambda h, a, y: KCI_CInd().compute_pvalue(h, a, y)[0]


def _fast_kci():
    from causallearn.utils.FastKCI.FastKCI import FastKCI_CInd

    return lambda h, a, y: FastKCI_CInd().compute_pvalue(h, a, y)[0]


def _pywhy():
    _source("pywhy-stats")
    from pywhy_stats.independence import kci

    return lambda h, a, y: kci.condind(h, a, y).pvalue


def _hyppo(name: str):
    import hyppo.conditional as conditional

    test = getattr(conditional, name)
    if name == "FCIT":
        return lambda h, a, y: test().test(a, h, y).pvalue
    return lambda h, a, y: test().test(h, a, y, reps=COPIES, workers=1).pvalue


def _dcor():
    from dcor.independence import partial_distance_covariance_test as test

    return lambda h, a, y: test(h, a, y, num_resamples=COPIES, n_jobs=1).pvalue


def _residuals(name: str):
    from ci_tests import residual_products

    return getattr(residual_products, name)


def _split_kci():
    from ci_tests.split_kci import split_kci

    return split_kci


def _pingouin():
    import pandas as pd
    import pingouin

    def p(h, a, y):
        frame = pd.DataFrame({"h": h[:, 0], "y": y[:, 0]})

        def one(column):
            found = pingouin.partial_corr(frame.assign(a=column[:, 0]), x="h", y="a", covar="y")
            return found[next(c for c in found.columns if c.lower().startswith("p"))].iloc[0]

        return _per_column(one, a)

    return p


def _pgmpy(name: str):
    import pandas as pd
    import pgmpy.ci_tests as tests

    def p(h, a, y):
        frame = pd.DataFrame({"h": h[:, 0], "y": y[:, 0]})

        def one(column):
            test = getattr(tests, name)(data=frame.assign(a=column[:, 0]))
            test("h", "a", ["y"])
            return test.p_value_

        return _per_column(one, a)

    return p


def _tigramite(name: str):
    from importlib import import_module

    test = getattr(import_module(f"tigramite.independence_tests.{name.lower()}"), name)
    if name == "CMIknn":
        options = {"sig_samples": COPIES, "workers": 1, "verbosity": 0}
        return lambda h, a, y: test(**options).run_test_raw(h, a, y)[1]
    return lambda h, a, y: _per_column(lambda c: test().run_test_raw(h, c, y)[1], a)


def _comets(name: str):
    from importlib import import_module

    _source("pycomets")
    make = getattr(import_module(f"pycomets.{name.lower()}"), name)

    def p(h, a, y):
        test = make()
        test.test(h[:, 0], a, y, show_summary=False)
        return test.pval

    return p


def _mlconfound():
    from mlconfound.stats import partial_confound_test as test

    options = {"num_perms": COPIES, "progress": False, "n_jobs": 1, "cond_dist_method": "linear"}
    return lambda h, a, y: _per_column(lambda c: test(y[:, 0], h[:, 0], c[:, 0], **options).p, a)


#: name → (factory, its arguments); the cheap ones first
PEERS = {
    "pingouin partial_corr": (_pingouin,),
    "tigramite ParCorr": (_tigramite, "ParCorr"),
    "pgmpy GCM": (_pgmpy, "GCM"),
    "causal-learn RCIT": (_rcit, True),
    "causal-learn RCoT": (_rcit, False),
    "spline GCM": (_residuals, "gcm"),
    "forest PCM": (_residuals, "pcm"),
    "SplitKCI": (_split_kci,),
    "hyppo FCIT": (_hyppo, "FCIT"),
    "dcor partial dcov": (_dcor,),
    "pywhy-stats KCI": (_pywhy,),
    "causal-learn KCI": (_kci,),
    "pycomets GCM": (_comets, "GCM"),
    "pycomets PCM": (_comets, "PCM"),
    "pgmpy Pillai": (_pgmpy, "PillaiTrace"),
    "mlconfound, linear": (_mlconfound,),
    "tigramite GPDC": (_tigramite, "GPDC"),
    "tigramite CMIknn": (_tigramite, "CMIknn"),
    "causal-learn FastKCI": (_fast_kci,),
    "hyppo PartialDcorr": (_hyppo, "PartialDcorr"),
    "hyppo ConditionalDcorr": (_hyppo, "ConditionalDcorr"),
}


SEEDED = ("spline GCM", "forest PCM", "SplitKCI")  # those that take a seed


def test_named(name: str):
    """The function (h, a, y, seed) → p-value, flagged, parts."""
    if name in OURS:
        return ours(*OURS[name])
    make, *arguments = PEERS[name]
    p = make(*arguments)

    def test(h, a, y, seed):
        if name in SEEDED:
            return p(h, a, y, seed), False, {}
        np.random.seed(seed)  # noqa: NPY002  (peers draw from the global generator)
        return float(p(h, a, y)), False, {}

    return test


def peak_mb() -> float:
    """Largest resident size of this process so far."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("test", choices=[*OURS, *PEERS])
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--scenarios", default=",".join(SCENARIOS))
    parser.add_argument("--models", help="instead: models of tests/validity with this pattern")
    parser.add_argument("--reps", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="seed of the first replication")
    parser.add_argument("--cpu", type=float, default=np.inf, help="seconds for each scenario")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    try:
        test = test_named(args.test)
    except ImportError as error:
        print(json.dumps({"absent": str(error)}))
        return
    test(*simulate(60, "null", 10**6), 0)  # imports and compilation are not what is measured
    before = peak_mb()
    tables = {name: partial(simulate, args.n, name) for name in args.scenarios.split(",")}
    seeds = range(args.first, args.first + args.reps)
    if args.models is not None:
        named = models(args.models, args.test)
        tables = {name: partial(draw, model) for name, model in named.items()}
    for name, table in tables.items():
        answers, seconds = [], []
        for seed in seeds:
            # the scenarios have always been drawn from 1000 on
            data = table(seed=seed if args.models is not None else 1000 + seed)
            start = time.process_time()
            answers.append(test(*data, seed))
            seconds.append(time.process_time() - start)
            if sum(seconds) >= args.cpu:
                break
        line = {
            "scenario": name,
            "cpu": float(np.median(seconds)),
            "mb": peak_mb() - before,
            "answers": answers,
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
