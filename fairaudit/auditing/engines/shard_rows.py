"""The rows of an audit as shards, which an engine computes on."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit.auditing.descriptions import described
from fairaudit.auditing.engines.by_blocks import answer_by_blocks, hash_shard
from fairaudit.auditing.engines.by_rows import answer_by_rows, choose_density
from fairaudit.auditing.engines.by_shifts import answer_by_shifts
from fairaudit.auditing.engines.class_names import match_classes
from fairaudit.auditing.engines.schema import (
    Schema,
    code_rows,
    collect_facts,
    count_dropped,
    make_schema,
)
from fairaudit.auditing.engines.shard_notes import ABSENT, explain_no_rates, list_small_levels
from fairaudit.auditing.engines.sharded_answers import ShardedAnswer
from fairaudit.auditing.engines.sources import (
    FramePartition,
    ModelFile,
    Partition,
    narrow_partition,
)
from fairaudit.auditing.engines.survey import Survey, count_levels, join_surveys, survey_rows
from fairaudit.auditing.examination import Absent, explain_sample
from fairaudit.auditing.questions import (
    Answer,
    Question,
    find_range_cuts,
    list_class_parts,
    list_questions,
    list_range_parts,
    permutes_within_classes,
)
from fairaudit.auditing.table_rows import portray
from fairaudit.data.cautions import warnings_about
from fairaudit.data.columns import level_text
from fairaudit.data.facts import TableFacts
from fairaudit.data.groups import GroupTable
from fairaudit.errors import InputError
from fairaudit.evidence.measured import MeasuredValue
from fairaudit.evidence.measurements import (
    Measurements,
    about_classes,
    about_groups,
    measure_labels,
    tabulate_rates,
)
from fairaudit.permute.local import Local
from fairaudit.testing.core import judge_null
from fairaudit.testing.statistic import statistic_named

if TYPE_CHECKING:
    from fairaudit._types import Progress
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.auditing.engines.engine import Engine
    from fairaudit.auditing.findings import Finding
    from fairaudit.data.roles import Roles
    from fairaudit.evidence.intervals.certificates import Certificate
    from fairaudit.evidence.portrait.contrast import Portrait
    from fairaudit.models import Predictor
    from fairaudit.testing.permutation_result import TestResult

__all__ = [
    "ROWS_BY_ROWS",
    "ShardRows",
    "Surveyed",
    "adds_shifts",
    "check_settings",
    "explain_no_shards",
    "survey_partitions",
]

FEWEST_ROWS = 500  # of a shard
ROWS_BY_BLOCKS = 1 << 20  # of a shard, unless a number of shards is given
ROWS_BY_SHIFTS, ROWS_BY_ROWS = 200_000, 50_000
MOST_BLOCKS = 20_000
SAMPLE = 20_000  # rows that choose the bandwidth
FIT_ROWS, FIT_SHARE = 50_000, 0.2  # rows that densities are fitted on


def check_settings(roles: Roles, plan: Plan) -> None:
    """Refuse what decides about the verdict and cannot be had in several shards."""
    error = explain_no_shards(roles, plan)
    if error is not None:
        raise error


def explain_no_shards(roles: Roles, plan: Plan) -> InputError | None:
    """Why this plan needs one piece; None where several shards will do."""
    if roles.weights is not None:
        return InputError(
            "Weights cannot be used in shards. Leave 'weights' out.", argument="weights"
        )
    if plan.permutations.stops_early:
        return InputError(
            "Shards draw all copies: set 'permutations' to a number instead of 'auto'.",
            argument="permutations",
        )
    if plan.law not in ("auto", "exact", "icp", "local") and not isinstance(plan.law, Local):
        return InputError(
            "Shards have the laws auto, exact, icp and local. Choose one of them, or one piece.",
            argument="law",
        )
    if plan.certify or plan.calibrate:
        return InputError(
            "Certificates and calibration need the table in one piece, without shards."
        )
    return None


def adds_shifts(plan: Plan, *, categorical: bool = False) -> bool:
    """Whether shards are answered by sums per group of blocks of neighbors in the outcome."""
    local = plan.choice_of_law.is_local_in_shards(categorical=categorical)
    return local and _is_single(plan, "over_shifts")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Surveyed:
    """Partitions that have been looked at: coded rows, and what they hold together.

    `left_out` is the share of the rows that densities are fitted on, and that no shard holds;
    `by_blocks` tells that sums over tied blocks are enough, `by_shifts` that sums per group of
    blocks of neighbors are.
    """

    frames: list[Any]
    schema: Schema
    survey: Survey
    cut: float | None
    left_out: float
    by_blocks: bool
    by_shifts: bool

    def shards(self, given: int | None) -> int:
        """How many there are, unless a number is given."""
        rows = self.survey.rows - (len(self.survey.sample) if self.left_out else 0)
        most = ROWS_BY_SHIFTS if self.by_shifts else ROWS_BY_ROWS
        number = given or max(1, math.ceil(rows / (ROWS_BY_BLOCKS if self.by_blocks else most)))
        if rows < FEWEST_ROWS * number and number > 1:
            raise InputError(
                f"{rows:,} rows are too few for {number} shards: each needs {FEWEST_ROWS} or more."
            )
        return number


def survey_partitions(
    engine: Engine,
    partitions: Sequence[Partition | FramePartition],
    columns: Sequence[str],
    roles: Roles,
    plan: Plan,
    *,
    predictor: Predictor | None,
    model: ModelFile | Predictor | None,
    progress: Progress,
) -> Surveyed:
    """Read all partitions once."""
    plain = roles.resolve(columns, predictor)
    ids = plain.ids is not None
    progress("reading", 0, 4)
    count = len(partitions)
    parts = engine.map("partition", narrow_partition, partitions, [plain] * count, [model] * count)
    facts = engine.gather(engine.map("facts of partition", collect_facts, parts))
    schema = match_classes(make_schema(facts, plain), facts, roles)
    if roles.on == "labels" and schema.form != "labels":
        raise InputError(
            "Shards take labels from the model or the table. Leave 'threshold' out.",
            argument="threshold",
        )
    frames = engine.map("codes of partition", code_rows, parts, [schema] * count, [ids] * count)
    del parts
    progress("survey", 1, 4)
    categorical = schema.outcome.kind.is_categorical
    fits = not categorical and choose_density(plan, categorical=False) is not None
    share = min(FIT_SHARE, FIT_ROWS / schema.rows) if fits else min(1.0, SAMPLE / schema.rows)
    cut = _choose_threshold(schema, plan)
    look = partial(survey_rows, schema=schema, share=share, cut=cut)
    survey = join_surveys(engine.gather(engine.map("survey of partition", look, frames)))
    return Surveyed(
        frames=frames,
        schema=count_dropped(schema, survey.rows),
        survey=survey,
        cut=cut,
        left_out=share if fits else 0.0,
        by_blocks=_can_sum_blocks(schema, survey, plan, ids),
        by_shifts=adds_shifts(plan, categorical=categorical),
    )


def _choose_threshold(schema: Schema, plan: Plan) -> float | None:
    if plan.threshold is not None or schema.form == "labels" or len(schema.predictions) > 2:
        return plan.threshold
    inside = all(column.low >= 0 and column.high <= 1 for column in schema.predictions)
    return 0.5 if inside else None


def _can_sum_blocks(schema: Schema, survey: Survey, plan: Plan, ids: bool) -> bool:
    sums = _is_single(plan, "over_blocks")
    listed = count_levels((schema.outcome, *schema.attributes)) is not None
    exact = permutes_within_classes(schema.outcome, plan)
    return bool(sums and exact and listed and not ids and len(survey.blocks) <= MOST_BLOCKS)


def _is_single(plan: Plan, ability: str) -> bool:
    """Whether there is one statistic, and it can do this."""
    statistics = statistic_named(plan.statistic)
    return len(statistics) == 1 and hasattr(statistics[0], ability)


class ShardRows:
    """Rows dealt to shards by a hash of their position, or of the id of their person.

    Rows exchange attributes within their shard only. The statistics of the shards are added, copy
    by copy; where attributes are tied it is the sums behind the statistic that are added, and the
    statistic is that of the whole table.
    """

    form, whole = "in shards", "in one piece"

    def __init__(
        self,
        engine: Engine,
        surveyed: Surveyed,
        number: int,
        roles: Roles,
        plan: Plan,
        *,
        predictor: Predictor | None,
        started: float,
        progress: Progress,
    ) -> None:
        self.started, self.engine, self.plan, self.roles = started, engine, plan, roles
        self.schema, self.survey, self.number = surveyed.schema, surveyed.survey, number
        self.by_blocks, self.by_shifts = surveyed.by_blocks, surveyed.by_shifts
        self.cut, self.progress = surveyed.cut, progress
        self.predictor = predictor
        progress("shuffle", 2, 4)
        self.pieces = engine.shuffled(surveyed.frames, number, surveyed.left_out)
        surveyed.frames.clear()
        digests = engine.gather(engine.map("hash of shard", hash_shard, self.pieces, range(number)))
        self.sha256 = hashlib.sha256("".join(digest for digest, _ in digests).encode()).hexdigest()
        people = sum(count for _, count in digests)
        self.facts = TableFacts(
            rows=self.survey.rows,
            people=people if roles.ids is not None else self.survey.rows,
            prediction=self.schema.describe_prediction(),
            outcome=self.schema.outcome.facts(),
            attributes=tuple(column.facts() for column in self.schema.attributes),
            features=() if predictor is None else tuple(predictor.features or ()),
            excluded=self.schema.excluded,
            weights=None,
            ids=roles.ids,
        )

    @property
    def options(self) -> Mapping[str, Any]:
        return {"shards": self.number, "engine": described(self.engine)}

    @property
    def warnings(self) -> Sequence[str]:
        schema, predictor = self.schema, self.predictor
        return warnings_about(
            schema.outcome.name,
            self.facts.features,
            few=list_small_levels(self.survey, schema) if self.roles.ids is None else [],
            regressor=predictor.kind if predictor is not None and schema.of_regressor else None,
        )

    @property
    def layout(self) -> Sequence[str]:
        notes = [f"Rows exchanged attributes within {self.number} shards, dealt by a hash."]
        if self.roles.ids is not None:
            notes.append(
                "People with several rows stayed in one shard and were permuted as a whole."
            )
        if not self.by_blocks:
            what = "KPC is a mean" if self.by_shifts else "Statistics and KPC are means"
            notes.append(f"{what} over the shards, weighted by rows.")
        shown = len(self.survey.sample)
        return notes if shown == self.facts.rows else [*notes, explain_sample(shown)]

    @property
    def unmeasured(self) -> Sequence[Absent]:
        if self._groups is not None:
            return [ABSENT["codec"]]
        return [ABSENT["codec"], explain_no_rates(self.schema, self.roles)]

    def digest(self) -> str:
        return self.sha256

    def measures(self) -> Measurements:
        values = [
            answer.size
            for answer in self._answers
            if answer.question.family in ("joint", "attribute")
        ]
        columns = self.schema.attributes
        groups = [column for column in columns if column.kind.is_categorical]
        notes = about_groups(columns, groups)
        counted, positive, cut = self._groups, self.schema.positive, self.cut
        if counted is None:
            return Measurements(tuple(values), None, notes)
        of_labels = cut is None or self.schema.form == "labels"
        note = "" if of_labels else f"labels: scores at or above {cut:g}"
        outcome = self.facts.outcome
        return Measurements(
            (*values, *measure_labels(counted, note)),
            tabulate_rates(counted, level_text(positive), note),
            (*notes, *about_classes(outcome.name, len(outcome.levels), positive)),
            counted,
        )

    def _size(self, answer: ShardedAnswer) -> MeasuredValue:
        return MeasuredValue(
            key="kpc",
            name="KPC" if self.by_blocks else "mean KPC of the shards",
            value=answer.kpc,
            attributes=answer.question.attributes,
            raw=answer.kpc_raw,
        )

    @property
    def _groups(self) -> GroupTable | None:
        return None if self.roles.ids is not None else self.survey.rates

    def answers(self, sizes: Measurements, progress: Progress) -> list[Answer]:
        return self._answers

    @cached_property
    def _answers(self) -> list[Answer]:
        self.progress("copies", 3, 4)
        plan = self.plan
        statistics = statistic_named(plan.statistic)
        ask = answer_by_shifts if self.by_shifts else answer_by_rows
        ask = answer_by_blocks if self.by_blocks else ask
        answers = ask(
            self.engine,
            self.pieces,
            schema=self.schema,
            survey=self.survey,
            questions=self._questions(),
            plan=plan,
        )
        self.progress("copies", 4, 4)
        return [
            Answer(
                question=answer.question,
                result=judge_null(
                    answer.null,
                    answer.trust,
                    statistics=statistics,
                    rows=answer.rows,
                    permutations=plan.permutations,
                    seconds={},
                ),
                rows=answer.rows,
                size=self._size(answer),
                seconds=0.0,
            )
            for answer in answers
        ]

    def _questions(self) -> list[Question]:
        outcome = self.schema.outcome
        if outcome.levels is not None and permutes_within_classes(outcome, self.plan):
            parts = list_class_parts(outcome.name, list(outcome.levels))
        elif outcome.kind.is_categorical or self.roles.ids is not None:
            parts = []
        else:
            values = self.schema.table(self.survey.sample).require_outcome().numeric
            parts = list_range_parts(outcome.name, find_range_cuts(np.asarray(values)))
        return list_questions([c.name for c in self.schema.attributes], parts, self.plan)

    def certificates(self, sizes: Measurements) -> tuple[Certificate, ...]:
        """Refused by `check_settings`."""
        return ()

    def power(self, gate: TestResult, progress: Progress) -> Absent | None:
        return ABSENT["power"] if self.plan.power else None

    def calibration(self, gate: TestResult, progress: Progress) -> None:
        """Refused by `check_settings`."""

    def localization(self, gate: Finding, progress: Progress) -> Absent | None:
        return ABSENT["localization"] if self.plan.locate else None

    def portrait(self, progress: Progress) -> Portrait:
        """Of the rows that are here: all of a table that is not large, or a sample."""
        return portray(self.schema.table(self.survey.sample), self.plan, progress)
