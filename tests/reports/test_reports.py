"""Every report format, on small audits of every kind: valid, complete, escaped, and of one mind."""

import doctest
import html
import io
import json
import re
import types
import typing
from dataclasses import fields, is_dataclass, replace
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pandas as pd
import pytest
import xmlschema
from markdown_it import MarkdownIt
from rich.console import Console

import fairaudit as fa
from fairaudit.auditing.audit_result import AuditResult
from fairaudit.auditing.findings import StatementKind, Verdict
from fairaudit.auditing.statements import Statement
from fairaudit.data.facts import Excluded, Source
from fairaudit.evidence.measured import Cell, CellTable, Estimate
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_reports.machine import github, json_record, junit, sarif
from fairaudit_reports.markdown import audit_markdown
from fairaudit_reports.text import audit_text, terminal
from fairaudit_reports.view.audit_view import select_findings
from fairaudit_reports.view.statements_view import describe_statements
from fairaudit_reports.view.wording import clean

SCHEMAS = Path(__file__).parent / "schemas"
FORMATS = {
    "txt": audit_text,
    "md": audit_markdown,
    "xml": junit,
    "sarif": sarif,
    "github": github,
    "json": json_record,
}
HOSTILE = "<b>se|x</b> `&amp;` \n \x1b[31m_a_ [l](http://x) @user, 100 %: {0} \u202e"
NORMAL = (
    "violation",
    "none",
    "inconclusive",
    "tolerated",
    "masked",
    "people",
    "regression",
    "certified",
)


def table(n=300):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "race": rng.choice(["asian", "black", "white"], n, p=[0.08, 0.32, 0.6]),
            "sex": rng.choice(["female", "male"], n),
            "age": rng.integers(20, 70, n),
        }
    )
    return frame, pd.Series(rng.integers(0, 2, n), name="repaid"), rng


def audited(score, y, frame, **options):
    drawn = fa.Permutations(n=199)  # Holm among six questions needs more than 99
    return fa.audit(predictions=score, outcome=y, sensitive=frame, permutations=drawn, **options)


@pytest.fixture(scope="module")
def results():
    frame, y, rng = table()
    noise, unrelated = rng.random(len(y)), np.random.default_rng(1).random(len(y))
    biased = 0.2 * y + 0.4 * noise + 0.4 * (frame["sex"] == "male")
    violation = audited(biased, y, frame, pairs=[("sex", "age")])
    violation = replace(
        violation,
        capsule=replace(
            violation.capsule,
            command="fairaudit test --model 'my model.onnx' --data test.csv",
            model=Source("models/my model.onnx", "onnx", "0" * 64),
            data=(Source("test.csv", "table", "1" * 64),),
        ),
        table=replace(violation.table, excluded=(Excluded(7, "age is missing"),)),
    )
    people = np.arange(len(y)) // 2
    constant = frame.groupby(people).transform("first")
    strange = pd.DataFrame({HOSTILE: np.where(frame["sex"] == "male", "m|" + HOSTILE, "")})
    why = "the copies can be told from the data (p = 0.001)"
    gate = replace(violation.joint, inconclusive=why, significant=False)
    behind = [replace(finding, significant=False) for finding in violation.findings[1:]]
    return {
        "violation": violation,
        "none": audited(0.2 + 0.3 * y + 0.5 * unrelated, y, frame),
        "inconclusive": replace(
            violation,
            verdict=Verdict.INCONCLUSIVE,
            because=f"Inconclusive: {why}.",
            findings=(gate, *behind),
        ),
        "tolerated": audited(biased, y, frame, tolerance={"kpc": 0.9}),
        "masked": violation.suppressed(20),
        "people": audited(
            biased,
            y,
            constant[["race", "sex"]],
            ids=pd.Series(people, name="person"),
            weights=rng.random(len(y)) + 0.5,
        ),
        "regression": audited(biased * 3, y + rng.normal(size=len(y)), frame[["sex"]]),
        "certified": audited(
            0.2 + 0.3 * y + 0.5 * noise, y, frame[["sex"]], certify={"tpr_gap": 0.9, "kpc": 0.9}
        ),
        "hostile": audited(biased, y.rename(HOSTILE), strange),
    }


@pytest.fixture(params=[*NORMAL, "hostile"])
def result(request, results):
    return results[request.param]


def test_the_audits_are_what_they_are_called(results):
    verdicts = {name: str(result.verdict) for name, result in results.items()}
    assert verdicts.pop("none") == verdicts.pop("tolerated") == "no violation found"
    assert verdicts.pop("inconclusive") == "inconclusive"
    assert verdicts.pop("certified") == "equivalent within tolerance"
    assert set(verdicts.values()) == {"violation"}
    assert {finding.family for finding in results["violation"].findings} == {
        "joint",
        "attribute",
        "pair",
        "outcome",
    }
    assert any(finding.significant for finding in results["tolerated"].findings[1:])
    assert results["masked"].cells.masked
    assert results["people"].table.ids == "person"
    assert results["regression"].cells.columns[:2] == ("prediction given outcome", "mean error")
    assert results["regression"].gaps.of_predictions and results["regression"].gaps.curve


@pytest.mark.parametrize("form", ["txt", "md", "html", "json"])
def test_mean_errors_are_called_calibration_and_no_measure_of_equalized_odds(form, results):
    text = " ".join(results["regression"].render(form).split())
    assert "calibration, not 0 under equalized odds" in text
    assert "(0, and 1 for the ratio)" not in text
    assert "need not be equal where it holds" in text


@pytest.mark.parametrize("form", FORMATS)
def test_the_verdict_is_there_and_no_report_calls_anything_fair(form, result):
    text = FORMATS[form].render(result)
    assert text.endswith("\n") and not text.endswith("\n\n")
    assert result.verdict.value in text.lower()
    assert not re.search(r"\b(un)?fair\b", text, re.IGNORECASE)
    assert "None" not in text and "nan" not in text.split()
    text.encode("utf-8")
    if form != "json":  # JSON writes control characters as \u….
        assert all(c.isprintable() or c in "\n\u200b" for c in text)


@pytest.mark.parametrize("module", FORMATS.values(), ids=FORMATS)
def test_examples_in_docstrings(module):
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


# JSON


def schema():
    return json.loads(files("fairaudit_reports").joinpath("audit.schema.json").read_text("utf-8"))


def is_audit(record):
    return jsonschema.Draft202012Validator(schema()).is_valid(record)


def test_json_validates_and_comes_back_equal(result):
    record = json.loads(json_record.render(result))
    jsonschema.Draft202012Validator(schema()).validate(record)
    assert record["digest"] and AuditResult.from_dict(record) == result


def test_the_schema_is_strict(results):
    jsonschema.Draft202012Validator.check_schema(schema())
    assert schema()["$id"] == AuditResult.schema
    assert schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"

    def without(path):
        record = results["violation"].to_dict()
        *above, last = path
        place = record
        for key in above:
            place = place[key]
        return record, place, last

    for path in [
        ("because",),
        ("table", "rows"),
        ("table", "outcome", "kind"),
        ("findings", 0, "kpc"),
        ("measures", 0, "value"),
        ("cells", "cells", 0, "people"),
        ("quality", "moved"),
        ("cells", "cells", 0, "estimates", 0, "low"),
        ("capsule", "model", "sha256"),
    ]:
        record, place, last = without(path)
        assert is_audit(record)
        place[f"{last}_"] = place.pop(last)
        assert not is_audit(record), f"{path} renamed"
        record, place, last = without(path)
        place["more"] = 1
        assert not is_audit(record), f"something beside {path}"
        record, place, last = without(path)
        place[last] = ["wrong"]
        assert not is_audit(record), f"{path} of another type"
    for path, wrong in [
        (("verdict",), "pass"),
        (("schema",), "fairaudit/audit/2"),
        (("alpha",), "0.05"),
        (("findings", 0, "p_value"), 1.5),
        (("findings", 0, "p_interval"), [0.1]),
        (("findings", 0, "family"), "trio"),
        (("findings",), []),
        (("table", "rows"), 1.5),
        (("capsule", "table_sha256"), "abc"),
        (("findings", 0, "significant"), 1),
    ]:
        record, place, last = without(path)
        place[last] = wrong
        assert not is_audit(record), f"{path} = {wrong!r}"


def test_the_schema_follows_the_record():
    whole = schema()
    seen = set()

    def resolved(part):
        return whole["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part

    def compare(kind, part, where):
        options = [resolved(option) for option in part.get("anyOf", [part])]
        accepted = {
            name
            for option in options
            for name in ([option["type"]] if isinstance(option["type"], str) else option["type"])
        }
        origin, inner = typing.get_origin(kind), typing.get_args(kind)
        if origin in (typing.Union, types.UnionType):
            assert "null" in accepted, f"{where} may be null"
            (kind,) = [member for member in inner if member is not type(None)]
            origin, inner = typing.get_origin(kind), typing.get_args(kind)
        elif kind is not float and "number" not in accepted:
            assert "null" not in accepted, f"{where} is never null"
        if is_dataclass(kind):
            (schema,) = [option for option in options if option["type"] == "object"]
            compare_fields(kind, schema, where)
        elif origin is tuple:
            assert "array" in accepted, where
            compare(inner[0], options[0]["items"], f"{where}[]")
        elif origin is dict:
            assert "object" in accepted, where
            if inner[1] is not typing.Any:
                compare(inner[1], options[0]["additionalProperties"], f"{where}{{}}")
        else:
            names = {
                str: "string",
                Verdict: "string",
                StatementKind: "string",
                bool: "boolean",
                int: "integer",
                float: "number",
            }
            assert accepted - {"null"} == {names[kind]}, where

    def compare_fields(kind, part, where, more=()):
        names = [*more, *(field.name for field in fields(kind))]
        assert list(part["properties"]) == names, where
        assert part["required"] == names, where
        assert part["additionalProperties"] is False, where
        for name, item in part["properties"].items():
            assert item["title"] and item["description"].endswith((".", "…")), f"{where}.{name}"
        if kind in seen:
            return
        seen.add(kind)
        for name, hint in typing.get_type_hints(kind).items():
            if typing.get_origin(hint) is typing.ClassVar:
                continue
            compare(hint, part["properties"][name], f"{where}.{name}")

    for seal in ("digest", "signature"):  # of the file, not of the result
        assert seal not in whole["required"] and whole["properties"].pop(seal)["description"]
    compare_fields(AuditResult, whole, "AuditResult", more=["schema", "statements"])
    compare(tuple[Statement, ...], whole["properties"]["statements"], "AuditResult.statements")
    assert {kind.__name__ for kind in seen} == {"AuditResult", *whole["$defs"]}
    assert whole["properties"]["verdict"]["enum"] == [verdict.value for verdict in Verdict]


# Plain text and the terminal


def test_plain_text_is_narrow(results):
    for name in NORMAL:
        lines = audit_text.render(results[name]).splitlines()
        assert max(map(len, lines)) <= 100
        assert not any(line != line.rstrip() for line in lines)
    assert max(map(len, audit_text.render(results["hostile"]).splitlines())) <= 100


def test_plain_text_tells_what_matters(results):
    text = audit_text.render(results["violation"])
    assert text.startswith("VIOLATION of equalized odds: the prediction carries information")
    assert "left out    7 rows: age is missing" in text
    assert re.search(r"race, sex and age together +300 +0\.\d{3} +0\.005 +significant\n", text)
    assert re.search(r"sex alone +300 .* significant\n", text)
    assert "where repaid = 1" in text
    assert re.search(r"female +\d+ +0\.\d\d \[0\.\d\d, 0\.\d\d\]", text)
    assert results["violation"].quality.because in text
    assert all(note[:60] in " ".join(text.split()) for note in results["violation"].notes)
    assert audit_text.render(results["none"]).startswith("NO VIOLATION FOUND: in 300 rows")
    tolerated = audit_text.render(results["tolerated"])
    assert tolerated.startswith("NO VIOLATION FOUND beyond the tolerance: the prediction carries")
    assert "kpc up to 0.9" in tolerated
    assert audit_text.render(results["inconclusive"]).startswith("INCONCLUSIVE: the copies can")
    assert "300 of 150 people (by person)" in audit_text.render(results["people"])
    assert "groups are hidden" in audit_text.render(results["masked"])


def test_a_terminal_gets_the_same_words_in_color(result):
    plain, colored = io.StringIO(), io.StringIO()
    terminal.show_audit(result, Console(file=plain))
    assert plain.getvalue() == audit_text.render(result)
    terminal.show_audit(
        result, Console(file=colored, force_terminal=True, width=140, no_color=False)
    )
    shown = colored.getvalue()
    assert "\x1b[" in shown
    bare = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert "\x1b" not in bare
    assert sorted("".join(bare.split())) == sorted("".join(audit_text.render(result).split()))


def test_a_terminal_that_knows_no_unicode_does_not_fail(results):
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    terminal.show_audit(results["regression"], Console(file=out))
    out.flush()
    assert b"VIOLATION" in raw.getvalue()


def test_very_many_groups_and_questions_are_counted(results):
    many = crowded(results["violation"], cells=40, findings=100)
    text = audit_text.render(many)
    assert "28 more groups" in text and "more questions" in text
    assert text.count("  group-") == 13 and text.count(" alone ") < 30
    listed, left = select_findings(many, 30)
    assert len(listed) == 30 and left == len(many.findings) - 30
    assert listed[0] is many.joint
    assert sum(finding.significant for finding in listed) == sum(
        f.significant for f in many.findings
    )


def crowded(result, cells, findings, name="group-"):
    rate = Estimate(value=0.5, low=0.4, high=0.6, rows=50, people=50)
    groups = tuple(
        Cell(levels=(f"{name}{k}",), rows=50, people=50, estimates=(rate,) * 3)
        for k in range(cells)
    )
    finding = replace(result.findings[1], significant=False)
    more = tuple(replace(finding, attributes=(f"a-{name}{k}",)) for k in range(findings))
    table = CellTable(
        attributes=(name,), columns=("selected", "TPR", "FPR"), cells=groups, unlisted=3, note=""
    )
    return replace(result, cells=table, findings=(*result.findings, *more))


# Markdown


def tables(text):
    """Numbers of columns of the lines of every table."""
    counts, inside = [], False
    for line in text.splitlines():
        if line.startswith("|"):
            if not inside:
                counts.append([])
            counts[-1].append(len(re.findall(r"(?<!\\)\|", line)))
        inside = line.startswith("|")
    return counts


def test_markdown_tables_have_as_many_columns_in_every_line(result):
    text = audit_markdown.render(result)
    counts = tables(text)
    assert len(counts) >= 2
    assert all(len(set(lines)) == 1 for lines in counts)
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert page.count("<table>") == len(counts)
    assert page.count("<tr>") == sum(len(lines) - 1 for lines in counts)


def test_markdown_has_the_parts_a_reader_looks_for(results):
    text = audit_markdown.render(results["violation"])
    assert text.startswith("## Equalized odds: VIOLATION\n\n- **Among people with ")
    assert "\n\nViolation of equalized odds: the" in text
    for part in ("### Questions", "### Measures", "### Copies", "### Notes", "### Repeat it"):
        assert part in text
    assert text.index("<details>") < text.index("| race | sex |") < text.index("</details>")
    assert "```sh\nfairaudit test --model 'my model.onnx' --data test.csv\n```" in text
    for digest in ("0" * 64, "1" * 64, results["violation"].capsule.table_sha256):
        assert f"`{digest}`" in text
    assert "**significant**" in text


def test_markdown_shows_hostile_names_as_they_are(results):
    text = audit_markdown.render(results["hostile"])
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    tags = set(re.findall(r"<(/?[a-z0-9]+)", page))
    assert {tag.lstrip("/") for tag in tags} <= {
        "h2",
        "h3",
        "p",
        "ul",
        "li",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "strong",
        "details",
        "summary",
        "code",
        "em",
    }
    assert "<em>" not in page and "@user" not in text
    plain = html.unescape(page).replace("\u200b", "")
    assert plain.count(clean(HOSTILE)) > 5
    assert "(empty)" in plain


def test_a_command_cannot_leave_its_block(results):
    capsule = replace(results["none"].capsule, command="fairaudit ```` <b>\n# x")
    text = audit_markdown.render(replace(results["none"], capsule=capsule))
    assert "`````sh\nfairaudit ```` <b> # x\n`````" in text


@pytest.mark.parametrize("name", ["group-", "<|`" * 300])
def test_markdown_stays_short(results, name):
    text = audit_markdown.render(crowded(results["violation"], cells=5000, findings=500, name=name))
    assert len(text) < 60_000
    assert text.count("<details>") == text.count("</details>")
    assert all(len(set(lines)) == 1 for lines in tables(text))
    assert text.startswith("## Equalized odds: VIOLATION")
    if name == "group-":
        left = int(re.search(r"([\d,]+) more groups", text)[1].replace(",", ""))
        assert left > 1000 and len(re.findall(r"\n\| group-\d", text)) == 5000 - left
        assert "### Repeat it" in text
    else:
        assert "too long for this format" in text


# JUnit


def suite(result, **options):
    text = junit.render(result, **options)
    xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd").validate(text)
    (element,) = ElementTree.fromstring(text)
    cases = element.findall("testcase")
    for attribute, tag in [("failures", "failure"), ("errors", "error"), ("skipped", "skipped")]:
        assert int(element.get(attribute)) == sum(case.find(tag) is not None for case in cases)
    assert int(element.get("tests")) == len(cases) == len(result.findings)
    return element


def test_junit_is_valid_and_counts(result):
    element = suite(result)
    assert element.get("name") == "fairaudit"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", element.get("timestamp"))
    for case, finding in zip(element.findall("testcase"), result.findings, strict=True):
        assert case.get("classname") == "equalized_odds"
        assert case.get("name") == clean(f"{finding.family}: {finding.name}")
        assert float(case.get("time")) == pytest.approx(finding.seconds, abs=1e-3)
    assert float(element.get("time")) == pytest.approx(result.seconds, abs=1e-3)
    known = {item.get("name"): item.get("value") for item in element.iter("property")}
    assert known["verdict"] == result.verdict.value
    assert float(known["p-value"]) == pytest.approx(result.p_value)
    assert known["seed"] == "0" and known["copies"] == "199"
    assert known["table.sha256"] == result.capsule.table_sha256


def outcomes(element):
    tags = ("failure", "error", "skipped")
    return [
        next((tag for tag in tags if case.find(tag) is not None), "passed")
        for case in element.findall("testcase")
    ]


def test_junit_follows_the_verdict(results):
    violation = results["violation"]
    expected = ["failure" if finding.significant else "passed" for finding in violation.findings]
    assert outcomes(suite(violation)) == expected
    gate = suite(violation).find("testcase/failure")
    assert gate.get("type") == "violation"
    assert gate.get("message").startswith("Among people with ")
    assert gate.get("message").endswith(violation.because)
    for name in ("none", "tolerated"):
        assert set(outcomes(suite(results[name]))) == {"passed"}
        assert set(outcomes(suite(results[name], strict=True))) == {"passed"}
    gate, *behind = outcomes(suite(results["inconclusive"]))
    assert gate == "error" and set(behind) == {"skipped"}
    gate, *behind = outcomes(suite(results["inconclusive"], strict=True))
    assert gate == "failure" and set(behind) == {"skipped"}


def test_junit_skips_what_is_not_settled(results):
    violation = results["violation"]
    first, second, *rest = violation.findings
    unsettled = replace(second, inconclusive="too few rows", significant=False)
    element = suite(replace(violation, findings=(first, unsettled, *rest)))
    assert outcomes(element)[:2] == ["failure", "skipped"]
    assert element.find("testcase/skipped").get("message") == "Not settled: too few rows."
    undefined = replace(second, p_value=None, p_adjusted=None, significant=False, kpc=None)
    undefined = replace(undefined, p_interval=(float("nan"), float("nan")))
    assert outcomes(suite(replace(violation, findings=(first, undefined, *rest))))[1] == "skipped"


# SARIF


def run_of(result):
    log = json.loads(sarif.render(result))
    official = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text("utf-8"))
    jsonschema.Draft7Validator(official).validate(log)
    (run,) = log["runs"]
    ended = run["invocations"][0]["endTimeUtc"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", ended)
    return run


def test_sarif_is_valid_and_follows_the_verdict(result):
    run = run_of(result)
    (invocation,) = run["invocations"]
    exits = {
        Verdict.VIOLATION: ExitCode.VIOLATION,
        Verdict.NO_VIOLATION: ExitCode.OK,
        Verdict.INCONCLUSIVE: ExitCode.INCONCLUSIVE,
        Verdict.EQUIVALENT: ExitCode.OK,
    }
    assert invocation["executionSuccessful"] is True
    assert invocation["exitCode"] == exits[result.verdict]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    for item in run["results"]:
        assert rules[item["ruleIndex"]] == item["ruleId"]
        assert {"p", "n"} <= item["properties"].keys()
        of_outcome = item["ruleId"].endswith("outcome")  # masked groups mask its size
        assert ("kpc" in item["properties"]) != (of_outcome and result.masked)
        place = item["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] and place["region"]["startLine"] == 1
    levels = [(item["ruleId"], item["level"]) for item in run["results"]]
    if result.verdict in (Verdict.NO_VIOLATION, Verdict.EQUIVALENT):
        assert levels == []
    elif result.verdict is Verdict.INCONCLUSIVE:
        assert levels == [("inconclusive", "warning")]
    else:
        assert levels[0] == ("equalized-odds/joint", "error")
        significant = [finding for finding in result.findings[1:] if finding.significant]
        assert levels[1:] == [
            (f"equalized-odds/{finding.family}", "warning") for finding in significant
        ]


def test_sarif_fingerprints_belong_to_the_question(results):
    def marks(result):
        return [tuple(item["partialFingerprints"].values()) for item in run_of(result)["results"]]

    violation = results["violation"]
    assert len(set(marks(violation))) == len(marks(violation)) > 2
    later = replace(
        violation,
        because="Another sentence.",
        findings=tuple(replace(finding, p_value=0.02, rows=5) for finding in violation.findings),
        capsule=replace(violation.capsule, seed=1, created="2030-01-01T00:00:00+00:00"),
    )
    assert marks(later) == marks(violation)


def test_sarif_points_at_the_model_then_at_the_data(results):
    def place(**parts):
        capsule = replace(results["violation"].capsule, **parts)
        item = run_of(replace(results["violation"], capsule=capsule))["results"][0]
        return item["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]

    assert place() == "models/my%20model.onnx"
    assert place(model=None) == "test.csv"
    assert place(model=Source(None, "object", None)) == "test.csv"
    assert place(model=None, data=(Source("standard input", "table", None),)) == "fairaudit"
    assert place(model=None, data=()) == "fairaudit"
    assert place(model=Source("/srv/ö.onnx", "onnx", None)) == "file:///srv/%C3%B6.onnx"
    assert place(model=Source("a\\b.onnx", "onnx", None)) == "a/b.onnx"
    assert place(model=Source("hf://a/b c", "onnx", None)) == "hf://a/b%20c"


# GitHub annotations

COMMAND = re.compile(r"::(error|warning|notice) title=([^:,]*)::(.+)")


def unescaped(text):
    pairs = [("%3A", ":"), ("%2C", ","), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")]
    for code, character in pairs:
        text = text.replace(code, character)
    return text


def test_github_lines_are_commands(result):
    lines = github.render(result).splitlines()
    matches = [COMMAND.fullmatch(line) for line in lines]
    assert all(matches) and len(matches) <= 10
    levels = {
        "violation": "error",
        "no violation found": "notice",
        "inconclusive": "warning",
        "equivalent within tolerance": "notice",
    }
    assert matches[0][1] == levels[result.verdict.value]
    assert unescaped(matches[0][2]) == f"Equalized odds: {result.verdict.value}"
    sentences = [*describe_statements(result), result.because]
    assert unescaped(matches[0][3]) == clean(" ".join(sentences), 1600)
    behind = [finding for finding in result.findings[1:] if finding.significant]
    expected = len(behind) if result.verdict is Verdict.VIOLATION else 0
    assert len(matches) == 1 + min(expected, 9)
    assert all(match[1] == "warning" for match in matches[1:])
    assert not re.search(r"%(?!25|3A|2C|0A|0D)", "".join(lines))


@pytest.mark.parametrize("behind", [8, 9, 10, 30])
def test_github_shows_ten_lines_and_says_what_is_left(results, behind):
    violation = results["violation"]
    finding = replace(violation.findings[1], significant=True)
    many = replace(violation, findings=(violation.joint, *[finding] * behind))
    lines = github.render(many).splitlines()
    assert len(lines) == min(behind + 1, 10)
    if behind > 9:
        assert f"{behind - 8} more significant findings" in lines[-1]


# All of them


@pytest.mark.parametrize("form", FORMATS)
def test_formats_are_known_by_their_extension(form, results, tmp_path):
    result = results["violation"]
    assert result.render(form) == FORMATS[form].render(result)
    path = result.save(tmp_path / f"audit.{form}", suppress=20)
    assert path.read_text("utf-8") == FORMATS[form].render(results["masked"])


def test_reports_load_without_the_heavy_parts():
    import subprocess
    import sys

    code = """
import pkgutil, sys
from importlib import import_module
import fairaudit_reports
modules = list(pkgutil.walk_packages(fairaudit_reports.__path__, "fairaudit_reports."))
for module in modules:
    import_module(module.name)
print(len(modules) > 40, [name for name in ("numpy", "rich", "pandas") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "True []", done.stderr


def test_what_a_record_may_lack(results):
    """Every renderer shows a record without notes, cells, kinds of numbers or a time."""
    base = results["violation"]
    column = replace(base.table.attributes[-1], levels=(), low=None, high=None)
    bare = replace(
        base,
        notes=(),
        cells=None,
        findings=base.findings[:1],
        table=replace(base.table, attributes=(column,), features=()),
        capsule=replace(base.capsule, created="yesterday", model=None, data=()),
    )
    for form in ("html", "md", "xml", "sarif", "txt", "json"):
        assert "violation" in bare.render(form).lower(), form
    page = bare.render("html")
    assert "not known: predictions were given" in page and "yesterday" in page
    recorded = replace(bare, capsule=replace(bare.capsule, model=Source("m.onnx", "onnx", None)))
    assert "not recorded" in recorded.render("html") and "no hash" in recorded.render("md")
    assert "It decides at level 0.05." in bare.render("txt")


def test_many_sources_are_counted(results):
    base = results["violation"]
    data = tuple(Source(f"part-{k}.csv", "table", "0" * 64) for k in range(30))
    shown = replace(base, capsule=replace(base.capsule, data=data)).render("md")
    assert re.search(r"1\d more files", shown)


def test_numbers_in_reports():
    from fairaudit.results import json_text
    from fairaudit_reports.text.metrics_text import format_counted_estimate, groups_table
    from fairaudit_reports.view.numerals import p_decimal

    assert p_decimal(None) == "–" and p_decimal(1e-9) == "< 0.000001"
    assert json.loads(json_text({"a": np.float64("nan"), "b": (np.int64(2),)})) == {
        "a": None,
        "b": [2],
    }
    masked = Cell(
        levels=("a",),
        rows=5,
        people=5,
        estimates=(Estimate(value=None, low=None, high=None, rows=0, people=0),),
        masked=True,
    )
    many = CellTable(
        attributes=("sex",), columns=("TPR",), cells=(masked,) * 500, unlisted=7, note=""
    )
    text = groups_table(many)
    assert "500 groups are masked" in text and "7 more combinations" in text
    assert "more groups" not in text  # nothing is to be had of them elsewhere
    assert (
        format_counted_estimate(Estimate(value=None, low=None, high=None, rows=0, people=0)) == "–"
    )
    assert (
        format_counted_estimate(Estimate(value=0.5, low=None, high=None, rows=9, people=9))
        == "0.500 of 9"
    )
