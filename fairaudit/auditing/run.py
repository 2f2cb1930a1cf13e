"""The orchestrator: from a checked table to a verdict with its evidence."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fairaudit._types import Progress
from fairaudit.auditing.audit_plan import Plan
from fairaudit.auditing.audit_result import AuditResult, CopyQuality
from fairaudit.auditing.capsule import capsule_of
from fairaudit.auditing.checkpoint import Checkpoint
from fairaudit.auditing.notes import _notes
from fairaudit.auditing.questions import find
from fairaudit.auditing.verdict import check_tolerance, decide
from fairaudit.data.columns import column_facts
from fairaudit.data.facts import Source, TableFacts
from fairaudit.data.roles import Prepared, Roles
from fairaudit.data.table import AuditTable
from fairaudit.data.threshold import default_threshold
from fairaudit.evidence.measurements import Measurements, measure
from fairaudit.testing.permutation_result import TestResult

if TYPE_CHECKING:
    from fairaudit.evidence.intervals.certificates import Certificate, GapTable

__all__ = ["audit_table"]


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
) -> AuditResult:
    """The audit itself; `name` is that of its parts in a checkpoint."""
    start = time.process_time()
    table = prepared.table
    outcome = table.require_outcome()
    hear = progress or (lambda what, done, total: None)
    hear("measures", 0, 1)
    sizes = measure(table, threshold=plan.threshold, with_r=plan.with_r)
    check_tolerance(plan.tolerance, sizes.values, [c.name for c in table.attributes])
    gaps, certificates = _equivalence(table, sizes, plan)
    hear("measures", 1, 1)
    known = {one.attributes: one.value for one in sizes.values if one.key == "kpc"}
    findings, gate, checks = find(
        table, plan, hear=hear, checkpoint=checkpoint, name=name, sizes=known
    )
    facts = TableFacts(
        rows=len(table),
        people=len(table) if table.ids is None else len(table.ids.levels),
        prediction=table.prediction.describe(),
        outcome=column_facts(outcome, prepared.missing.get(outcome.name, 0)),
        attributes=tuple(
            column_facts(c, prepared.missing.get(c.name, 0)) for c in table.attributes
        ),
        features=prepared.features,
        excluded=prepared.excluded,
        weights=None if table.weights is None else (roles.weights if roles else "weights"),
        ids=None if table.ids is None else table.ids.name,
    )
    verdict, because = decide(
        findings[0],
        sizes.values,
        facts.outcome,
        alpha=plan.alpha,
        tolerance=plan.tolerance,
        certificates=certificates,
        calibration=checks.calibration,
        planned=plan.permutations.n,
    )
    localisation = None
    if plan.locate:
        from fairaudit.evidence.localization.locate import locate

        localisation = locate(
            table,
            findings[0].p_value if findings[0].significant else None,
            alpha=plan.alpha,
            permutations=plan.permutations,
            density=plan.density,
            folds=plan.folds,
            hear=hear,
        )
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
        quality=_quality(gate),
        null=tuple(float(value) for value in gate.null),
        notes=(*prepared.notes, *_notes(verdict, findings, sizes, table, plan)),
        capsule=capsule_of(table, plan, roles=roles, model=model, data=data, command=command),
        seconds=time.process_time() - start,
        gaps=gaps,
        certificates=certificates,
        power=checks.power,
        calibration=checks.calibration,
        localisation=localisation,
    )


def _equivalence(
    table: AuditTable, sizes: Measurements, plan: Plan
) -> tuple[GapTable | None, tuple[Certificate, ...]]:
    """Intervals for the gaps of all groups, where there are rates, and what was to be shown."""
    groups = sizes.groups
    if groups is None and not plan.certify:
        return None, ()
    from fairaudit.evidence.intervals.certify import certificates
    from fairaudit.evidence.intervals.gaps import gap_table

    cut = default_threshold(table) if plan.threshold is None else plan.threshold
    shown = certificates(table, plan.certify, alpha=plan.alpha, threshold=cut, groups=groups)
    if groups is None:
        return None, shown
    seed = plan.permutations.seed
    return gap_table(groups.rates(), groups.attributes, 1 - plan.alpha, seed), shown


def _quality(gate: TestResult) -> CopyQuality:
    found = gate.diagnostics
    return CopyQuality(
        trustworthy=found.trustworthy,
        because=found.because,
        copies_by=gate.density,
        copy_check=found.copy_check,
        calibration=found.pit,
        moved=found.moved,
        distinct=found.distinct,
        scores=dict(gate.scores),
    )
