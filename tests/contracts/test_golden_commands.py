"""The JSON of every command on embedded data, as it was: numbers, findings, notes and fields.

`FAIRAUDIT_UPDATE=1 pytest tests/contracts/test_golden_commands.py` writes the records anew; a
change of a record is a change of what users see and belongs into CHANGELOG.md.
"""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path
from typing import Any

import pytest

from fairaudit.datasets import demo_model, load_demo
from fairaudit_cli import main as cli

KEPT = Path(__file__).parents[1] / "golden/commands"
SCORED = "--predictions score --sensitive race,sex --outcome repaid --data"
TABLE = "--data test.csv --sensitive race,sex,age --outcome repaid"
COMMANDS = {
    "test-model": f"test --model model.pkl {TABLE} --permutations 199",
    "test-evidence": f"test --model model.pkl {TABLE} --permutations 199 --locate --pairs race+sex "
    "--calibrate --tolerance kpc=0.001",
    "test-labels": "test --model model.pkl --data test.csv --sensitive race,sex --outcome repaid "
    "--permutations 99 --on labels --statistic deo --certify deo=0.9 --no-power",
    "test-weights": f"test {SCORED} scored.csv --weights weight --permutations 99 "
    "--where 'age > 25'",
    "test-people": f"test {SCORED} scored.csv --id person --permutations 99",
    "test-regression": "test --predictions guess --data numbers.csv --sensitive group,age "
    "--outcome amount --permutations 99 --density ols",
    "test-shards": f"test {SCORED} scored.parquet --permutations 99 --shards 1",
    "test-three-shards": f"test {SCORED} many.parquet --permutations 99 --shards 3",
    "test-shards-of-people": f"test {SCORED} many.parquet --id person --permutations 99 --shards 2",
    "test-shards-of-numbers": "test --predictions guess --data many_numbers.parquet "
    "--sensitive group,age --outcome amount --permutations 99 --density ols --shards 2",
    "metrics": f"metrics --model model.pkl {TABLE}",
    "compare": "compare --baseline model.pkl --candidate other.pkl --data test.csv "
    "--sensitive race,sex --outcome repaid",
    "compare-models": "compare --models model.pkl other.pkl --data test.csv --sensitive race,sex "
    "--outcome repaid --permutations 99",
    "remedy": "remedy --data test.csv --sensitive race,sex --outcome repaid --method derived "
    "--model model.pkl --permutations 99",
    "monitor": f"monitor --state fairness.state --model model.pkl {TABLE} --permutations 99",
    "missing": f"missing {SCORED} gaps.csv --permutations 99",
    "plan": f"plan {SCORED} scored.csv --certify tpr_gap=0.2",
}
#: Differ from run to run, or from machine to machine.
VOLATILE = {
    "created",
    "seconds",
    "python",
    "platform",
    "packages",
    "version",
    "command",
    "sha256",
    "table_sha256",
    "when",
    "head",
    "digest",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, another one, and tables of every shape."""
    import pickle

    import numpy as np

    place = tmp_path_factory.mktemp("golden")
    frame = load_demo(1600, seed=5)
    train, test = frame[:800], frame[800:].reset_index(drop=True)
    model, other = demo_model(train), demo_model(train[:400])
    for name, fitted in (("model", model), ("other", other)):
        (place / f"{name}.pkl").write_bytes(pickle.dumps(fitted))
    test.to_csv(place / "test.csv", index=False)
    rng = np.random.default_rng(7)
    scored = test[["race", "sex", "age", "repaid"]].assign(
        score=np.round(model.predict_proba(test[list(model.feature_names_in_)])[:, 1], 6),
        weight=rng.integers(1, 4, len(test)),
        person=np.arange(len(test)) // 2,
    )
    scored.to_csv(place / "scored.csv", index=False)
    scored.to_parquet(place / "scored.parquet")
    gaps = scored.copy()
    gaps.loc[rng.random(len(gaps)) < 0.1, "race"] = None
    gaps.to_csv(place / "gaps.csv", index=False)
    numbers = scored[["age"]].assign(group=rng.choice(["a", "b", "c"], len(scored)))
    numbers["amount"] = np.round(numbers["age"] / 20 + rng.normal(size=len(scored)), 6)
    numbers["guess"] = np.round(numbers["amount"] / 2 + rng.normal(size=len(scored)), 6)
    numbers.to_csv(place / "numbers.csv", index=False)
    for name, table in (("many", scored), ("many_numbers", numbers)):
        rows = rng.integers(0, len(table), 4 * len(table))
        table.iloc[rows].reset_index(drop=True).to_parquet(place / f"{name}.parquet")
    return place


def versions() -> dict[str, str]:
    """Of the packages that train the models."""
    from importlib.metadata import version

    return {name: version(name) for name in ("numpy", "scikit-learn")}


def scrubbed(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            k: "…" if k in VOLATILE or (k == "model" and isinstance(v, str)) else scrubbed(v)
            for k, v in value.items()
        }
    if isinstance(value, list):
        return [scrubbed(item) for item in value]
    return value


def differences(found: Any, kept: Any, place: str = "") -> list[str]:
    """Where two records differ; numbers may differ by rounding."""
    if isinstance(kept, dict) and isinstance(found, dict):
        return [
            line
            for key in sorted(kept.keys() | found.keys())
            for line in (
                differences(found[key], kept[key], f"{place}.{key}")
                if key in kept and key in found
                else [f"{place}.{key}: {'new' if key in found else 'gone'}"]
            )
        ]
    if isinstance(kept, list) and isinstance(found, list) and len(kept) == len(found):
        return [
            line
            for k, pair in enumerate(zip(found, kept, strict=True))
            for line in differences(*pair, f"{place}[{k}]")
        ]
    if isinstance(kept, float) and isinstance(found, (int, float)):
        same = math.isclose(found, kept, rel_tol=1e-7, abs_tol=1e-9)
    elif isinstance(kept, str) and isinstance(found, str):
        same = re.sub(r"\s+", " ", kept) == re.sub(r"\s+", " ", found)
    else:
        same = found == kept
    return [] if same else [f"{place}: {kept!r} → {found!r}"]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_record_is_as_it_was(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import shlex

    if not os.environ.get("FAIRAUDIT_UPDATE"):
        made_with = json.loads((KEPT / "versions.json").read_text(encoding="utf-8"))
        if made_with != versions():
            pytest.skip(f"the records were made with {made_with}: another model, other numbers")
    monkeypatch.chdir(folder)
    (folder / "fairness.state").unlink(missing_ok=True)
    status = cli.main([*shlex.split(COMMANDS[name]), "--json"])
    shown = capsys.readouterr()
    assert status in (0, 1, 3), shown.err
    found = scrubbed(json.loads(shown.out))
    kept = KEPT / f"{name}.json"
    if os.environ.get("FAIRAUDIT_UPDATE"):
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        (KEPT / "versions.json").write_text(json.dumps(versions()) + "\n", encoding="utf-8")
    assert differences(found, json.loads(kept.read_text(encoding="utf-8"))) == []
