"""`fairaudit compare`: several models on one table, or a candidate against production."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit._words import quiet
from fairaudit.auditing.audit_result import SUPPRESS
from fairaudit.errors import InputError
from fairaudit_cli.config import with_config
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.options import add_suppress, command_line, finite, print_json, roles_from
from fairaudit_cli.remedy import add_level, add_some, filled

if TYPE_CHECKING:
    from fairaudit._types import Progress
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit_reports.view.models_view import Compared

__all__ = ["add_arguments", "run"]

_TABLE = (
    "data",
    "sensitive",
    "outcome",
    "weights",
    "id",
    "where",
    "missing",
    "on",
    "threshold",
    "positive",
    "classes",
)
_SETTINGS = (*_TABLE, "alpha", "permutations", "seed", "suppress")
_FORMATS = ("html", "json", "md", "txt")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Exit status with --models: 0 no violation found in any model, 1 a violation in at least "
        "one, 2 bad input, 3 no violation and at least one inconclusive. With --baseline and "
        "--candidate: 0 not less fair, 1 less fair, 2 bad input, 3 inconclusive. Data, columns and "
        "the level may stand in [tool.fairaudit]."
    )
    parser.add_argument(
        "--baseline", metavar="FILE", help="the model in production, to compare --candidate with"
    )
    parser.add_argument(
        "--candidate", metavar="FILE", help="the new model: is it not less fair than --baseline?"
    )
    parser.add_argument(
        "--margin",
        type=_margin,
        metavar="[MEASURE=]SIZE",
        help="by how much the candidate may be worse, as in eod=0.03 (default: 0.05 of the "
        "equalized-odds difference); measures: eod, tpr_gap, fpr_gap, deo, prediction_gap",
    )
    parser.add_argument(
        "--models",
        nargs="+",
        metavar="FILE",
        help="fitted models: .pkl, .joblib, .skops, .onnx, or package.module:function",
    )
    parser.add_argument(
        "--trust",
        action="append",
        metavar="NAME",
        help="allow this class or function in a pickle (module.name), repeatable",
    )
    add_some(parser, _TABLE)
    add_level(parser)
    parser.add_argument(
        "--report",
        action="append",
        metavar="FILE",
        help="write a report: .html, .md (a comment on a change), .json or .txt; repeatable",
    )
    add_suppress(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.data.reading.files import read_tables
    from fairaudit.data.reading.write import check_writable, write_text
    from fairaudit.models import load_model
    from fairaudit.testing.permutations import Permutations
    from fairaudit_cli.progress import ProgressBar
    from fairaudit_reports.by_format import MODELS, render_as

    filled(with_config(args, _SETTINGS), suppress=SUPPRESS)
    for path in args.report or ():
        if Path(path).suffix.lower().lstrip(".") not in _FORMATS:
            raise InputError(f"{path!r} has no known format. Use one of: {', '.join(_FORMATS)}.")
        check_writable(path)
    if args.baseline is not None or args.candidate is not None:
        return _beside_production(args)
    if args.margin is not None:
        raise InputError("A --margin needs --baseline and --candidate.")
    if not args.models:
        raise InputError(
            "No model. Pass --models FILE [FILE …], or --baseline FILE --candidate FILE."
        )
    given = {"seed": args.seed, "n_jobs": args.jobs}
    early = args.permutations == "auto"
    drawn = (
        Permutations.auto(args.alpha, **given)
        if early
        else Permutations(n=args.permutations, **given)
    )
    plan = Plan(
        alpha=args.alpha, threshold=args.threshold, power=False, with_r=False, permutations=drawn
    )
    roles = roles_from(argparse.Namespace(**{**vars(args), "model": "any", "predictions": None}))
    models = [load_model(name, trust=tuple(args.trust or ())) for name in args.models]
    frame, sources = read_tables(args.data)
    found: list[Compared] = []
    with ProgressBar() as bar:
        for name, predictor in zip(args.models, models, strict=True):
            audited = _compared(
                name, predictor, frame=frame, roles=roles, plan=plan, sources=sources, bar=bar
            )
            found.append(audited.suppressed(args.suppress))
            roles = replace(roles, outcome=roles.outcome or found[0].audit.table.outcome.name)
    for path in args.report or ():
        write_text(path, render_as(Path(path).suffix.lower().lstrip("."), MODELS, found))
    if args.json:
        print_json(render_as("json", MODELS, found))
    else:
        print(render_as("txt", MODELS, found), end="")
        for path in args.report or ():
            print(quiet(f"report: {path}"))
    return _status([one.audit for one in found])


def _margin(text: str) -> float | dict[str, float]:
    name, equals, size = text.rpartition("=")
    return {name.strip(): finite(size)} if equals else finite(text)


def _beside_production(args: argparse.Namespace) -> int:
    from fairaudit.comparison.compare_models import compare_frame
    from fairaudit.data.reading.files import read_tables
    from fairaudit.models import load_model
    from fairaudit_cli.test import tell_github

    if args.baseline is None or args.candidate is None or args.models:
        raise InputError("Pass --baseline and --candidate, one model each, and no --models.")
    if args.on == "scores":
        raise InputError("Gaps are those of labels. Leave out --on; --threshold sets the cut.")
    roles = roles_from(
        argparse.Namespace(**{**vars(args), "model": "any", "predictions": None, "on": None})
    )
    models = [
        load_model(name, trust=tuple(args.trust or ())) for name in (args.baseline, args.candidate)
    ]
    frame, sources = read_tables(args.data)
    result = compare_frame(
        frame,
        roles,
        *models,
        margin=args.margin,
        alpha=args.alpha,
        seed=args.seed,
        data=sources,
        command=command_line(args.argv),
        suppress=args.suppress,
    )
    for path in args.report or ():
        result.save(path)
    if args.json:
        print_json(result.render("json"))
    else:
        print(result.summary(), end="")
        for path in args.report or ():
            print(quiet(f"report: {path}"))
        tell_github(result)
    codes = {"not less fair": ExitCode.OK, "less fair": ExitCode.VIOLATION}
    return codes.get(result.verdict.value, ExitCode.INCONCLUSIVE)


def _compared(  # type: ignore[no-untyped-def]
    name: str, predictor, frame, roles, plan, sources, bar: Progress
) -> Compared:
    """The audit of one model, and its loss on the same rows."""
    from fairaudit.auditing.run import audit_table
    from fairaudit.data.facts import Source
    from fairaudit.data.roles import prepare
    from fairaudit.remedy.rows import table_loss
    from fairaudit_reports.view.models_view import Compared

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
