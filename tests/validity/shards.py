"""Size and power of the test in shards, beside the test of one piece.

    python tests/validity/shards.py --replications 200

The same tables in 1 shard and in shards of 5,000 and 2,000 rows; 19 copies, for which the level .05
is attained exactly. `one piece` is the audit without shards; in the setting `regression` it has
four fifths of the rows, as many as are tested in shards.

ties        binary outcome; race (5), sex and integer age: sums over cells are added
continuous  binary outcome, one continuous attribute: statistics of shards are averaged
regression  continuous outcome, one continuous attribute; q(y|a) fitted on a sample
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

import fairaudit as fa

ROWS = 10_000
COPIES = 19
#: setting → effect of the attribute at which one piece finds it about four times in five
EFFECTS = {"ties": 0.2, "continuous": 0.1, "regression": 0.1}
SENSITIVE = {"ties": "race,sex,age", "continuous": "a", "regression": "a"}
SHARDS = {"one piece": None, "1 shard": 1, "5,000 rows": ROWS // 5_000, "2,000 rows": ROWS // 2_000}


def table(setting: str, effect: float, seed: int, n: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng([seed, n])
    a = rng.normal(size=n)
    if setting == "regression":
        y = 0.6 * a + rng.normal(size=n)
        return pd.DataFrame({"a": a, "y": y, "score": y + effect * a + rng.normal(size=n)})
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "race": rng.choice(list("abcde"), n, p=[0.5, 0.2, 0.15, 0.1, 0.05]),
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 90, n),
            "a": a + y,  # depends on the outcome, which explains it
            "y": y,
        }
    )
    unfair = (frame["sex"] == "m") if setting == "ties" else a
    return frame.assign(score=y + effect * unfair + rng.normal(size=n))


def p_value(setting: str, frame: pd.DataFrame, shards: int | None, seed: int) -> float:
    names = SENSITIVE[setting].split(",")
    drawn = fa.Permutations(n=COPIES, seed=seed, steps=20)
    options = {"permutations": drawn, "density": "ols" if setting == "regression" else "auto"}
    if shards is None:
        if setting == "regression":
            frame = frame[: len(frame) * 4 // 5]
        return fa.equalized_odds_test(
            frame["score"], y_true=frame["y"], sensitive=frame[names], **options
        ).p_value
    result = fa.audit(
        X=frame, predictions="score", outcome="y", sensitive=names, shards=shards, **options
    )
    return float(result.p_value)


def rates(setting: str, effect: float, replications: int) -> dict[str, float]:
    """Share of p ≤ .05 for every number of shards, on the same tables."""
    hits = dict.fromkeys(SHARDS, 0)
    for seed in range(replications):
        frame = table(setting, effect, seed)
        for name, shards in SHARDS.items():
            hits[name] += p_value(setting, frame, shards, seed) <= 0.05
    return {name: count / replications for name, count in hits.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--only", default=",".join(EFFECTS))
    args = parser.parse_args()
    print(f"| setting | effect | {' | '.join(SHARDS)} |")
    print("|---" * (2 + len(SHARDS)) + "|")
    for setting in args.only.split(","):
        for effect in (0.0, EFFECTS[setting]):
            found = rates(setting, effect, args.replications)
            shown = " | ".join(f"{found[name]:.3f}" for name in SHARDS)
            print(f"| {setting} | {effect:g} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
