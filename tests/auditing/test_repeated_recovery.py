"""Several audits of the same people in one report tell no more about masked groups than one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from recovery import recovered

from fairaudit.evidence.disclosure import step_of
from fairaudit_cli import main as cli

FEWEST = 10
SIZES = {"a": (60, 50), "b": (55, 45), "c": (5, 3), "d": (20, 18)}  # with outcomes 0 and 1
COMMAND = "compare --models ours:f ours:h ours:k ours:m --permutations 19"


def people() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    group = np.repeat(list(SIZES), [sum(sizes) for sizes in SIZES.values()])
    y = np.concatenate([np.repeat([0, 1], sizes) for sizes in SIZES.values()])
    frame = pd.DataFrame({"g": group, "y": y})
    for name in "fhkm":
        frame[name] = (rng.random(len(y)) < 0.25 + 0.5 * y * rng.random()).astype(int)
    return frame.sample(frac=1, random_state=0)


def test_sizes_of_masked_groups_keep_their_candidates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    source = [f"def {name}(table):\n    return table['{name}']\n" for name in "fhkm"]
    Path("ours.py").write_text("\n\n".join(source))
    people().to_csv("t.csv", index=False)
    words = [*COMMAND.split(), "--data", "t.csv", "--sensitive", "g", "--outcome", "y"]
    assert cli.main([*words, "--json"]) in (0, 1, 3)
    audits = [model["audit"] for model in json.loads(capsys.readouterr().out)["models"]]
    assert len(audits) == 4
    left: list[set[int]] = [set(range(1000)), set(range(1000))]
    for audit in audits:
        assert [cell["masked"] for cell in audit["cells"]["cells"]] == [False, False, True, True]
        step = step_of(FEWEST, audit["table"]["people"])
        for own, some in zip(left, recovered(audit, FEWEST, (step, step, step)), strict=True):
            own &= set(some.first.tolist())
    for own, size in zip(left, SIZES["c"], strict=True):
        assert size in own and len(own) >= FEWEST
