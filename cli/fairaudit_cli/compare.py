"""`fairaudit compare`: several models on one table, by the same copies."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit.errors import InputError
from fairaudit_cli.config import with_config
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.options import print_json, roles_from
from fairaudit_cli.remedy import add_level, add_some, filled

if TYPE_CHECKING:
    from fairaudit.findings import Progress
    from fairaudit.result import AuditResult
    from fairaudit_reports.compare_table import Compared

__all__ = ["add_arguments", "run"]

_TABLE = ("data", "sensitive", "outcome", "weights", "id", "where", "missing", "on", "threshold")
_SETTINGS = (*_TABLE, "alpha", "permutations", "seed")
_FORMATS = ("html", "json", "md", "txt")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Exit status: 0 no violation found in any model, 1 a violation in at least one, "
        "2 bad input, 3 no violation and at least one inconclusive. Data, columns and the level "
        "may stand in [tool.fairaudit]."
    )
    parser.add_argument(
        "--models", nargs="+", metavar="FILE",
        help="fitted models: .pkl, .joblib, .skops, .onnx, or package.module:function",
    )  # fmt: skip
    parser.add_argument(
        "--trust", action="append", metavar="NAME",
        help="allow this class or function in a pickle (module.name), repeatable",
    )  # fmt: skip
    add_some(parser, _TABLE)
    add_level(parser)
    parser.add_argument(
        "--report", action="append", metavar="FILE",
        help="write the table: .html, .md, .json or .txt; repeatable",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    from fairaudit.auditing import Plan
    from fairaudit.files import check_writable, read_tables, write_text
    from fairaudit.models import load_model
    from fairaudit.testing.permutations import Permutations
    from fairaudit_cli.progress import ProgressBar
    from fairaudit_reports.compare_table import rendered

    filled(with_config(args, _SETTINGS))
    for path in args.report or ():
        if Path(path).suffix.lower().lstrip(".") not in _FORMATS:
            raise InputError(f"{path!r} has no known format. Use one of: {', '.join(_FORMATS)}.")
        check_writable(path)
    if not args.models:
        raise InputError("No model. Pass --models FILE [FILE …].")
    plan = Plan(
        alpha=args.alpha, threshold=args.threshold, power=False, with_r=False,
        permutations=Permutations(n=args.permutations, seed=args.seed, n_jobs=args.jobs),
    )  # fmt: skip
    roles = roles_from(argparse.Namespace(**{**vars(args), "model": "any", "predictions": None}))
    models = [load_model(name, trust=tuple(args.trust or ())) for name in args.models]
    frame, sources = read_tables(args.data)
    found: list[Compared] = []
    with ProgressBar() as bar:
        for name, predictor in zip(args.models, models, strict=True):
            found.append(_compared(name, predictor, frame, roles, plan, sources, bar))
            roles = replace(roles, outcome=roles.outcome or found[0].audit.table.outcome.name)
    for path in args.report or ():
        write_text(path, rendered(found, Path(path).suffix.lower().lstrip(".")))
    if args.json:
        print_json(rendered(found, "json"))
    else:
        print(rendered(found, "txt"), end="")
        for path in args.report or ():
            print(f"report: {path}")
    return _status([one.audit for one in found])


def _compared(  # type: ignore[no-untyped-def]
    name: str, predictor, frame, roles, plan, sources, bar: Progress
) -> Compared:
    """The audit of one model, and its loss on the same rows."""
    from fairaudit.auditing import audit_table
    from fairaudit.preparation import prepare
    from fairaudit.remedy.rows import table_loss
    from fairaudit.result import Source
    from fairaudit_reports.compare_table import Compared

    def hear(what: str, done: int, total: int) -> None:
        bar(f"{name}: {what}", done, total)

    try:
        prepared = prepare(frame, roles, predictor)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    source = Source(predictor.source, predictor.kind, predictor.sha256)
    audit = audit_table(prepared, plan, model=source, data=sources, roles=roles, progress=hear)
    loss, loss_name = table_loss(prepared.table, plan.threshold)
    return Compared(name, loss, loss_name, audit)


def _status(audits: list[AuditResult]) -> int:
    codes = [ExitCode.of(audit.verdict) for audit in audits]
    for code in (ExitCode.VIOLATION, ExitCode.INCONCLUSIVE):
        if code in codes:
            return code
    return ExitCode.OK
