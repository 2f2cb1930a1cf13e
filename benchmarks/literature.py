"""Our test on the suites that papers on conditional independence use, beside three small rivals.

    python benchmarks/literature.py gaussian sine post-nonlinear hard-null --reps 100
    python benchmarks/literature.py insurance --data DIR --reps 10

Test X ⟂ Y | Z at level .05; *null*: rejections are false; *alt*: they are right.

gaussian        Z ~ N(0,1); X = Z + E₁, Y = Z + E₂; alt: Y += 0.3 E₁.
sine            as Shi et al. (2021), Bellot and van der Schaar (2019): X = sin(2Z + E₁),
                Y = cos(2Z + E₂); alt: Y = cos(2Z + 0.5 X + E₂).
post-nonlinear  as Zhang et al. (2011), Strobl et al. (2019): X = g₁(Z + E₁), Y = g₂(Z + E₂), g₁ and
                g₂ drawn from v, v², v³, tanh v, exp(−|v|); alt: + 0.5 E₃, the same in both, inside.
hard-null       as He et al. (2025), after Shah and Peters (2020): Z ~ U(−1,1); X = m + 0.3 E₁,
                Y = m + 0.3 E₂, m = sin(ωZ), ω = 4, 8, 16, 32: what an estimate of m leaves looks
                like dependence. alt: Y += 0.15 E₁, at ω = 8.
insurance       as Polo, Sun and Banerjee (2023): X the premium of a company, Y whether a ZIP code
                is of a minority, Z its risk, in four states, one company each a run. null: premiums
                exchanged within 20 ranges of risk; alt: as charged. `--data` holds
                `tx-per-zip.csv` … (github.com/felipemaiapolo/cit).

partial: the correlation of residuals of linear regressions. GCM, SplitKCI: benchmarks/ci_tests. One
thread, 199 copies, `--n` rows. `--save` keeps every p-value and goes on where it stopped. *not
trusted*: of ours, those that say that their p-value should not be believed.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from ci_tests.residual_products import gcm  # noqa: E402
from ci_tests.split_kci import split_kci  # noqa: E402
from scipy.stats import pearsonr  # noqa: E402

import fairaudit as fa  # noqa: E402

LEVEL = 0.05
FREQUENCIES = (4, 8, 16, 32)
STATES = ("ca", "il", "mo", "tx")
LINKS = (lambda v: v, lambda v: v**2, lambda v: v**3, np.tanh, lambda v: np.exp(-np.abs(v)))


def gaussian(rng: np.random.Generator, n: int, alt: bool):
    z, e, u = rng.normal(size=(3, n))
    return z + e, z + u + 0.3 * alt * e, z


def sine(rng: np.random.Generator, n: int, alt: bool):
    z, e, u = rng.normal(size=(3, n))
    x = np.sin(2 * z + e)
    return x, np.cos(2 * z + 0.5 * alt * x + u), z


def post_nonlinear(rng: np.random.Generator, n: int, alt: bool):
    z, e, u, shared = rng.normal(size=(4, n))
    first, second = (LINKS[k] for k in rng.integers(0, len(LINKS), 2))
    shared = 0.5 * alt * shared
    return first(z + e + shared), second(z + u + shared), z


def hard(rng: np.random.Generator, n: int, alt: bool, frequency: int):
    z, (e, u) = rng.uniform(-1, 1, n), rng.normal(size=(2, n))
    mean = np.sin(frequency * z)
    return mean + 0.3 * e, mean + 0.3 * u + 0.15 * alt * e, z


def settings(suite: str) -> Iterator[tuple[str, object]]:
    """Name of the setting, and how its tables are drawn."""
    if suite == "hard-null":
        for frequency in FREQUENCIES:
            yield (f"ω = {frequency}, null", lambda r, n, w=frequency: hard(r, n, False, w))
        yield "ω = 8, alt", lambda r, n: hard(r, n, True, 8)
        return
    draw = {"gaussian": gaussian, "sine": sine, "post-nonlinear": post_nonlinear}[suite]
    yield "null", lambda r, n: draw(r, n, False)
    yield "alt", lambda r, n: draw(r, n, True)


def premiums(folder: Path, state: str, run: int, alt: bool):
    """Premiums of one company in the ZIP codes of a state."""
    table = pd.read_csv(folder / f"{state}-per-zip.csv")
    table = table[["state_risk", "combined_premium", "minority", "companies_name"]].dropna()
    companies = sorted(table["companies_name"].unique())
    rng = np.random.default_rng([run, len(companies)])
    chosen = companies[rng.permutation(len(companies))[run % len(companies)]]
    table = table[table["companies_name"] == chosen]
    risk, premium = table[["state_risk", "combined_premium"]].to_numpy(float).T.copy()
    if not alt:
        place = np.digitize(risk, np.quantile(risk, np.linspace(0, 1, 21)[1:-1]))
        centers = np.array(
            [risk[place == k].mean() if (place == k).any() else 0 for k in range(20)]
        )
        for number in np.unique(place):
            inside = np.flatnonzero(place == number)
            premium[inside] = premium[rng.permutation(inside)]
        risk = centers[place]
    return premium, table["minority"].to_numpy().astype(int), risk


def ours(x, y, z, seed: int) -> tuple[float, bool]:
    frame = pd.DataFrame({"y": y})
    few = fa.Permutations(n=199, seed=seed)
    result = fa.conditional_independence_test(x, frame, z, permutations=few)
    return result.p_value, bool(result.diagnostics.trustworthy)


def partial(x, y, z, seed: int) -> tuple[float, bool]:
    basis = np.column_stack([np.ones(len(z)), z])
    left = [v - basis @ np.linalg.lstsq(basis, v.astype(float), rcond=None)[0] for v in (x, y)]
    return float(pearsonr(*left).pvalue), True


def by_columns(test):
    def run(x, y, z, seed: int) -> tuple[float, bool]:
        return float(test(x[:, None], y[:, None].astype(float), z[:, None], seed)), True

    return run


TESTS = {
    "ours": ours,
    "partial": partial,
    "GCM": by_columns(gcm),
    "SplitKCI": by_columns(split_kci),
}


def tables(suite: str, args: argparse.Namespace) -> Iterator[tuple[str, int, object]]:
    for run in range(args.first, args.first + args.reps):
        if suite == "insurance":
            for state in STATES:
                for alt in (False, True):
                    name = f"{state}, {'as charged' if alt else 'exchanged'}"
                    yield name, run, lambda s=state, r=run, a=alt: premiums(args.data, s, r, a)
            continue
        for name, draw in settings(suite):
            yield name, run, lambda d=draw, r=run: d(np.random.default_rng(r), args.n)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    choices = ("gaussian", "sine", "post-nonlinear", "hard-null", "insurance")
    parser.add_argument("suites", nargs="+", choices=choices)
    parser.add_argument("--reps", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="seed of the first run")
    parser.add_argument("--n", type=int, default=300)
    parser.add_argument("--tests", default=",".join(TESTS))
    parser.add_argument("--data", type=Path, help="folder of the premiums")
    parser.add_argument("--save", type=Path, default=Path("literature.jsonl"))
    args = parser.parse_args()
    if "insurance" in args.suites and args.data is None:
        parser.error("insurance needs --data")
    chosen = args.tests.split(",")
    lines = args.save.read_text().splitlines() if args.save.exists() else []
    done = {tuple(row[:4]): row for row in map(json.loads, lines)}
    with args.save.open("a") as file:
        for suite in args.suites:
            for name, run, draw in tables(suite, args):
                for test in chosen:
                    if (suite, name, test, run) in done:
                        continue
                    x, y, z = draw()
                    begun = time.process_time()
                    p, trusted = TESTS[test](x, y, z, run)
                    row = [suite, name, test, run, p, trusted, time.process_time() - begun, len(z)]
                    done[tuple(row[:4])] = row
                    file.write(json.dumps(row) + "\n")
                    file.flush()
    show(done.values(), args.suites, chosen)


def show(rows, suites: list[str], tests: list[str]) -> None:
    columns = ["suite", "setting", "test", "run", "p", "trusted", "seconds", "rows"]
    frame = pd.DataFrame(list(rows), columns=columns)
    frame["rejected"] = frame["p"] <= LEVEL
    frame = frame[frame["suite"].isin(suites) & frame["test"].isin(tests)]
    print(f"| suite | setting | tables | {' | '.join(tests)} | ours not trusted |")
    print("|" + "---|" * (len(tests) + 4))
    for (suite, name), part in frame.groupby(["suite", "setting"], sort=False):
        rates = part.groupby("test")["rejected"].mean().reindex(tests)
        mine = part[part["test"] == "ours"]
        cells = [suite, name, str(part["run"].nunique()), *(f"{rate:.2f}" for rate in rates)]
        doubted = f"{1 - mine['trusted'].mean():.2f}" if len(mine) else "–"
        print("| " + " | ".join([*cells, doubted]) + " |")
    cost = frame.groupby("test")["seconds"].mean().reindex(tests)
    print("\nCPU s a test: " + ", ".join(f"{name} {s:.2f}" for name, s in cost.items()))


if __name__ == "__main__":
    sys.exit(main())
