"""The audit of a table in shards, from partitions to a result."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Array
from fairaudit.auditing.audit_result import Finding
from fairaudit.auditing.engines.by_cells import (
    CellJob,
    answers,
    digest_of,
    features_of,
    partial_sums,
)
from fairaudit.auditing.engines.by_rows import ShardAnswer, prefit, shard_answers
from fairaudit.auditing.engines.class_names import with_classes
from fairaudit.auditing.engines.engines import Engine
from fairaudit.auditing.engines.schema import Schema, after_drop, coded, facts_of, schema_of
from fairaudit.auditing.engines.sources import FramePartition, ModelFile, Partition, narrow
from fairaudit.auditing.engines.survey import Survey, joined, joint_shape, space_of, survey
from fairaudit.data.facts import Source
from fairaudit.errors import InputError
from fairaudit.evidence.measured import MeasuredValue
from fairaudit.geometry.block_sums import CellQuestion
from fairaudit.testing.core import p_interval, reaches, smallest_p
from fairaudit.testing.diagnostics import (
    CHECKED_COPIES,
    Diagnostics,
    exact_diagnostics,
    exchangeable,
    fitted_diagnostics,
    pit_check,
)
from fairaudit.testing.neighbor_statistics import KPCStatistic, default_knn
from fairaudit.testing.statistic import statistic_named

if TYPE_CHECKING:
    from fairaudit._types import Progress
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.data.roles import Roles
    from fairaudit.models import Predictor

__all__ = ["audit_shards"]

FEWEST_ROWS = 500  # of a shard
ROWS_BY_CELLS, ROWS_BY_ROWS = 1 << 20, 50_000  # of a shard, unless a number of shards is given
MOST_CELLS = 20_000
SAMPLE = 20_000  # rows that choose the bandwidth
FIT_ROWS, FIT_SHARE = 50_000, 0.2  # rows that densities are fitted on
ROUND = 1 << 26  # bytes of sums of a shard that are held at once


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Answer:
    """A question on the whole table: the statistics of the data (first) and of the copies."""

    family: str
    name: str
    attributes: tuple[str, ...]
    label: str | None
    rows: int
    values: Array
    size: float | None
    copies_by: str
    diagnostics: Diagnostics


def audit_shards(
    partitions: Sequence[Partition | FramePartition],
    columns: Sequence[str],
    roles: Roles,
    plan: Plan,
    engine: Engine,
    *,
    shards: int | None = None,
    predictor: Predictor | None = None,
    model: ModelFile | Predictor | None = None,
    data: tuple[Source, ...] = (),
    command: str | None = None,
    progress: Progress | None = None,
) -> AuditResult:
    """Audit a table that is read in partitions and tested in shards.

    Rows are dealt to shards by a hash of their position (or of the id of their person), and
    exchange attributes within their shard only. The statistics of the shards are added, copy by
    copy; where attributes are tied it is the sums behind the statistic that are added, and the
    statistic is that of the whole table.
    """
    start = time.process_time()
    hear = progress or (lambda what, done, total: None)
    _check(roles, plan)
    plain = roles.resolve(columns, predictor)
    ids = plain.ids is not None
    hear("reading", 0, 4)
    count = len(partitions)
    parts = engine.map("partition", narrow, partitions, [plain] * count, [model] * count)
    facts = engine.gather(engine.map("facts of partition", facts_of, parts))
    schema = with_classes(schema_of(facts, plain), facts, roles)
    if roles.on == "labels" and schema.form != "labels":
        raise InputError(
            "Shards take labels from the model or the table. Leave 'threshold' out.",
            argument="threshold",
        )
    frames = engine.map("codes of partition", coded, parts, [schema] * count, [ids] * count)
    del parts
    hear("survey", 1, 4)
    exact = schema.outcome.kind.is_categorical
    share = min(1.0, SAMPLE / schema.rows) if exact else min(FIT_SHARE, FIT_ROWS / schema.rows)
    cut = _threshold(schema, plan)
    found = engine.map(
        "survey of partition", survey, frames, [schema] * count, [share] * count, [cut] * count
    )
    seen = joined(engine.gather(found))
    schema = after_drop(schema, seen.rows)
    tested = seen.rows if exact else seen.rows - len(seen.sample)
    by_cells = _by_cells(schema, seen, plan, ids)
    number = _shards(shards, tested, ROWS_BY_CELLS if by_cells else ROWS_BY_ROWS)
    hear("shuffle", 2, 4)
    pieces = engine.shuffled(frames, number, 0.0 if exact else share)
    del frames
    digests = engine.gather(engine.map("hash of shard", digest_of, pieces, range(number)))
    hear("copies", 3, 4)
    run = _run_cells if by_cells else _run_rows
    asked, scores = run(engine, pieces, schema, seen, plan)
    hear("copies", 4, 4)
    digest = hashlib.sha256("".join(one for one, _ in digests).encode()).hexdigest()
    people = sum(count for _, count in digests) if ids else seen.rows
    return _result(
        asked,
        scores,
        by_cells=by_cells,
        schema=schema,
        seen=seen,
        cut=cut,
        plan=plan,
        roles=roles,
        shards=number,
        digest=digest,
        predictor=predictor,
        data=data,
        command=command,
        start=start,
        people=people,
    )


def _check(roles: Roles, plan: Plan) -> None:
    if roles.weights is not None:
        raise InputError(
            "Weights cannot be used in shards. Leave 'weights' out.", argument="weights"
        )
    if plan.permutations.stop_after is not None:
        raise InputError(
            "Shards draw all copies: say how many ('permutations'), and not 'auto'.",
            argument="permutations",
        )
    if plan.certify or plan.calibrate:
        raise InputError(
            "Certificates and calibration need the table in one piece, without shards."
        )


def _threshold(schema: Schema, plan: Plan) -> float | None:
    if plan.threshold is not None or schema.form == "labels" or len(schema.predictions) > 2:
        return plan.threshold
    inside = all(one.low >= 0 and one.high <= 1 for one in schema.predictions)
    return 0.5 if inside else None


def _by_cells(schema: Schema, seen: Survey, plan: Plan, ids: bool) -> bool:
    statistics = statistic_named(plan.statistic)
    kpc = len(statistics) == 1 and isinstance(statistics[0], KPCStatistic)
    exact = schema.outcome.kind.is_categorical and plan.density in ("auto", "exact")
    listed = joint_shape((schema.outcome, *schema.attributes)) is not None
    return bool(kpc and exact and listed and not ids and len(seen.cells) <= MOST_CELLS)


def _shards(given: int | None, rows: int, per_shard: int) -> int:
    number = given or max(1, math.ceil(rows / per_shard))
    if rows < FEWEST_ROWS * number and number > 1:
        raise InputError(
            f"{rows:,} rows are too few for {number} shards: each needs {FEWEST_ROWS} or more."
        )
    return number


def _run_cells(
    engine: Engine, pieces: Sequence[Any], schema: Schema, seen: Survey, plan: Plan
) -> tuple[list[Answer], dict[str, float]]:
    """All questions from sums over cells."""
    space, keys = space_of(seen.cells, (schema.outcome, *schema.attributes))
    statistic = statistic_named(plan.statistic)[0]
    given = getattr(statistic, "knn", None)
    asked = []
    for family, names, label, of_class in _questions(schema, seen, plan):
        rows = (
            seen.rows
            if of_class is None
            else int(space.counts[space.outcome.codes == of_class].sum())
        )
        knn = given or default_knn(rows)
        asked.append((family, names, label, CellQuestion(space, names, of_class, knn)))
    questions = [one[-1] for one in asked]
    classes = [one.of_class for one in questions if one.of_class is not None]
    maps = features_of(schema, seen.sample, classes)
    job = CellJob(schema=schema, space=space, keys=keys, maps=maps, seed=plan.permutations.seed)
    width = 8 * len(space) * maps.width
    batch = max(1, ROUND // width)
    count, total = len(pieces), plan.permutations.n
    blocks = []
    observed: Array | None = None
    for start in range(-1, total, batch):  # copy -1 is the data
        copies = range(start, min(start + batch, total))
        sums = engine.sum(
            f"copies from {start + 1} of shard",
            partial_sums,
            pieces,
            [job] * count,
            range(count),
            [copies] * count,
        )
        observed = sums[0] if observed is None else observed
        blocks.append(answers(sums, observed, questions, job))
    values = np.vstack(blocks)
    assert observed is not None  # noqa: S101  for mypy: the first round has it
    found = []
    for k, (family, names, label, one) in enumerate(asked):
        nearest = CellQuestion(space, names, one.of_class, 1)
        size = float(answers(observed[None], observed, [nearest], job)[0, 0])
        found.append(
            Answer(
                family=family,
                name=label or ", ".join(names),
                attributes=names,
                label=label,
                rows=one.n,
                values=values[:, [k]],
                size=size,
                copies_by="exact (within classes)",
                diagnostics=exact_diagnostics(one.moved(), CHECKED_COPIES),
            )
        )
    return found, {}


def _questions(
    schema: Schema, seen: Survey, plan: Plan
) -> list[tuple[str, tuple[str, ...], str | None, int | None]]:
    """(family, attributes, label, class) as in an audit of one piece."""
    from fairaudit.data.columns import level_text

    names = tuple(one.name for one in schema.attributes)
    asked: list[tuple[str, tuple[str, ...], str | None, int | None]]
    asked = [("joint", names, None, None)]
    if len(names) > 1:
        asked += [("attribute", (name,), None, None) for name in names]
    pairs = dict.fromkeys(frozenset(pair) for pair in plan.pairs) if len(names) > 2 else {}
    for pair in pairs:
        asked.append(("pair", tuple(name for name in names if name in pair), None, None))
    levels = schema.outcome.levels
    assert levels is not None  # noqa: S101  for mypy: classes
    codes = seen.sample[schema.outcome.name].to_numpy()
    u = schema.prediction_matrix(seen.sample)
    for code, level in enumerate(levels):
        inside = u[codes == code]
        if len(levels) > 1 and len(inside) and np.ptp(inside, axis=0).max() > 0:
            label = f"{schema.outcome.name} = {level_text(level)}"
            asked.append(("outcome", names, label, code))
    return asked


def _run_rows(
    engine: Engine, pieces: Sequence[Any], schema: Schema, seen: Survey, plan: Plan
) -> tuple[list[Answer], dict[str, float]]:
    """All questions shard by shard; statistics are means over shards, weighted by rows."""
    job, _ = prefit(schema, seen.sample, plan)
    count = len(pieces)
    of_shards = engine.gather(
        engine.map("copies of shard", shard_answers, pieces, [job] * count, range(count))
    )
    together: dict[tuple[str, str], list[ShardAnswer]] = {}
    for shard in of_shards:
        for one in shard:
            together.setdefault((one.family, one.name), []).append(one)
    joint = tuple(one.name for one in schema.attributes)
    scores = job.densities[joint].scores if job.densities else {}
    order = {"joint": 0, "attribute": 1, "pair": 2, "outcome": 3}
    found = [_one(group) for _, group in together.items()]
    return sorted(found, key=lambda one: order[one.family]), scores


def _one(shards: list[ShardAnswer]) -> Answer:
    first, rows = shards[0], sum(one.rows for one in shards)
    values = np.zeros_like(first.values)
    for one in shards:
        values += one.values * (one.rows / rows)
    sizes = [(one.size, one.rows) for one in shards if one.size is not None]
    size = sum(s * r for s, r in sizes) / sum(r for _, r in sizes) if sizes else None
    moved = sum(one.moved * one.rows for one in shards) / rows
    if first.products is None:
        diagnostics = exact_diagnostics(moved, CHECKED_COPIES)
    else:
        products = np.zeros_like(first.products)
        for one in shards:  # a shard without one of the levels has fewer products: it is left out
            if one.products is not None and one.products.shape == products.shape:
                products += one.products * one.rows
        pits = [one.pit for one in shards if one.pit is not None]
        pit = pit_check(np.concatenate(pits)) if pits else None
        check = exchangeable(products)
        diagnostics = fitted_diagnostics(moved, CHECKED_COPIES, check, pit)
    return Answer(
        family=first.family,
        name=first.name,
        attributes=first.attributes,
        label=first.label,
        rows=rows,
        values=values,
        size=size,
        copies_by=first.copies_by,
        diagnostics=diagnostics,
    )


def _finding(answer: Answer, names: list[str]) -> tuple[Finding, Array]:
    observed, null = answer.values[0], answer.values[1:]
    if len(names) > 1:
        value, copies = smallest_p(observed, null)
        name = f"-log10 of the smallest p of {', '.join(names)}"
    else:
        value, copies, name = float(observed[0]), null[:, 0], names[0]
    exceed, drawn = int(reaches(copies, value).sum()), len(copies)
    fine = answer.diagnostics
    reason = None if fine.trustworthy else fine.because
    p = None if fine.moved == 0 else (1 + exceed) / (drawn + 1)
    interval = p_interval(exceed, drawn) if p is not None else (0.0, 1.0)
    finding = Finding(
        family=answer.family,
        name=answer.name,
        attributes=answer.attributes,
        outcome=answer.label,
        rows=answer.rows,
        statistic=name,
        value=value,
        p_value=p,
        p_interval=interval,
        p_adjusted=None,
        significant=False,
        kpc=answer.size,
        copies=drawn,
        copies_by=answer.copies_by,
        inconclusive=reason,
        seconds=0.0,
    )
    return finding, copies


def _result(
    asked: list[Answer],
    scores: dict[str, float],
    by_cells: bool,
    schema: Schema,
    seen: Survey,
    cut: float | None,
    plan: Plan,
    roles: Roles,
    shards: int,
    digest: str,
    predictor: Predictor | None,
    data: tuple[Source, ...],
    command: str | None,
    start: float,
    people: int,
) -> AuditResult:
    from fairaudit.auditing.audit_result import AuditResult, CopyQuality
    from fairaudit.auditing.capsule import capsule_from
    from fairaudit.auditing.engines.shard_notes import few_people, shard_notes
    from fairaudit.auditing.engines.shard_rates import rates_of
    from fairaudit.auditing.notes import finding_notes
    from fairaudit.auditing.questions import judged
    from fairaudit.auditing.verdict import check_tolerance, decide
    from fairaudit.data.cautions import warnings_about
    from fairaudit.data.facts import TableFacts
    from fairaudit.evidence.intervals.gaps import gap_table
    from fairaudit.evidence.measurements import CAUTION

    names = [s.name for s in statistic_named(plan.statistic)]
    made = [_finding(one, names) for one in asked]
    findings = judged([finding for finding, _ in made], plan)
    kpc = "KPC" if by_cells or shards == 1 else "mean KPC of the shards"
    measures = [
        MeasuredValue(key="kpc", name=kpc, value=one.size, attributes=one.attributes)
        for one in asked
        if one.family in ("joint", "attribute")
    ]
    found = None if roles.ids else rates_of(seen.rates, schema, cut)
    measures += () if found is None else found.measures
    check_tolerance(plan.tolerance, measures, [one.name for one in schema.attributes])
    facts = TableFacts(
        rows=seen.rows,
        people=people,
        prediction=schema.describe_prediction(),
        outcome=schema.outcome.facts(),
        attributes=tuple(one.facts() for one in schema.attributes),
        features=() if predictor is None else tuple(predictor.features or ()),
        excluded=schema.excluded,
        weights=None,
        ids=roles.ids,
    )
    verdict, because = decide(
        findings[0], measures, facts.outcome, alpha=plan.alpha, tolerance=plan.tolerance
    )
    gate = asked[0].diagnostics
    quality = CopyQuality(
        trustworthy=gate.trustworthy,
        because=gate.because,
        copies_by=asked[0].copies_by,
        copy_check=gate.copy_check,
        calibration=gate.pit,
        moved=gate.moved,
        distinct=gate.distinct,
        scores=scores,
    )
    source = None
    if predictor is not None:
        source = Source(predictor.source, predictor.kind, predictor.sha256)
    capsule = capsule_from(digest, plan, roles=roles, model=source, data=data, command=command)
    capsule = replace(capsule, options={**capsule.options, "shards": shards})
    features = () if predictor is None else tuple(predictor.features or ())
    warned = warnings_about(
        schema.outcome.name,
        features,
        few=few_people(seen, schema) if roles.ids is None else [],
        regressor=predictor.kind if predictor is not None and schema.of_regressor else None,
    )
    notes = (
        *warned,
        *finding_notes(verdict, findings, plan),
        *shard_notes(schema, plan, roles, shards, by_cells=by_cells, rates=found is not None),
    )
    gaps = (
        None
        if found is None
        else gap_table(
            found.by_group, found.cells.attributes, 1 - plan.alpha, plan.permutations.seed
        )
    )
    return AuditResult(
        verdict=verdict,
        because=because,
        alpha=plan.alpha,
        adjust=plan.adjust,
        tolerance=dict(plan.tolerance),
        table=facts,
        findings=findings,
        measures=tuple(measures),
        cells=None if found is None else found.cells,
        quality=quality,
        null=tuple(float(v) for v in made[0][1]),
        notes=(*notes, CAUTION),
        capsule=capsule,
        seconds=time.process_time() - start,
        gaps=gaps,
    )
