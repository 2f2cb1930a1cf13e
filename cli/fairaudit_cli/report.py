"""`fairaudit report`: a saved audit in other formats, without running it again."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairaudit._words import quiet
from fairaudit.errors import InputError
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.options import names_in

__all__ = ["add_arguments", "read_record", "run"]

_ALIASES = {"junit": "xml", "markdown": "md", "text": "txt"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("record", metavar="AUDIT.JSON", help="written by fairaudit test --report")
    parser.add_argument(
        "--to",
        action="append",
        metavar="FORMAT[,FORMAT…]",
        help="html, md, json, xml (or junit), sarif, txt, github; default: show on the terminal",
    )
    parser.add_argument(
        "--out", metavar="DIR", help="where the files go (default: beside the record)"
    )
    parser.add_argument(
        "--suppress",
        type=int,
        default=10,
        metavar="K",
        help="mask groups of fewer than K people (default: 10; 0: none beyond the record's own)",
    )


def run(args: argparse.Namespace) -> int:
    from fairaudit.data.reading.write import check_writable, write_text
    from fairaudit.results import known_format

    result = read_record(args.record).suppressed(args.suppress)
    forms = [known_format(_ALIASES.get(form, form)) for form in names_in(args.to)]
    if not forms:
        from fairaudit_reports.text.terminal import show_audit

        show_audit(result)
        return ExitCode.OK
    record = Path(args.record)
    targets = [Path(args.out or record.parent) / f"{record.stem}.{form}" for form in forms]
    for target in targets:
        if target.resolve() == record.resolve():
            raise InputError(f"{str(target)!r} is the record itself. Pass another --out.")
        check_writable(target)
    for form, target in zip(forms, targets, strict=True):
        write_text(target, result.render(form))
        print(quiet(f"report: {target}"))
    return ExitCode.OK


def read_record(path: str):  # type: ignore[no-untyped-def]
    """A saved audit."""
    import json

    from fairaudit.auditing.audit_result import AuditResult

    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"There is no file {path!r}. Pass a saved audit (.json).") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The file {path!r} cannot be read: {error}.") from None
    try:
        record = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"The file {path!r} is not JSON, or was cut off: {error}.") from None
    return AuditResult.from_dict(record)
