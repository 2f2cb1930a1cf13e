"""A state whose past was written anew does not contain the heads that somebody else keeps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairaudit.errors import InputError
from fairaudit.monitoring.anchor import Anchor
from fairaudit.monitoring.state import StateFile, _line
from fairaudit_cli.main import main


def batch(seed: int) -> str:
    rng = np.random.default_rng(seed)
    sex, y = rng.integers(0, 2, (2, 100))
    frame = pd.DataFrame({"score": y + rng.normal(size=100), "sex": sex, "y": y})
    frame.to_csv(f"{seed}.csv", index=False)
    return f"{seed}.csv"


def words(seed: int, *more: str) -> list[str]:
    asked = ["--predictions", "score", "--sensitive", "sex", "--outcome", "y"]
    asked += ["--permutations", "39"]
    return ["monitor", "--state", "s.state", "--data", batch(seed), *asked, *more]


def rewrite(path: Path, number: int, **change: object) -> None:
    """As an attacker would: change a batch and compute all hashes again."""
    records = [json.loads(line.rpartition(b" ")[0]) for line in path.read_bytes().splitlines()]
    records[number].update(change)
    last, lines = "", []
    for record in records:
        line, last = _line(record, last)
        lines.append(line)
    path.write_bytes(b"".join(lines))
    StateFile(path)  # which finds nothing wrong


def test_a_past_that_was_written_anew_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words(0, "--anchor", "heads.txt")) == 0
    assert "head: " in capsys.readouterr().out
    assert main(words(1, "--anchor", "heads.txt")) == 0
    assert "contains the anchored head of batch 1" in capsys.readouterr().out
    heads = [line.split()[0] for line in Path("heads.txt").read_text().splitlines()]
    assert heads == StateFile("s.state").heads[1:] and len(heads) == 2
    for head in heads:
        assert main(["monitor", "--state", "s.state", "--anchor", head]) == 0
    capsys.readouterr()
    rewrite(tmp_path / "s.state", 1, p_value=0.9)
    before = Path("s.state").read_bytes()
    for given in ("heads.txt", *heads):
        for command in (["monitor", "--state", "s.state"], words(2)):
            assert main([*command, "--anchor", given]) == 2
            said = capsys.readouterr().err
            assert "does not contain the anchored head" in said and said.count("\n") == 1
    assert Path("s.state").read_bytes() == before and len(Path("heads.txt").read_text()) > 100
    assert main(["monitor", "--state", "s.state"]) == 0  # without an anchor nobody can tell


def test_a_state_that_was_cut_back_is_noticed(tmp_path: Path) -> None:
    file = StateFile(tmp_path / "s.state")
    file.begin({"alpha": 0.05}, {"rows": 1})
    anchor = Anchor(tmp_path / "heads")
    assert anchor.check(file) is None
    for rows in (2, 3):
        file.append({"rows": rows})
        anchor.keep(file)
        anchor.keep(file)  # once
    assert Anchor(tmp_path / "heads").heads == file.heads[2:]
    lines = file.path.read_bytes().splitlines(keepends=True)
    file.path.write_bytes(b"".join(lines[:-1]))
    with pytest.raises(InputError, match="its past was changed"):
        Anchor(tmp_path / "heads").check(StateFile(file.path))


def test_anchors_that_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words(0)) == 0
    Path("text").write_text("not a head\n")
    Path("binary").write_bytes(b"\xff\xfe")
    heads = StateFile("s.state").heads
    Path("turned").write_text("\n".join(reversed(heads)))
    for given, why in {
        "text": "keeps no heads",
        "binary": "Cannot read",
        "turned": "not in the order",
        "s.state": "keeps no heads",
        "0" * 64: "does not contain",
    }.items():
        capsys.readouterr()
        assert main(["monitor", "--state", "s.state", "--anchor", given]) == 2
        assert why in capsys.readouterr().err, given


def test_batches_after_the_anchor_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who cannot write the heads can still append to the state."""
    monkeypatch.chdir(tmp_path)
    assert main(words(0, "--anchor", "heads.txt")) == 0
    for seed in (1, 2):
        assert main(words(seed)) == 0
    capsys.readouterr()
    assert main(["monitor", "--state", "s.state", "--anchor", "heads.txt"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "head of batch 1; no anchor vouches for batches 2 to 3." in said


def test_a_line_that_is_no_json_with_a_right_hash(tmp_path: Path) -> None:
    import hashlib

    state = StateFile(tmp_path / "s.state")
    state.begin({"alpha": 0.05}, {"rows": 200})
    whole = (tmp_path / "s.state").read_bytes()
    for text in (b"{", b"[" * 100_000, b'{"rows": 1, "rows": 2}', b'{"rows": NaN}', b"\xff"):
        check = hashlib.sha256(state.head.encode() + text).hexdigest().encode()
        (tmp_path / "s.state").write_bytes(whole + text + b" " + check + b"\n")
        with pytest.raises(InputError, match="damaged in line 3"):
            StateFile(tmp_path / "s.state")


@pytest.mark.parametrize(
    "change", [{"alpha": 0}, {"alpha": None}, {"betting": []}, {"weights": "\x1b[2J"}, {"bets": -1}]
)
def test_a_state_that_lies_is_one_line(
    change: dict[str, object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words(0)) == 0
    rewrite(tmp_path / "s.state", 0, **change)
    for command in (["monitor", "--state", "s.state"], words(1)):
        capsys.readouterr()
        status = main(command)
        shown = capsys.readouterr()
        assert (status, shown.err) == (0, "") if "bets" in change else status == 2, shown.err
        assert shown.err.count("\n") <= 1 and "Traceback" not in shown.err
    assert len(StateFile("s.state").batches) == 1 + ("bets" in change)
