"""False claims about noisy copies: `python tests/validity/told_apart.py --replications 1000`.

The prediction depends on the outcome and on `guilty`, a number; `copy` is guilty plus noise and
`group` two classes that depend on guilty. A claim that copy or group adds beyond the others is
false, and so is one about both of them. The gate is taken as passed, which it always is here.

Of three attributes a false claim needs that the set of copy and group is rejected, and that alone
is one: `--false` tests this set only, at a sixth of the cost, where there are three.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import fairaudit as fa  # noqa: E402
from fairaudit.data.table import AuditTable  # noqa: E402
from fairaudit.evidence.localization.beyond import Beyond, beyond_others  # noqa: E402
from fairaudit.evidence.localization.conditional import conditional_p  # noqa: E402

COPIES, ALPHA, FAMILIES = 499, 0.05, 3
_OTHERS = ("copy", "group", "fourth", "fifth")
INNOCENT = [set(some) for size in range(1, 5) for some in combinations(_OTHERS, size)]

EFFECTS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "linear": lambda a, y: 0.6 * a,
    "step": lambda a, y: 1.2 * (a > 0.3),
    "periodic": lambda a, y: np.sin(3 * a),
    "interaction": lambda a, y: a * np.sign(y - y.mean()),
    "weak": lambda a, y: 0.12 * a,
}


@dataclass(frozen=True)
class Setting:
    """What the outcome is, the effect of guilty, its correlation with the copy, and what is odd."""

    outcome: str
    effect: str
    correlation: float = 0.95
    odd: str = ""

    def __str__(self) -> str:
        odd = f", {self.odd}" if self.odd else ""
        return f"{self.outcome}, {self.effect}, {self.correlation}{odd}"


SETTINGS = (
    *(Setting(outcome, effect) for outcome in ("classes", "numbers") for effect in EFFECTS),
    Setting("classes", "periodic", 0.7),
    Setting("numbers", "periodic", 0.7),
    Setting("numbers", "periodic", 0.9, "skewed numbers"),
    # what follows was written after everything was fixed
    Setting("classes", "step", 0.9, "copy in three levels, one cut at the step"),
    Setting("numbers", "linear", 0.9, "spread grows with guilty"),
    Setting("classes", "step", 0.95, "labels"),
    Setting("numbers", "step", 0.9, "five attributes"),
    Setting("numbers", "interaction", 0.8, "labels"),
)


def draw(setting: Setting, seed: int, n: int = 1000) -> AuditTable:
    rng = np.random.default_rng([seed, SETTINGS.index(setting)])
    guilty = rng.normal(size=n)
    noise = np.sqrt(1 - setting.correlation**2) * rng.normal(size=n)
    copy = setting.correlation * guilty + noise
    group = rng.random(n) < 1 / (1 + np.exp(-1.5 * guilty))
    y = 0.5 * guilty + rng.normal(size=n)
    if setting.outcome == "classes":
        y = (y > 0).astype(int)
    spread = 0.3 * np.exp(0.5 * guilty) if "spread" in setting.odd else 0.5
    score = y + EFFECTS[setting.effect](guilty, y) + spread * rng.normal(size=n)
    if setting.odd == "labels":
        score = (score > 1).astype(int)
    if "levels" in setting.odd:
        copy = np.array(["low", "middle", "high"])[np.digitize(copy, [-0.5, 0.3])]
    if "skewed" in setting.odd:
        guilty, copy = np.exp(guilty), np.exp(copy)
    frame = pd.DataFrame({"guilty": guilty, "copy": copy, "group": np.where(group, "a", "b")})
    if setting.odd == "five attributes":
        frame = frame.assign(fourth=rng.normal(size=n), fifth=rng.choice(["c", "d", "e"], n))
    return AuditTable.of(score, frame, y)


def replicate(setting: Setting, seed: int) -> dict[str, float]:
    """Whether an innocent attribute was claimed, alone and in an audit; whether guilty was found,
    alone or as one of several that cannot be told apart."""
    permutations = fa.Permutations(n=COPIES, seed=seed)
    answers = beyond_others(draw(setting, seed), 1 / (COPIES + 1), permutations)
    return {
        "false claim": _is_claimed(answers, ALPHA, INNOCENT),
        "false claim, audit": _is_claimed(answers, ALPHA / FAMILIES, INNOCENT),
        "guilty found": _is_claimed(answers, ALPHA / FAMILIES, [{"guilty"}]),
        "guilty or copy found": _is_claimed(
            answers, ALPHA / FAMILIES, [{"guilty"}, {"guilty", "copy"}]
        ),
    }


def replicate_false(setting: Setting, seed: int) -> dict[str, float]:
    """Whether an innocent attribute of three was claimed: whether copy and group together are."""
    p = conditional_p(draw(setting, seed), [1, 2], fa.Permutations(n=COPIES, seed=seed)).value
    claimed = {level: float(p is not None and p <= level) for level in (ALPHA, ALPHA / FAMILIES)}
    return {"false claim": claimed[ALPHA], "false claim, audit": claimed[ALPHA / FAMILIES]}


def _is_claimed(answers: Sequence[Beyond], level: float, sets: list[set[str]]) -> float:
    """Whether one of these sets is."""
    return float(
        any(
            set(answer.names) in sets
            and answer.p_adjusted is not None
            and answer.p_adjusted <= level
            for answer in answers
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first replication")
    parser.add_argument("--only", default="", help="settings whose name holds this")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--false", action="store_true", help="false claims, of three attributes")
    args = parser.parse_args()
    from joblib import Parallel, delayed

    columns = ["false claim", "false claim, audit", "guilty found", "guilty or copy found"]
    columns, run_once = (columns[:2], replicate_false) if args.false else (columns, replicate)
    print(f"| outcome, effect, correlation | replications | {' | '.join(columns)} |")
    print("|---" * (len(columns) + 2) + "|", flush=True)
    for setting in SETTINGS:
        if args.only not in str(setting) or (args.false and setting.odd == "five attributes"):
            continue
        runs = Parallel(n_jobs=args.jobs)(
            delayed(run_once)(setting, args.first + k) for k in range(args.replications)
        )
        rates = " | ".join(f"{np.mean([run[name] for run in runs]):.3f}" for name in columns)
        print(f"| {setting} | {len(runs)} | {rates} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
