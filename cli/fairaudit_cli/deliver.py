"""How a result leaves a command: masked, as files, on the terminal, and to GitHub."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit._words import quiet
from fairaudit.results import SUPPRESS, Result, check_format, format_of, json_text
from fairaudit_cli.cover_options import cover_from
from fairaudit_cli.shell_text import print_json

if TYPE_CHECKING:
    from fairaudit.records.signing import Signer

__all__ = ["check_outputs", "deliver", "write_report"]


def check_outputs(args: argparse.Namespace, kind: type[Result], *others: str | None) -> None:
    """Fail before the work where a report, or one of the other files, cannot be written."""
    from fairaudit.data.reading.write import check_writable

    for path in args.report or ():
        check_format(format_of(path), kind)
        check_writable(path)
    for other in others:
        if other is not None:
            check_writable(other)
    _signer_of(args)


def deliver(
    result: Result,
    args: argparse.Namespace,
    *,
    strict: bool = False,
    last_lines: Sequence[str] = (),
) -> None:
    """Write the reports and print the result, with groups of few people masked.

    `said` are lines that follow it for people; `strict` counts inconclusive as a failure.
    """
    from fairaudit_reports.view.cover import use_cover

    with use_cover(cover_from(args)):
        _deliver(result, args, strict=strict, last_lines=last_lines)


def _deliver(
    result: Result, args: argparse.Namespace, *, strict: bool, last_lines: Sequence[str]
) -> None:
    fewest = getattr(args, "suppress", None)
    masked = result.suppressed(SUPPRESS if fewest is None else fewest)
    signer = _signer_of(args)
    for path in args.report or ():
        write_report(masked, path, strict=strict, signer=signer)
    if args.json:
        print_json(_record_text(masked, signer))
        return
    from fairaudit_reports.formats import show

    show(masked)
    for line in (*last_lines, *(f"report: {path}" for path in args.report or ())):
        print(quiet(line))
    if os.environ.get("GITHUB_ACTIONS") == "true":
        _tell_github(masked)


def _signer_of(args: argparse.Namespace) -> Signer | None:
    key = getattr(args, "sign", None)
    if key is None:
        return None
    from fairaudit.records.signing import read_signer

    return read_signer(key)


def _record_text(result: Result, signer: Signer | None) -> str:
    if signer is None:
        return str(result.render("json"))
    return json_text(signer.sign_record(result.to_record())) + "\n"


def write_report(
    result: Result, path: str | Path, *, strict: bool = False, signer: Signer | None = None
) -> None:
    """One file, masked as the result is; JUnit alone knows of `strict`, JSON of signatures."""
    from fairaudit.data.reading.write import write_bytes

    form = format_of(path)
    if form == "json":
        write_bytes(path, _record_text(result, signer).encode())
        return
    content = result.render(form, **({"strict": True} if strict and form == "xml" else {}))
    write_bytes(path, content if isinstance(content, bytes) else content.encode())


def _tell_github(result: Result) -> None:
    """Annotations, and the report as summary of the step."""
    from fairaudit_reports.formats import render_github

    if not render_github.shows(type(result)):
        return
    print(result.render("github"), end="")
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        try:
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(result.render("md"))
        except OSError as error:  # the verdict stands without it
            print(f"fairaudit: no summary: {summary}: {error.strerror}", file=sys.stderr)
