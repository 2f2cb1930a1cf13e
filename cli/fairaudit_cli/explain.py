"""`fairaudit explain`: a word of the reports, or what an audit found, in plain words."""

from __future__ import annotations

import argparse
import os
import textwrap
from typing import TYPE_CHECKING

from fairaudit._words import quiet
from fairaudit.errors import InputError
from fairaudit.results import SUPPRESS
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.shell_text import command_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit_reports.glossary import Term

__all__ = ["add_arguments", "run"]

_WIDTH = 88


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        nargs="*",
        metavar="TERM|AUDIT.JSON",
        help="a word, or a record written by fairaudit test --report; none lists the words",
    )


def run(args: argparse.Namespace) -> int:
    from fairaudit_reports.glossary import TERMS

    what = " ".join(args.what)
    if not what:
        width = max(len(term.name) for term in TERMS)
        for term in TERMS:
            print(f"{term.name:<{width}}  {textwrap.shorten(term.text, _WIDTH - width - 2)}")
        return ExitCode.OK
    if what.lower().endswith(".json") or os.path.isfile(what):
        from fairaudit_cli.vouching import records_may_lie

        with records_may_lie(what):
            print(quiet_lines(_explain_audit(what)))
        return ExitCode.OK
    _explain_term(what)
    return ExitCode.OK


def _explain_term(what: str) -> None:
    from fairaudit_reports.glossary import find_term, nearest_term

    term: Term | None = find_term(what)
    if term is None:
        near = nearest_term(what)
        hint = f"Did you mean {near!r}?" if near else "'fairaudit explain' lists the words."
        raise InputError(f"There is no word {what!r} to explain. {hint}")
    print(f"{term.name}\n{_indent(term.text)}")
    others = [name for name in term.also if name.lower() != term.name.lower()]
    if others:
        print(f"  Also: {', '.join(others)}.")
    if term.page:
        print(f"  More: docs/{term.page}")


def quiet_lines(lines: Iterator[str]) -> str:
    """Names of columns and levels print no commands to a terminal or a log."""
    return "\n".join(quiet(line) for text in lines for line in text.split("\n"))


def _indent(text: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent="  ", subsequent_indent="  ")


def _explain_audit(path: str) -> Iterator[str]:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit_cli.report import load_result
    from fairaudit_reports.glossary import find_term
    from fairaudit_reports.text.aligned import WIDTH, format_section
    from fairaudit_reports.view.next_steps_view import build_next_section

    result = load_result(path)
    if not isinstance(result, AuditResult):
        raise InputError(
            f"{path!r} is not the record of an audit. '{command_line(['report', path])}' shows it."
        )
    result = result.suppressed(SUPPRESS)
    yield str(result.render("txt", brief=True))
    meaning = find_term(str(result.verdict))
    if meaning is not None:
        yield f"What that means\n{_indent(meaning.text)}\n"
    yield from _say_power(result)
    steps = build_next_section(result, WIDTH - 12)
    if steps is not None:
        yield "\n".join(format_section(steps)) + "\n"
    shown = command_line(["report", path])
    yield f"A word: fairaudit explain TERM. All of it: {shown}"


def _say_power(result: AuditResult) -> Iterator[str]:
    known = [] if result.power is None else list(result.power.detectable)
    seen = [group for group in known if group.shift is not None]
    if result.verdict.value != "no violation found" or not seen:
        return
    worst = max(seen, key=lambda group: group.shift or 0.0)
    yield "What it could have seen"
    yield (
        _indent(
            f"The least is known about {worst.group}: a violation smaller than {worst.shift:.2f} "
            "standard deviations of the score may have been missed in one table of five, or more."
        )
        + "\n"
    )
