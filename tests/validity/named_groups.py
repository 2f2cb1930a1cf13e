"""Whom the first sentences name: `python tests/validity/named_groups.py`.

40 generated audits in which one known group is treated differently (a level of race, in classes;
a level of sex, in a regression; young or old people; people who share race and sex), and 200 in
which nobody is. A sentence is right if it names that group, of exactly these attributes; of age a
range that lies in the half of the guilty. It accuses if its kind is "treated differently".
With `--intervals N`, the intervals alone on N fair tables, without the gate.
"""

from __future__ import annotations

import argparse
import os
import re

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import fairaudit as fa  # noqa: E402
from fairaudit.data.table import AuditTable  # noqa: E402
from fairaudit.evidence.portrait.draw import draw_portrait  # noqa: E402

COPIES = 199
KINDS = ("classes", "regression", "age", "intersection")
SIZES = (1500, 3000, 6000)
RACES = ("Asian", "Black", "White", "Native")
FIRST = 7000  # no setting was chosen on these


def draw(kind: str, seed: int, *, guilty: bool):
    """Prediction, outcome, attributes, and the group that is treated differently."""
    rng = np.random.default_rng([seed, KINDS.index(kind), guilty])
    n = int(rng.choice(SIZES))
    frame = pd.DataFrame(
        {
            "race": rng.choice(RACES, n, p=rng.dirichlet([8, 8, 12, 6])),
            "sex": rng.choice(["female", "male"], n),
            "age": rng.integers(18, 80, n),
        }
    )
    z = 0.02 * (frame.age - 49) + 0.4 * (frame.race == "Black") + rng.logistic(size=n)
    y = z.to_numpy() if kind == "regression" else (z > rng.normal(0, 0.5)).astype(int).to_numpy()
    large = frame.race.value_counts()
    race = str(rng.choice(large.index[large > n / 12]))
    sex, old = str(rng.choice(["female", "male"])), bool(rng.integers(2))
    member, group = {
        "classes": (frame.race == race, {"race": race}),
        "regression": (frame.sex == sex, {"sex": sex}),
        "age": ((frame.age > 62) if old else (frame.age < 36), {"age": "old" if old else "young"}),
        "intersection": ((frame.race == race) & (frame.sex == sex), {"race": race, "sex": sex}),
    }[kind]
    # the smaller the group, the stronger: 0.6 to 1 standard deviations of the score given y
    share = member.mean()
    effect = rng.choice([-1, 1]) * (0.6 + 0.4 * (share < 0.2)) if guilty else 0.0
    score = (y - y.mean()) / y.std() + effect * member.to_numpy() + rng.normal(size=n)
    if kind != "regression":
        score = 1 / (1 + np.exp(-1.5 * score))
        if rng.random() < 0.5:
            score = (score > 0.5).astype(int)  # labels
    attributes = (
        frame if kind in ("age", "intersection") or rng.random() < 0.5 else frame.iloc[:, :2]
    )
    return score, y, attributes, group


def names(statement, group) -> bool:
    """Whether a sentence names the group and no part or union of it."""
    contrast = statement.contrast
    if contrast is None or set(contrast.attributes) != set(group):
        return False
    for levels in (contrast.levels, contrast.others):
        told = dict(zip(contrast.attributes, levels or (), strict=False))
        if "age" in group:
            ends = [int(end) for end in re.findall(r"\d+", told.get("age", "49"))]
            inside = max(ends) < 49 if group["age"] == "young" else min(ends) > 49
            if inside:
                return True
        elif told == group:
            return True
    return False


def audit(kind: str, seed: int, *, guilty: bool):
    score, y, attributes, group = draw(kind, seed, guilty=guilty)
    result = fa.audit(
        predictions=score,
        outcome=y,
        sensitive=attributes,
        permutations=fa.Permutations(n=COPIES, seed=seed),
        power=False,
    )
    statements = [statement for statement in result.statements if statement.accuses]
    return {
        "kind": kind,
        "rejected": result.joint.significant,
        "accuses": bool(statements),
        "named": any(names(statement, group) for statement in statements),
        "first": bool(statements) and names(statements[0], group),
        "other": any(not set(s.attributes) & set(group) for s in statements),
    }


def fair_intervals(seed: int) -> tuple[bool, bool]:
    """Without the gate: whether some interval leaves 0 out, and whether somebody would be named."""
    kind = KINDS[seed % 4]
    score, y, attributes, _ = draw(kind, seed, guilty=False)
    table = AuditTable.of(score, attributes, y)
    portrait = draw_portrait(table, alpha=0.05, seed=seed, threshold=None, curves=False)
    contrasts = [*portrait.contrasts, *portrait.pairs]
    return (
        any(contrast.excludes_zero for contrast in contrasts),
        any(contrast.beyond_doubt for contrast in contrasts),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--guilty", type=int, default=40)
    parser.add_argument("--fair", type=int, default=200)
    parser.add_argument("--intervals", type=int, default=0)
    parser.add_argument("--first", type=int, default=FIRST)
    args = parser.parse_args()
    runs = [audit(KINDS[k % 4], args.first + k // 4, guilty=True) for k in range(args.guilty)]
    for kind in KINDS if runs else ():
        own = [run for run in runs if run["kind"] == kind]
        told = ", ".join(
            f"{key} {sum(run[key] for run in own)}"
            for key in ("rejected", "named", "first", "other")
        )
        print(f"guilty, {kind}: {len(own)} audits, {told}", flush=True)
    if runs:
        print(f"guilty: named in {sum(run['named'] for run in runs)} of {len(runs)}", flush=True)
    fair = [audit(KINDS[k % 4], args.first + k // 4, guilty=False) for k in range(args.fair)]
    if fair:
        rejected = sum(run["rejected"] for run in fair)
        accused = sum(run["accuses"] for run in fair)
        print(f"fair: {len(fair)} audits, {rejected} rejected, {accused} accuse somebody")
    if args.intervals:
        pairs = np.array([fair_intervals(args.first + k) for k in range(args.intervals)])
        apart, named = pairs.mean(axis=0)
        print(f"intervals on {len(pairs)} fair tables: {apart:.4f} miss 0, {named:.4f} would name")


if __name__ == "__main__":
    main()
