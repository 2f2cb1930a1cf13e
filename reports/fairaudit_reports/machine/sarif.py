"""SARIF 2.1.0, as code scanning of GitHub and others reads it."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fairaudit._words import quiet
from fairaudit.auditing.findings import Verdict
from fairaudit_reports.view.audit_view import describe_finding, name_question
from fairaudit_reports.view.statements_view import describe_statements
from fairaudit_reports.view.wording import LONGEST_NOTE, clean

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.auditing.findings import Finding
    from fairaudit.data.facts import Source

__all__ = ["render"]

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
#: The exit status of the command, by verdict.
EXIT = {
    Verdict.NO_VIOLATION: 0,
    Verdict.EQUIVALENT: 0,
    Verdict.VIOLATION: 1,
    Verdict.INCONCLUSIVE: 3,
}

_EXPLAINED = (
    "Equalized odds: among people with the same true outcome, the prediction must not depend on "
    "the sensitive attributes. The test permutes the attributes among such people and compares "
    "how much the prediction tells about them."
)
# id, title, level, what it says
_RULES = (
    (
        "equalized-odds/joint",
        "Equalized odds, all attributes together",
        "error",
        "The prediction carries information about the sensitive attributes that the outcome does "
        "not explain. This question decides the audit.",
    ),
    (
        "equalized-odds/attribute",
        "Equalized odds, one attribute",
        "warning",
        "The prediction carries information about one sensitive attribute that the outcome does "
        "not explain.",
    ),
    (
        "equalized-odds/pair",
        "Equalized odds, two attributes",
        "warning",
        "The prediction carries information about two sensitive attributes together that the "
        "outcome does not explain.",
    ),
    (
        "equalized-odds/outcome",
        "Equalized odds, one outcome",
        "warning",
        "Among people with this outcome, the prediction carries information about the sensitive "
        "attributes.",
    ),
    (
        "inconclusive",
        "The audit is inconclusive",
        "warning",
        "A check of the audit's own assumptions failed, or the test could not have found "
        "anything. It is neither a violation nor the absence of one.",
    ),
)


def render(result: AuditResult) -> str:
    """A violation is an error, what lies behind it warnings; without one there are no results."""
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [_build_run(result)]}
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _build_run(result: AuditResult) -> dict[str, Any]:
    return {
        "tool": {
            "driver": {
                "name": "fairaudit",
                "version": clean(result.capsule.version),
                "rules": [_build_rule(*rule) for rule in _RULES],
            }
        },
        "invocations": [_build_invocation(result)],
        "artifacts": [_build_artifact(source) for source in _list_files(result)],
        "results": _build_results(result),
        "properties": {
            "verdict": result.verdict.value,
            "because": clean(result.because, LONGEST_NOTE),
            "statements": describe_statements(result),
            "alpha": result.alpha,
            "seed": result.capsule.seed,
            "copies": result.capsule.copies,
            "tableSha256": result.capsule.table_sha256,
        },
    }


def _build_rule(name: str, title: str, level: str, text: str) -> dict[str, Any]:
    return {
        "id": name,
        "name": "".join(part.capitalize() for part in re.split(r"[-/]", name)),
        "shortDescription": {"text": title},
        "fullDescription": {"text": text},
        "help": {"text": f"{text}\n\n{_EXPLAINED}"},
        "defaultConfiguration": {"level": level},
        "properties": {"tags": ["fairness"]},
    }


def _build_invocation(result: AuditResult) -> dict[str, Any]:
    capsule = result.capsule
    facts: dict[str, Any] = {
        "executionSuccessful": True,
        "exitCode": EXIT[result.verdict],
        "exitCodeDescription": result.verdict.value,
    }
    if capsule.command:
        facts["commandLine"] = quiet(capsule.command)
    ended = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(Z|\+00:00)", capsule.created)
    if ended:
        facts["endTimeUtc"] = f"{ended[1]}Z"
    return facts


def _build_results(result: AuditResult) -> list[dict[str, Any]]:
    if EXIT[result.verdict] == 0:
        return []
    because = clean(" ".join([*describe_statements(result), result.because]), LONGEST_NOTE)
    if result.verdict is Verdict.INCONCLUSIVE:
        return [_build_result("inconclusive", "warning", because, result.joint, result)]
    results = [_build_result("equalized-odds/joint", "error", because, result.joint, result)]
    for finding in result.findings[1:]:
        if finding.significant:
            rule = f"equalized-odds/{finding.family}"
            results.append(
                _build_result(rule, "warning", describe_finding(finding, result), finding, result)
            )
    return results


def _build_result(
    rule: str, level: str, message: str, finding: Finding, result: AuditResult
) -> dict[str, Any]:
    mark = _fingerprint(finding, result)
    facts = {
        "question": name_question(finding),
        "p": finding.p_value,
        "pAdjusted": finding.p_adjusted,
        "kpc": finding.kpc,
        "n": finding.rows,
        "copies": finding.copies,
    }
    return {
        "ruleId": rule,
        "ruleIndex": [name for name, *_ in _RULES].index(rule),
        "level": level,
        "message": {"text": _escape_message(message)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _choose_place(result)},
                    "region": {"startLine": 1},
                }
            }
        ],
        # GitHub tells alerts apart by the first and would hash a line of the file without it
        "partialFingerprints": {"primaryLocationLineHash": f"{mark[:16]}:1", "question/v1": mark},
        "properties": {name: value for name, value in facts.items() if value is not None},
    }


def _escape_message(text: str) -> str:
    """Braces and links mean something in messages of SARIF; names must not."""
    text = text.replace("{", "{{").replace("}", "}}")
    return re.sub(r"([\[\]])", r"\\\1", text) if "](" in text else text


def _fingerprint(finding: Finding, result: AuditResult) -> str:
    """The same for the same question, whatever the data and the answer."""
    question = [finding.family, finding.name, *finding.attributes, result.table.outcome.name]
    return hashlib.sha256("\0".join(question).encode("utf-8", "replace")).hexdigest()


def _list_files(result: AuditResult) -> list[Source]:
    """The model, then the data, as far as they are files."""
    capsule = result.capsule
    sources = [*([capsule.model] if capsule.model else []), *capsule.data]
    return [
        source for source in sources if source.path and source.path not in ("-", "standard input")
    ]


def _choose_place(result: AuditResult) -> str:
    """Where a result is shown: at the model, else at the data."""
    files = _list_files(result)
    return _build_uri(files[0].path or "") if files else "fairaudit"


def _build_artifact(source: Source) -> dict[str, Any]:
    artifact: dict[str, Any] = {"location": {"uri": _build_uri(source.path or "")}}
    if source.sha256:
        artifact["hashes"] = {"sha-256": source.sha256}
    return artifact


def _build_uri(path: str) -> str:
    """A path as a reference: relative ones stay so, absolute ones become ``file:`` URIs.

    Examples
    --------
    >>> _build_uri("models/my model.joblib"), _build_uri("/tmp/m.onnx"), _build_uri("C:\\\\m.onnx")
    ('models/my%20model.joblib', 'file:///tmp/m.onnx', 'file:///C:/m.onnx')
    """
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", path):
        return _quote(path, ":/?#@=&%")
    if re.match(r"[A-Za-z]:[\\/]", path):
        return "file:///" + _quote(path.replace("\\", "/"), ":/")
    if "/" not in path:
        path = path.replace("\\", "/")
    name = _quote(path.removeprefix("./"), "/")
    return f"file://{name}" if name.startswith("/") else name


def _quote(path: str, safe: str) -> str:
    return quote(path.encode("utf-8", "replace"), safe=safe)
