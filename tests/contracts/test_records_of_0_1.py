"""Records that version 0.1.0 wrote load, render in every format and, of audits, verify.

`tests/golden/README.md` says how they were made.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import pytest

from fairaudit import InputError
from fairaudit.results import Result
from fairaudit_cli import main as cli
from fairaudit_cli.report import load_result

KEPT = Path(__file__).parents[1] / "golden/records_0_1_0"
TABLES = {
    "audit": "people.csv",
    "audit-masked": "people.csv",
    "audit-evidence": "people.csv",
    "audit-regression": "numbers.csv",
    "audit-shards": "crowd.parquet",
}
#: Formats of each kind of record. 0.1.0 showed no more of them.
FORMATS = {
    "audit": "github html json md sarif svg txt xml",
    "comparison": "github html json md txt",
    "missing": "html json md txt",
    "models": "html json md txt",
    "monitoring": "html json md txt",
    "plan": "html json md png svg txt",
    "remedy": "html json md txt",
}
RECORDS = [
    (path.stem, form)
    for path in sorted(KEPT.glob("*.json"))
    for form in FORMATS[path.stem.partition("-")[0]].split()
]


def test_every_kind_of_record_is_kept() -> None:
    assert {name.partition("-")[0] for name, _ in RECORDS} == set(FORMATS)
    assert {name for name, _ in RECORDS if name.startswith("audit")} == set(TABLES)


@pytest.mark.parametrize(("name", "form"), RECORDS)
def test_it_renders(name: str, form: str, tmp_path: Path) -> None:
    arguments = ["report", str(KEPT / f"{name}.json"), "--to", form, "--out", str(tmp_path)]
    assert cli.main(arguments) == 0
    content = (tmp_path / f"{name}.{form}").read_bytes()
    begins = {"html": b"<!DOCTYPE html>", "svg": b"<svg", "xml": b"<?xml", "png": b"\x89PNG"}
    assert content.startswith(begins.get(form, b"")) and len(content) > 50


@pytest.mark.parametrize("path", sorted(KEPT.glob("*.json")), ids=lambda path: path.stem)
def test_no_value_is_lost(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the record holds stands in the record of the loaded result, with the same value."""
    kept = json.loads(path.read_text(encoding="utf-8"))
    result = load_result(str(path))
    found = json.loads(result.to_json())
    if path.stem == "remedy":  # 0.1.0 called a collapsed model constant
        assert all(model.pop("constant") is False for model in kept["curve"])
    assert list(_lost(kept, found)) == []
    assert type(result).from_dict(found).to_json() == result.to_json()
    assert cli.main(["report", str(path)]) == 0
    assert len(capsys.readouterr().out) > 100


def _lost(kept: object, found: object, path: str = ""):
    if isinstance(kept, dict) and isinstance(found, dict):
        for key, value in kept.items():
            yield from _lost(value, found.get(key, "(absent)"), f"{path}.{key}")
    elif isinstance(kept, list) and isinstance(found, list) and len(kept) == len(found):
        for number, (old, new) in enumerate(zip(kept, found, strict=True)):
            yield from _lost(old, new, f"{path}[{number}]")
    elif kept != found or type(kept) is not type(found):
        yield f"{path}: {kept!r} → {found!r}"


@pytest.mark.parametrize("name", TABLES)
def test_it_verifies(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    record = json.loads((KEPT / f"{name}.json").read_text(encoding="utf-8"))
    packages = {name: record["capsule"]["packages"][name] for name in ("numpy", "scipy")}
    if packages != {name: version(name) for name in packages}:
        pytest.skip(f"the records were made with {packages}")
    data = ["--data", str(KEPT / TABLES[name])]
    if record["quality"]["copies_by"].endswith("folds"):  # drawn otherwise since
        assert cli.main(["verify", str(KEPT / f"{name}.json"), *data]) == 2
        assert "copies of a fitted density are drawn otherwise" in capsys.readouterr().err
        return
    assert cli.main(["verify", str(KEPT / f"{name}.json"), *data]) == 0, capsys.readouterr().out
    shown = capsys.readouterr().out
    assert shown.startswith("reproduced: all ") and "the record is of fairaudit 0.1.0" in shown
    record["findings"][0]["p_value"] += 0.01
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(record), encoding="utf-8")
    assert cli.main(["verify", str(forged), *data]) == 1
    assert "findings[0].p_value" in capsys.readouterr().out


def test_a_remedy_that_was_not_judged_is_not_called_repaired() -> None:
    record = json.loads((KEPT / "remedy.json").read_text(encoding="utf-8"))
    result = _loaded(record)
    assert str(result.outcome) == "inconclusive" and result.model is None
    record["after"]["verdict"] = "violation"
    record["curve"][1]["constant"] = True
    result = _loaded(record)
    assert str(result.outcome) == "not repaired" and str(result.verdict) == "violation"
    assert list(result.curve["collapsed"].notna()) == [False, True, False]


@pytest.mark.parametrize("key", ["after", "curve", "loss", "model"])
def test_a_damaged_record_of_a_remedy_is_an_error(key: str) -> None:
    record = json.loads((KEPT / "remedy.json").read_text(encoding="utf-8"))
    for bad in (3, [3], "text"):
        with pytest.raises(InputError, match=f"damaged: {key}"):
            _loaded({**record, key: bad})


def _loaded(record: dict) -> Result:
    from fairaudit.remedy.remedy_result import RemedyResult

    return RemedyResult.from_dict(record)
