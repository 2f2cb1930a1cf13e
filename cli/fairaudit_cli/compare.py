"""`fairaudit compare`: several models on one table, or a candidate against production."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from fairaudit.errors import InputError, retold
from fairaudit_cli.config import settle
from fairaudit_cli.cover_options import COVER
from fairaudit_cli.deliver import check_outputs, deliver
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.library_calls import load_from, plan_from, roles_from
from fairaudit_cli.option_values import FILES, TEXT, Kind, Option, finite, option
from fairaudit_cli.options import ROLES, add_options
from fairaudit_cli.shell_text import command_line

if TYPE_CHECKING:
    from fairaudit._types import Progress
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.comparison.audited_models import AuditedModel

__all__ = ["OPTIONS", "add_arguments", "run"]


def _margin(text: str) -> float | dict[str, float]:
    name, equals, size = text.rpartition("=")
    return {name.strip(): finite(size)} if equals else finite(text)


OPTIONS: tuple[str | Option, ...] = (
    option("baseline", TEXT, "FILE", "the model in production, to compare --candidate with"),
    option("candidate", TEXT, "FILE", "the new model: is it not less fair than --baseline?"),
    option(
        "margin",
        Kind(read=_margin, take=_margin, type_name="text"),
        "[MEASURE=]SIZE",
        "by how much the candidate may be worse, as in eod=0.03 (default: 0.05 of the "
        "equalized-odds difference); measures: eod, tpr_gap, fpr_gap, deo, confusion_gap, "
        "prediction_gap",
    ),
    option(
        "models",
        FILES,
        "FILE",
        "fitted models: .pkl, .joblib, .skops, .onnx, .keras, .pt2, or package.module:function",
    ),
    "trust",
    "isolate",
    "sandbox",
    *(name for name in ROLES if name != "predictions"),
    "alpha",
    "permutations",
    "seed",
    "jobs",
    "config",
    "report",
    *COVER,
    "suppress",
    "json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Exit status with --models: 0 no violation found in any model, 1 a violation in at least "
        "one, 2 bad input, 3 no violation and at least one inconclusive. With --baseline and "
        "--candidate: 0 not less fair, 1 less fair, 2 bad input, 3 inconclusive. Data, columns and "
        "the level may stand in [tool.fairaudit]."
    )
    add_options(parser, "compare", OPTIONS)


def run(args: argparse.Namespace) -> int:
    settle(args)
    if args.baseline is not None or args.candidate is not None:
        return _beside_production(args)
    return _one_by_one(args)


def _one_by_one(args: argparse.Namespace) -> int:
    """The audits of several models in one table."""
    from fairaudit.comparison.audited_models import AuditedModels
    from fairaudit.data.reading.files import read_tables
    from fairaudit_cli.progress import ProgressBar

    check_outputs(args, AuditedModels)
    if args.margin is not None:
        raise InputError("A --margin needs --baseline and --candidate.")
    if not args.models:
        raise InputError(
            "No model. Pass --models FILE [FILE …], or --baseline FILE --candidate FILE."
        )
    roles = roles_from(args)
    plan = plan_from(args, roles, power=False, locate=False, with_r=False)
    models = [load_from(args, name) for name in args.models]
    frame, args.sources = read_tables(args.data)
    audited: list[AuditedModel] = []
    with ProgressBar() as bar:
        for name, predictor in zip(args.models, models, strict=True):
            audited.append(
                _audit_model(
                    name,
                    predictor,
                    frame=frame,
                    roles=roles,
                    plan=plan,
                    sources=args.sources,
                    bar=bar,
                )
            )
            roles = replace(roles, outcome=roles.outcome or audited[0].audit.table.outcome.name)
    deliver(AuditedModels(tuple(audited)), args)
    return _status([model.audit for model in audited])


def _beside_production(args: argparse.Namespace) -> int:
    from fairaudit.comparison.compare_models import compare_frame
    from fairaudit.comparison.comparison_result import Comparison
    from fairaudit.data.reading.files import read_tables

    check_outputs(args, Comparison)
    if args.baseline is None or args.candidate is None or args.models:
        raise InputError("Pass --baseline and --candidate, one model each, and no --models.")
    if args.on == "scores":
        raise InputError("Gaps compare labels. Leave out --on; --threshold turns scores into them.")
    roles = replace(roles_from(args), on="scores")
    models = [load_from(args, name) for name in (args.baseline, args.candidate)]
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
    deliver(result, args)
    codes = {"not less fair": ExitCode.OK, "less fair": ExitCode.VIOLATION}
    return codes.get(result.verdict.value, ExitCode.INCONCLUSIVE)


def _audit_model(  # type: ignore[no-untyped-def]
    name: str, predictor, frame, roles, plan, sources, bar: Progress
) -> AuditedModel:
    """The audit of one model, and its loss on the same rows."""
    from fairaudit.auditing.run import audit_table
    from fairaudit.comparison.audited_models import AuditedModel
    from fairaudit.data.facts import Source
    from fairaudit.data.preparation import prepare
    from fairaudit.remedy.rows import table_loss

    def progress(what: str, done: int, total: int) -> None:
        bar(f"{name}: {what}", done, total)

    try:
        prepared = prepare(frame, roles, predictor)
    except InputError as error:
        raise retold(error, f"{name}: {error}") from None
    source = Source(predictor.source, predictor.kind, predictor.sha256)
    audit = audit_table(prepared, plan, model=source, data=sources, roles=roles, progress=progress)
    loss, loss_name = table_loss(prepared.table, plan.threshold)
    return AuditedModel(name, loss, loss_name, audit)


def _status(audits: list[AuditResult]) -> int:
    codes = [ExitCode.of(audit.verdict) for audit in audits]
    for code in (ExitCode.VIOLATION, ExitCode.INCONCLUSIVE):
        if code in codes:
            return code
    return ExitCode.OK
