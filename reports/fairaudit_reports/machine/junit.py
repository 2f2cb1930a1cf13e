"""JUnit XML: every question is a test case, for Jenkins, GitLab and GitHub's test reporters."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

from fairaudit.auditing.findings import Verdict
from fairaudit_reports.view.audit_view import describe_adjustment, describe_finding
from fairaudit_reports.view.numerals import fixed, p_text
from fairaudit_reports.view.statements_view import describe_statements
from fairaudit_reports.view.wording import LONGEST_NOTE, clean

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.auditing.findings import Finding

__all__ = ["render"]

Element = ElementTree.Element


def render(result: AuditResult, *, strict: bool = False) -> str:
    """The verdict decides: a violation is a failure, an inconclusive audit an error.

    Parameters
    ----------
    result : AuditResult
    strict : bool
        An inconclusive audit is a failure too.
    """
    cases = [_build_case(finding, result, strict) for finding in result.findings]
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": str(sum(case.find("error") is not None for case in cases)),
    }
    time = {"time": f"{result.seconds:.3f}"}
    root = Element("testsuites", {"name": "fairaudit", **counts, **time})
    skipped = str(sum(case.find("skipped") is not None for case in cases))
    started = result.capsule.created[:19]  # the format has no time zone; ours is UTC
    about = {"name": "fairaudit", **counts, "skipped": skipped, **time, "timestamp": started}
    suite = ElementTree.SubElement(root, "testsuite", {k: clean(v) for k, v in about.items()})
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in _list_properties(result):
        ElementTree.SubElement(properties, "property", {"name": name, "value": clean(value)})
    suite.extend(cases)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _list_properties(result: AuditResult) -> list[tuple[str, str]]:
    capsule, joint = result.capsule, result.joint
    facts = [
        ("verdict", result.verdict.value),
        ("because", result.because),
        *(("statement", sentence) for sentence in describe_statements(result)),
        ("p-value", _format_number(joint.p_value)),
        ("alpha", f"{result.alpha:g}"),
        ("KPC", _format_number(joint.kpc)),
        ("rows", str(result.table.rows)),
        ("seed", str(capsule.seed)),
        ("copies", str(capsule.copies)),
        ("version", capsule.version),
        ("table.sha256", capsule.table_sha256),
    ]
    if capsule.model is not None:
        facts.append(("model", capsule.model.path or capsule.model.kind))
        facts.append(("model.sha256", capsule.model.sha256 or "unknown"))
    for source in capsule.data:
        facts.append(("data", source.path or source.kind))
        facts.append(("data.sha256", source.sha256 or "unknown"))
    return facts


def _build_case(finding: Finding, result: AuditResult, strict: bool) -> Element:
    about = {
        "classname": "equalized_odds",
        "name": clean(f"{finding.family}: {finding.name}"),
        "time": f"{finding.seconds:.3f}",
    }
    case = Element("testcase", about)
    gate = finding is result.joint
    outcome = _judge_gate(result, strict) if gate else _judge_finding(finding, result)
    if outcome is not None:
        tag, kind, message = outcome
        element = ElementTree.SubElement(case, tag, {"message": message, "type": kind})
        element.text = "\n".join([message, _describe_details(finding, result)])
    else:
        ElementTree.SubElement(case, "system-out").text = _describe_details(finding, result)
    return case


def _judge_gate(result: AuditResult, strict: bool) -> tuple[str, str, str] | None:
    if result.verdict in (Verdict.NO_VIOLATION, Verdict.EQUIVALENT):
        return None
    failed = strict or result.verdict is Verdict.VIOLATION
    return (
        "failure" if failed else "error",
        result.verdict.value,
        clean(" ".join([*describe_statements(result), result.because]), LONGEST_NOTE),
    )


def _judge_finding(finding: Finding, result: AuditResult) -> tuple[str, str, str] | None:
    """A failure only where the verdict is one too."""
    if finding.inconclusive is not None or finding.p_value is None:
        why = finding.inconclusive or "there is no p-value"
        return "skipped", "inconclusive", clean(f"Not settled: {why}.")
    if result.verdict is Verdict.INCONCLUSIVE:
        return "skipped", "inconclusive", "Not settled: the joint test is inconclusive."
    if finding.significant and result.verdict is Verdict.VIOLATION:
        return "failure", "violation", describe_finding(finding, result)
    return None


def _describe_details(finding: Finding, result: AuditResult) -> str:
    low, high = finding.p_interval
    lines = [f"rows: {finding.rows:,}", f"KPC: {fixed(finding.kpc)}"]
    if finding.p_value is not None:
        simulated = f"95 % interval by simulation {low:.3g} to {high:.3g}"
        lines.append(f"p: {p_text(finding.p_value)} ({simulated})")
    if finding.p_adjusted is not None:
        lines.append(f"adjusted p: {p_text(finding.p_adjusted)} ({describe_adjustment(result)})")
    lines.append(f"copies: {finding.copies:,}, {finding.copies_by}")
    if finding.significant and result.verdict in (Verdict.NO_VIOLATION, Verdict.EQUIVALENT):
        lines.append("significant, and within the tolerance")
    return "\n".join(clean(line) for line in lines)


def _format_number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.6g}"
