"""How an audit is repeated: the command or the call, and all that it rests on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fairaudit._words import quiet
from fairaudit_reports.html import parts as h
from fairaudit_reports.html.markup import Markup, join, tag
from fairaudit_reports.view.numerals import moment_text
from fairaudit_reports.view.repeat import steps_text, write_python_call
from fairaudit_reports.view.sections import AUDIT

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.auditing.findings import Capsule

__all__ = ["moment_line", "repeat_section", "settings_text", "versions_text"]


def repeat_section(result: AuditResult) -> Markup:
    capsule = result.capsule
    options = settings_text(capsule.options)
    facts = [
        ("Created", moment_line(capsule)),
        ("Seed", str(capsule.seed)),
        ("Copies", f"{capsule.copies:,}"),
        (
            "Steps",
            None if result.quality.law == "exact" else f"{steps_text(capsule)} to draw a copy",
        ),
        ("Model", None if capsule.model is None else h.source_text(capsule.model)),
        *(("Data", h.source_text(source)) for source in capsule.data),
        ("Audited columns", h.hash_text(capsule.table_sha256)),
        ("Versions", versions_text(capsule)),
        ("Platform", capsule.platform),
        ("CPU", f"{result.seconds:,.1f} seconds"),
    ]
    return h.section(
        "repeat",
        AUDIT,
        [
            _command(capsule, capsule.command) if capsule.command else _call(result),
            h.listing(facts),
            join([tag("h3", "Options"), h.code_block(options)]) if options else None,
        ],
    )


def moment_line(capsule: Capsule) -> str:
    day, time = moment_text(capsule.created)
    return f"{day} {time}".strip()


def versions_text(capsule: Capsule) -> str:
    versions = {"fairaudit": capsule.version, "Python": capsule.python, **capsule.packages}
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def settings_text(settings: dict[str, object]) -> str:
    """One setting a line."""
    return "\n".join(
        f"{name} = {json.dumps(value, ensure_ascii=False, default=str)}"
        for name, value in settings.items()
    )


def _command(capsule: Capsule, command: str) -> Markup:
    from fairaudit.data.reading.files import STANDARD_INPUT

    parts = [h.command_block(command)]
    if capsule.verify:
        lead = "This repeats the audit from its JSON record and compares every number:"
        parts += [h.paragraph(lead), h.code_block(quiet(capsule.verify))]
    else:
        unwritten = [
            "No JSON record was written. With ",
            tag("code", "--report audit.json"),
            " added, the record can be repeated and compared number by number (",
            tag("code", "fairaudit verify"),
            ").",
        ]
        parts.append(h.paragraph(*unwritten))
    if any(source.path == STANDARD_INPUT for source in capsule.data):
        parts.append(h.paragraph("The table came from standard input: pass the same rows there."))
    return join(parts)


def _call(result: AuditResult) -> Markup:
    lead = (
        "The audit was called from Python. No command repeats it, because the objects that it was "
        "given are not in files; with the same objects this call does (A: the attributes):"
    )
    return join([h.paragraph(lead), h.code_block(write_python_call(result))])
