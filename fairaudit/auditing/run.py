"""The orchestrator: from rows, wherever they are, to a verdict with its evidence."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from fairaudit._types import Progress
from fairaudit.auditing.audit_plan import Plan
from fairaudit.auditing.audit_result import AuditResult
from fairaudit.auditing.capsule import make_capsule
from fairaudit.auditing.checkpoint import Checkpoint
from fairaudit.auditing.count_rows import MOST_ROWS, CountRows, explain_rows_needed
from fairaudit.auditing.examination import Absent, Rows
from fairaudit.auditing.notes import write_notes
from fairaudit.auditing.questions import judge_findings, make_finding
from fairaudit.auditing.table_rows import TableRows
from fairaudit.auditing.verdict import check_tolerance, decide
from fairaudit.data.counted_table import bin_columns, count_rows, merge_rows, repeat_rows
from fairaudit.data.threshold import default_threshold
from fairaudit.geometry.blas_threads import one_blas_thread

if TYPE_CHECKING:
    from fairaudit.data.facts import Source
    from fairaudit.data.preparation import Prepared
    from fairaudit.data.roles import Roles
    from fairaudit.evidence.intervals.certificates import GapTable
    from fairaudit.evidence.measurements import Measurements

__all__ = ["audit_table", "choose_rows", "run_audit"]

Evidence = TypeVar("Evidence")


def audit_table(
    prepared: Prepared,
    plan: Plan,
    *,
    model: Source | None = None,
    data: tuple[Source, ...] = (),
    command: str | None = None,
    roles: Roles | None = None,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
    name: str = "audit",
    binned: Mapping[str, int] | None = None,
) -> AuditResult:
    """The audit of a table in memory; `name` is that of its parts in a checkpoint."""
    rows = choose_rows(prepared, plan, roles=roles, checkpoint=checkpoint, name=name, binned=binned)
    return run_audit(
        rows, plan, model=model, data=data, command=command, roles=roles, progress=progress
    )


def choose_rows(
    prepared: Prepared,
    plan: Plan,
    *,
    roles: Roles | None = None,
    checkpoint: Checkpoint | None = None,
    name: str = "audit",
    binned: Mapping[str, int] | None = None,
    options: Mapping[str, Any] | None = None,
    started: float | None = None,
) -> Rows:
    """Rows one by one, or counts where there are more of them and counts are enough.

    A table of counts may have been cut into bins (`binned`: column → their number) before.
    """
    table, binned = prepared.table, dict(binned or {})
    counted = table.times is not None
    if count_rows(table) > MOST_ROWS and (
        counted or (plan.bins != 0 and explain_rows_needed(table, plan) is None)
    ):
        if not counted:
            cut = default_threshold(table) if plan.threshold is None else plan.threshold
            table, binned = bin_columns(table, plan.bins, cut)
        prepared = replace(prepared, table=table)
        return CountRows(
            prepared,
            plan,
            binned=binned,
            checkpoint=checkpoint,
            name=name,
            options=options,
            started=started,
        )
    if counted:
        prepared = replace(prepared, table=repeat_rows(merge_rows(table)))
    options = {**(options or {}), **({"binned": binned} if binned else {})}
    return TableRows(prepared, plan, roles=roles, checkpoint=checkpoint, name=name, options=options)


@one_blas_thread()
def run_audit(
    rows: Rows,
    plan: Plan,
    *,
    roles: Roles | None,
    model: Source | None = None,
    data: tuple[Source, ...] = (),
    command: str | None = None,
    progress: Progress | None = None,
) -> AuditResult:
    """The audit: measures, questions, evidence, verdict and record, in this order."""
    progress = progress or (lambda what, done, total: None)
    facts, absent = rows.facts, list(rows.unmeasured)

    def keep_present(evidence: Evidence | Absent) -> Evidence | None:
        if isinstance(evidence, Absent):
            absent.append(evidence)
            return None
        return evidence

    progress("measures", 0, 1)
    sizes = rows.measures()
    check_tolerance(plan.tolerance, sizes.values, [column.name for column in facts.attributes])
    gaps, certificates = _tabulate_gaps(sizes, plan), rows.certificates(sizes)
    progress("measures", 1, 1)
    answers = rows.answers(sizes, progress)
    gate = answers[0].result
    power = keep_present(rows.power(gate, progress))
    calibration = rows.calibration(gate, progress)
    findings = judge_findings([make_finding(answer) for answer in answers], plan)
    verdict, because = decide(
        findings[0],
        sizes.values,
        facts.outcome,
        alpha=plan.alpha,
        tolerance=plan.tolerance,
        certificates=certificates,
        calibration=calibration,
        planned=plan.permutations.n - plan.permutations.held_out(max(1, len(gate.parts))),
    )
    localisation = keep_present(rows.localization(findings[0], progress))
    portrait = keep_present(rows.portrait(progress))
    trust = gate.diagnostics
    notes = write_notes(verdict, findings, plan, rows=rows, sizes=sizes, trust=trust, absent=absent)
    capsule = make_capsule(
        rows.digest(), plan, roles=roles, model=model, data=data, command=command
    )
    capsule.options.update(rows.options)
    return AuditResult(
        verdict=verdict,
        because=because,
        alpha=plan.alpha,
        adjust=plan.adjust,
        tolerance=dict(plan.tolerance),
        table=facts,
        findings=findings,
        measures=sizes.values,
        cells=sizes.cells,
        quality=trust,
        null=tuple(float(value) for value in gate.null),
        notes=notes,
        capsule=capsule,
        seconds=time.process_time() - rows.started,
        gaps=gaps,
        certificates=certificates,
        power=power,
        calibration=calibration,
        localisation=localisation,
        portrait=portrait,
    )


def _tabulate_gaps(sizes: Measurements, plan: Plan) -> GapTable | None:
    """Simultaneous intervals for the gaps of all groups: in rates, classes, or predictions."""
    measured = sizes.groups or sizes.fits or sizes.predicted
    if not measured:
        return None
    from fairaudit.evidence.intervals.gap_intervals import tabulate_gaps

    return tabulate_gaps(measured, 1 - plan.alpha, plan.permutations.seed)
