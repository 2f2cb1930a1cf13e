"""Planned sample sizes and detectable violations against direct simulation:
`python tests/validity/planning.py --replications 200`.

Prints a Markdown table. The plan sees a pilot without a violation. New tables are then drawn from
laws that *have* one of the planned size, and tested as a user would; a probit curve through the
shares found at five sizes gives the rows that are truly needed. Ratio: planned / needed.
"""

from __future__ import annotations

import argparse
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

import fairaudit as fa  # noqa: E402
from fairaudit.evidence.power.planning import plan_rows  # noqa: E402

PILOT = 20_000  # with few rows its own rates are uncertain, and the plan with them
#: effect, size, statistic
CASES = (("score_shift", 0.3, "correlation"), ("score_shift", 0.3, "kpc"), ("tpr_gap", 0.1, "kpc"))
FACTORS = (0.75, 0.87, 1.0, 1.15, 1.3)


def draw(n: int, seed: int, effect: str | None = None, size: float = 0.0):
    """Scores, outcomes and attributes; the violation is for sex = m against the others."""
    rng = np.random.default_rng([seed, n])
    y = rng.integers(0, 2, n)
    sex, race = rng.choice(["f", "m"], n, p=[0.6, 0.4]), rng.choice(["a", "b"], n, p=[0.7, 0.3])
    score = _scores(y, rng)
    member = sex == "m"
    if effect == "score_shift":
        spread = np.array([np.sqrt(10 / (49 * 8))] * 2)[y]  # of Beta(2, 5) and Beta(5, 2)
        score = score + size * spread * (member - 0.4)
    elif effect is not None:
        outcome = int(effect == "tpr_gap")
        rows = np.flatnonzero(y == outcome)
        pool = _scores(np.full(50_000, outcome), rng)
        above, below = pool[pool >= 0.5], pool[pool < 0.5]
        rate = len(above) / len(pool) + (-1) ** outcome * size * (member[rows] - 0.4)
        label = rng.random(len(rows)) < rate
        score[rows] = np.where(label, rng.choice(above, len(rows)), rng.choice(below, len(rows)))
    return score, y, {"sex": sex, "race": race}


def _scores(y, rng):
    return np.where(y == 1, rng.beta(5, 2, len(y)), rng.beta(2, 5, len(y)))


def found(n: int, seed: int, effect: str, size: float, statistic: str) -> bool:
    score, y, attributes = draw(n, 10_000 + seed, effect, size)
    result = fa.equalized_odds_test(
        score,
        y_true=y,
        sensitive=attributes,
        statistic=statistic,
        permutations=fa.Permutations(n=199, seed=seed),
    )
    return result.p_value <= 0.05


def needed(planned: int, shares: list[float], replications: int) -> float:
    """Rows at which the measured power is .8."""
    from scipy.optimize import minimize
    from scipy.stats import norm

    x = np.log(np.array(FACTORS))
    hits = np.array(shares) * replications

    def loss(line):
        p = np.clip(norm.cdf(line[0] + line[1] * x), 1e-9, 1 - 1e-9)
        return -(hits * np.log(p) + (replications - hits) * np.log1p(-p)).sum()

    a, b = minimize(loss, [0.8, 1.5], method="Nelder-Mead").x
    return planned * float(np.exp((norm.ppf(0.8) - a) / b))


def confirm(effect: str, size: float, statistic: str, replications: int, jobs: int = 1):
    """Planned rows, needed rows, and the power measured with the planned rows."""
    from joblib import Parallel, delayed

    score, y, attributes = draw(PILOT, 1)
    table = fa.AuditTable.of(score, attributes, y)
    plan = plan_rows(table, effect, size, statistic=statistic, groups=["sex=m"])
    sizes = [int(plan.rows * factor) for factor in FACTORS]
    shares = [
        float(
            np.mean(
                Parallel(n_jobs=jobs)(
                    delayed(found)(n, seed, effect, size, statistic) for seed in range(replications)
                )
            )
        )
        for n in sizes
    ]
    return plan.rows, needed(plan.rows, shares, replications), shares[FACTORS.index(1.0)]


def detectable(rows: int, replications: int) -> tuple[float, float]:
    """A shift that audits say they could have found (mean of six), and how often it is found."""
    said = []
    for seed in range(2, 8):
        score, y, attributes = draw(rows, seed)
        audit = fa.audit(predictions=score, outcome=y, sensitive=attributes)
        said += [one.shift for one in audit.power.detectable if one.group == "sex = m"]
    shift = float(np.mean(said))
    shares = [found(rows, seed, "score_shift", shift, "kpc") for seed in range(replications)]
    return shift, float(np.mean(shares))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    print("| effect | statistic | planned rows | needed rows | ratio | power with planned rows |")
    print("|---|---|---|---|---|---|", flush=True)
    for effect, size, statistic in CASES:
        planned, truth, power = confirm(effect, size, statistic, args.replications, args.jobs)
        print(
            f"| {effect} {size} | {statistic} | {planned:,} | {truth:,.0f} | "
            f"{planned / truth:.2f} | {power:.2f} |",
            flush=True,
        )
    print("\n| rows | an audit could have found a shift of | share found |")
    print("|---|---|---|", flush=True)
    for rows in (500, 2000):
        shift, share = detectable(rows, args.replications)
        print(f"| {rows:,} | {shift:.2f} sd | {share:.2f} |", flush=True)


if __name__ == "__main__":
    main()
