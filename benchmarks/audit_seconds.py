"""CPU seconds of whole audits, as a user starts them: `fairaudit test` with its sandbox.

    FAIRAUDIT_DATA=<folder> python benchmarks/audit_seconds.py

census    20,000 rows of ACSIncome (Colorado and Nebraska), 6 % of them with the rare outcome; race
          (9 levels), sex, age; logistic regression
wages     9,791 rows of Colorado with a made wage, continuous and skewed; boosted trees

Power and localization are part of both. User and system time of the command and of the process
that holds the model, without any setting of threads.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression

RACES = ("White", "Black", "Indian", "Alaska", "tribes", "Asian", "Pacific", "other", "several")
FEATURES = ["SCHL", "WKHP", "occupation", "MAR", "COW"]
RARE, FREQUENT, WAGES = 1_200, 18_800, 9_791


def people() -> pd.DataFrame:
    folder = Path(os.environ["FAIRAUDIT_DATA"])
    parts = []
    for state in ("co", "ne"):
        x = pd.read_csv(folder / f"acsincome_{state}_features.csv")
        y = pd.read_csv(folder / f"acsincome_{state}_labels.csv").iloc[:, 0].astype(int)
        frame = x[["SCHL", "WKHP", "MAR", "COW"]].assign(occupation=x["OCCP"] // 100)
        frame["race"] = [RACES[int(code) - 1] for code in x["RAC1P"]]
        frame["sex"] = np.where(x["SEX"] == 1, "male", "female")
        parts.append(frame.assign(age=x["AGEP"].astype(int), rich=y, state=state))
    return pd.concat(parts, ignore_index=True)


def make_census(frame: pd.DataFrame, folder: Path, rng: np.random.Generator) -> list[str]:
    rich, others = (rng.permutation(np.flatnonzero(frame["rich"] == k)) for k in (1, 0))
    rows = rng.permutation(np.r_[rich[:RARE], others[:FREQUENT]])
    train = frame.iloc[np.r_[rich[RARE:], others[FREQUENT:]]]
    model = LogisticRegression(max_iter=2_000).fit(train[FEATURES], train["rich"])
    joblib.dump(model, folder / "census.pkl")
    frame.iloc[rows].drop(columns="state").to_csv(folder / "census.csv", index=False)
    return ["--model", "census.pkl", "--data", "census.csv", "--outcome", "rich"]


def make_wages(frame: pd.DataFrame, folder: Path, rng: np.random.Generator) -> list[str]:
    frame = frame[frame["state"] == "co"].drop(columns=["state", "rich"])
    frame = frame.iloc[rng.permutation(len(frame))[: 2 * WAGES]].reset_index(drop=True)
    log = 1.5 + 0.09 * frame["SCHL"] + 0.02 * np.minimum(frame["age"] - 16, 30)
    log += 0.008 * frame["WKHP"] - 0.12 * (frame["sex"] == "female")
    frame["wage"] = np.exp(log + 0.25 * rng.standard_t(5, len(frame))).round(2)
    train, test = frame[:WAGES], frame[WAGES:]
    model = HistGradientBoostingRegressor().fit(train[FEATURES], train["wage"])
    joblib.dump(model, folder / "wages.pkl")
    test.to_csv(folder / "wages.csv", index=False)
    return ["--model", "wages.pkl", "--data", "wages.csv", "--outcome", "wage"]


def main() -> None:
    frame = people()
    print("| audit | rows | CPU s |")
    print("|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what, make, rows in (
            ("census", make_census, RARE + FREQUENT),
            ("wages", make_wages, WAGES),
        ):
            arguments = make(frame, folder, np.random.default_rng(1))
            command = [sys.executable, "-m", "fairaudit_cli.main", "test", *arguments]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(
                [*command, "--sensitive", "race,sex,age", "--report", f"{what}.json"],
                cwd=folder,
                stdout=subprocess.DEVNULL,
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            if done.returncode not in (0, 1):
                raise SystemExit(f"{what}: exit status {done.returncode}")
            print(f"| {what} | {rows:,} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
