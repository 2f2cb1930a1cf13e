"""`fairaudit report`: a saved result in other formats, without running it again."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairaudit._words import quiet
from fairaudit.errors import InputError
from fairaudit_cli.config import read_cover
from fairaudit_cli.cover_options import COVER, cover_from
from fairaudit_cli.deliver import write_report
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.option_values import names_in

if TYPE_CHECKING:
    from fairaudit.results import Result

__all__ = ["add_arguments", "load_result", "result_of", "run"]

_ALIASES = {"junit": "xml", "markdown": "md", "text": "txt"}
#: What the schema of a record begins with → the class that reads it, in fairaudit.
_HOMES = {
    "fairaudit/audit": "auditing.audit_result:AuditResult",
    "fairaudit/compare": "comparison.audited_models:AuditedModels",
    "fairaudit/comparison": "comparison.comparison_result:Comparison",
    "fairaudit/incomplete": "evidence.incompleteness.incompleteness_result:IncompleteResult",
    "fairaudit/monitoring": "monitoring.monitoring_result:MonitorResult",
    "fairaudit/plan": "evidence.power.power_result:SamplePlan",
    "fairaudit/remedy": "remedy.remedy_result:RemedyResult",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "record", metavar="AUDIT.JSON", help="written by --report of fairaudit test, or another"
    )
    parser.add_argument(
        "--to",
        action="append",
        metavar="FORMAT[,FORMAT…]",
        help="html, pdf, md, json, xml (or junit), sarif, txt, github; default: show on the "
        "terminal",
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

    for entry in COVER:
        entry.add_to(parser, "report")
    parser.add_argument(
        "--key", metavar="FILE", help="the public key (PEM) by which the record must be signed"
    )


def run(args: argparse.Namespace) -> int:
    from fairaudit_cli.vouching import records_may_lie
    from fairaudit_reports.view.cover import use_cover

    read_cover(args)
    cover = replace(cover_from(args), command=None)  # this one shows, and made nothing
    with use_cover(cover), records_may_lie(args.record):
        return _write(args)


def _write(args: argparse.Namespace) -> int:
    from fairaudit.data.reading.write import check_writable
    from fairaudit.results import check_format, read_record
    from fairaudit_cli.vouching import describe_origin

    read = read_record(args.record)  # once: what is vouched for is what is shown
    result = result_of(read).suppressed(args.suppress)
    told = result.with_note(describe_origin(read, args.key))
    forms = [check_format(_ALIASES.get(form, form), type(result)) for form in names_in(args.to)]
    if not forms:
        from fairaudit_reports.formats import show

        show(told)
        return ExitCode.OK
    record = Path(args.record)
    targets = [Path(args.out or record.parent) / f"{record.stem}.{form}" for form in forms]
    for target in targets:
        if target.resolve() == record.resolve():
            raise InputError(f"{str(target)!r} is the record itself. Pass another --out.")
        check_writable(target)
    for form, target in zip(forms, targets, strict=True):
        write_report(result if form == "json" else told, target)
        print(quiet(f"report: {target}"))
    return ExitCode.OK


def load_result(path: str) -> Result:
    """A saved result of any kind."""
    from fairaudit.results import read_record

    return result_of(read_record(path))


def result_of(record: Mapping[str, Any]) -> Result:
    """The result of any kind in a saved record."""
    kind = str(record.get("schema")).rpartition("/")[0]
    module, _, name = _HOMES.get(kind, _HOMES["fairaudit/audit"]).partition(":")
    result_type: type[Result] = getattr(import_module(f"fairaudit.{module}"), name)
    return result_type.from_dict(record)
