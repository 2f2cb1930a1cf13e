"""`fairaudit explain`: a word of the reports, or what an audit found, in plain words."""

from __future__ import annotations

import argparse
import os
import textwrap
from typing import TYPE_CHECKING

from fairaudit._words import quiet
from fairaudit.auditing.brief import say_gaps, say_places
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


def _item(text: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent="  - ", subsequent_indent="    ")


def _explain_audit(path: str) -> Iterator[str]:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit_cli.report import load_result
    from fairaudit_reports.glossary import find_term

    result = load_result(path)
    if not isinstance(result, AuditResult):
        raise InputError(
            f"{path!r} is not the record of an audit. '{command_line(['report', path])}' shows it."
        )
    result = result.suppressed(SUPPRESS)
    yield textwrap.fill(result.because, _WIDTH) + "\n"
    meaning = find_term(str(result.verdict))
    if meaning is not None:
        yield f"What that means\n{_indent(meaning.text)}\n"
    yield from _say_where(result)
    yield from _say_sizes(result)
    yield from _say_power(result)
    yield "What to do next"
    for text, command in _next_steps(result, path):
        yield f"{_item(text)}\n      {command}"
    shown = command_line(["report", path])
    yield f"\nA word: fairaudit explain TERM. All of it: {shown}"


def _say_where(result: AuditResult) -> Iterator[str]:
    places = say_places(result)
    if places:
        yield "Where\n" + "\n".join(map(_item, places)) + "\n"


def _say_sizes(result: AuditResult) -> Iterator[str]:
    if result.gaps is None:
        return
    sentences = say_gaps(result) or ["No single gap between groups is clear of 0 by itself."]
    yield "How large\n" + "\n".join(map(_item, sentences)) + "\n"


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
            "standard deviations of the score would have been missed in one table of five, or more."
        )
        + "\n"
    )


def _next_steps(result: AuditResult, path: str) -> Iterator[tuple[str, str]]:
    capsule = result.capsule
    if result.verdict.value == "violation":
        yield "See all groups and plots.", command_line(["report", path, "--to", "html"])
        yield "Look for a model that passes, and what it costs.", "fairaudit remedy --help"
        yield (
            "If effects of this size do not matter to you, say so before the next audit: "
            "--tolerance.",
            "fairaudit explain tolerance",
        )
    elif result.verdict.value == "inconclusive":
        yield "Read why above; more rows usually help.", "fairaudit plan --help"
    else:
        yield "To show that gaps are small, certify them.", "fairaudit explain certificate"
        yield "Keep watching in production.", "fairaudit monitor --help"
    if capsule.verify is not None:
        yield "Repeat the audit and compare every number.", capsule.verify
