"""One group of formats for every result, also for formats of third parties; and the way out."""

from __future__ import annotations

import argparse
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from fairaudit import InputError, results
from fairaudit.auditing.audit_result import AuditResult
from fairaudit.comparison.comparison_result import Comparison
from fairaudit.results import Result, check_format
from fairaudit_cli import main as cli
from fairaudit_cli.deliver import check_outputs, deliver
from fairaudit_cli.report import _HOMES, load_result
from fairaudit_reports import formats

KEPT = Path(__file__).parents[1] / "golden/records_0_1_0"
RECORDS = sorted(KEPT.glob("*.json"))


def shout(result: Result) -> str:
    """The format of a third party."""
    return f"{type(result).__name__.upper()}!"


@pytest.fixture
def loud(monkeypatch: pytest.MonkeyPatch) -> None:
    """`shout` is installed as the format "loud"."""
    known = results._renderers()
    point = EntryPoint("loud", f"{__name__}:shout", results.GROUP)
    monkeypatch.setattr(results, "_renderers", lambda: {**known, "loud": point})


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_third_party_s_format_works_for_every_result(
    path: Path, loud: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = load_result(str(path))
    args = argparse.Namespace(report=[str(tmp_path / "a.loud")], json=False, suppress=None)
    check_outputs(args, type(result))
    deliver(result, args)
    assert (tmp_path / "a.loud").read_text() == shout(result)
    assert f"report: {args.report[0]}" in capsys.readouterr().out
    assert cli.main(["report", str(path), "--to", "loud", "--out", str(tmp_path)]) == 0
    assert (tmp_path / f"{path.stem}.loud").read_text() == shout(result)
    assert result.save(tmp_path / "b.loud").read_text() == shout(result)


def test_remedy_takes_a_third_party_s_format(
    loud: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once it refused all but its own three; what is missing here is the data."""
    command = ["remedy", "--sensitive", "sex", "--report", str(tmp_path / "a.loud")]
    assert cli.main(command) == 2
    assert "No data" in capsys.readouterr().err


def test_a_format_says_what_it_does_not_show() -> None:
    with pytest.raises(InputError, match=r"'sarif' does not show comparisons\. Use one of: git"):
        check_format("sarif", Comparison)
    comparison = load_result(str(KEPT / "comparison.json"))
    with pytest.raises(InputError, match="'sarif' does not show comparisons"):
        formats.render_sarif(comparison)
    with pytest.raises(InputError, match="A report needs an ending"):
        comparison.save("noext")
    assert check_format("sarif", AuditResult) == "sarif"


def test_a_broken_format_does_not_break_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    known = results._renderers()
    point = EntryPoint("odd", "no_such_package:render", results.GROUP)
    monkeypatch.setattr(results, "_renderers", lambda: {**known, "odd": point})
    with pytest.raises(InputError, match="Use one of: ") as error:
        check_format("docx", Comparison)
    assert "odd" not in str(error.value)
    assert load_result(str(KEPT / "comparison.json")).render("txt")


def test_others_register_their_results() -> None:
    class TheirResult(Result):
        plural = "things of theirs"

    assert not formats.render_md.shows(TheirResult) and formats.render_json.shows(TheirResult)
    formats.render_md.register(TheirResult, lambda result: "theirs")
    assert formats.render_md.shows(TheirResult) and formats.render_md(TheirResult()) == "theirs"


def test_the_table_names_renderers_that_exist() -> None:
    from importlib import import_module

    known = {home.partition(":")[2] for home in _HOMES.values()} | {"Result"}
    for by_type in formats.RENDERERS.values():
        assert set(by_type) <= known
        for home in by_type.values():
            module, _, name = home.partition(":")
            assert callable(getattr(import_module(f"fairaudit_reports.{module}"), name))


def test_nothing_is_written_where_one_report_cannot_be(tmp_path: Path) -> None:
    args = argparse.Namespace(report=[str(tmp_path / "a.html"), str(tmp_path)])
    with pytest.raises(InputError, match="A report needs an ending"):
        check_outputs(args, AuditResult)
    args.report[1] = str(tmp_path / "a.txt")
    (tmp_path / "a.txt").mkdir()
    with pytest.raises(InputError, match="it is a directory"):
        check_outputs(args, AuditResult)
    args.report.pop()
    with pytest.raises(InputError, match="it is a directory"):
        check_outputs(args, AuditResult, None, str(tmp_path / "a.txt"))


def test_suppression_stands_in_one_place(tmp_path: Path) -> None:
    result = load_result(str(KEPT / "audit.json"))
    path = tmp_path / "a.json"
    for fewest, masked in ((0, False), (None, True)):
        deliver(result, argparse.Namespace(report=[str(path)], json=True, suppress=fewest))
        assert AuditResult.load(path).masked is masked
