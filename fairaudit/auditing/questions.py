"""The questions of an audit, and what becomes of their answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit._words import figures
from fairaudit.auditing.findings import Finding
from fairaudit.data.columns import level_text
from fairaudit.data.roles import unknown_column
from fairaudit.errors import InputError
from fairaudit.evidence.measured import MeasuredValue
from fairaudit.testing.multiplicity import adjust_p_values
from fairaudit.testing.permutation_result import TestResult

if TYPE_CHECKING:
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.data.columns import Column

__all__ = [
    "Answer",
    "Part",
    "Question",
    "find_range_cuts",
    "judge_findings",
    "list_class_parts",
    "list_questions",
    "list_range_parts",
    "make_finding",
    "number_parts",
    "permutes_within_classes",
    "split_rounds",
]

RANGES = 3  # of a continuous outcome


@dataclass(frozen=True, slots=True)
class Part:
    """A class of the outcome, or a range: above `low` and up to `high`."""

    label: str
    level: Any = None
    low: float = -np.inf
    high: float = np.inf

    def rows(self, outcome: Column) -> Index:
        """The rows with such an outcome."""
        if self.level is not None:
            return np.flatnonzero((outcome.levels == self.level)[outcome.codes])
        values = np.asarray(outcome.numeric)
        return np.flatnonzero((self.low < values) & (values <= self.high))


@dataclass(frozen=True, slots=True)
class Question:
    """Is the prediction independent of these attributes given the outcome, in this part of it?

    `family` is ``"joint"`` (the gate), ``"attribute"``, ``"pair"`` or ``"outcome"``.
    """

    family: str
    attributes: tuple[str, ...]
    part: Part | None = None

    @property
    def name(self) -> str:
        return ", ".join(self.attributes) if self.part is None else self.part.label


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answer:
    """What the rows say to a question; `size` is that of the dependence, as KPC."""

    question: Question
    result: TestResult
    rows: int
    size: MeasuredValue
    seconds: float


def number_parts(questions: Sequence[Question], outcome: Column) -> Index | None:
    """Ranges of a continuous outcome, which stay apart where there are questions about them."""
    parts = [question.part for question in questions if question.part is not None]
    if outcome.kind.is_categorical or not parts:
        return None
    strata = np.zeros(len(outcome), dtype=np.intp)
    for number, part in enumerate(parts):
        strata[part.rows(outcome)] = number
    return strata


def permutes_within_classes(outcome: Any, plan: Plan) -> bool:
    """Whether rows of equal outcome exchange attributes, so that nothing is to be estimated."""
    exact = plan.law in ("auto", "icp", "exact") and plan.density in ("auto", "exact")
    return bool(outcome.kind.is_categorical and exact)


def list_questions(names: Sequence[str], parts: Sequence[Part], plan: Plan) -> list[Question]:
    """All questions about these attributes: the gate, each alone, pairs, parts of the outcome."""
    everything = tuple(names)
    questions = [Question("joint", everything)]
    if len(names) > 1:
        questions += [Question("attribute", (name,)) for name in names]
    pairs: set[frozenset[str]] = set()
    for pair in plan.pairs:
        _check_pair(pair, names)
        if len(names) > 2 and frozenset(pair) not in pairs:  # (b, a) is (a, b)
            pairs.add(frozenset(pair))
            questions.append(Question("pair", pair))
    return [*questions, *(Question("outcome", everything, part) for part in parts)]


def split_rounds(questions: Sequence[Question], *, shared: bool) -> list[list[Question]]:
    """Questions that share their copies, round by round; `shared` copies serve all."""
    if shared:
        return [list(questions)]
    # a fitted density answers for the attributes that it was fitted on
    rounds = [[question] for question in questions if question.part is None]
    of_parts = [question for question in questions if question.part is not None]
    return [*rounds, of_parts] if of_parts else rounds


def list_class_parts(name: str, levels: Sequence[Any]) -> list[Part]:
    """The classes of an outcome, where there are several."""
    if len(levels) < 2:
        return []
    return [Part(f"{name} = {level_text(level)}", level) for level in levels]


def find_range_cuts(values: Array) -> Array:
    """Where the lower, middle and upper third of a continuous outcome meet."""
    return np.unique(np.quantile(values, np.arange(1, RANGES) / RANGES))


def list_range_parts(name: str, cuts: Array) -> list[Part]:
    """The ranges of a continuous outcome between these cuts."""
    edges = [figures(cut) for cut in cuts]
    labels = [
        f"{name} ≤ {edges[0]}",
        *(f"{a} < {name} ≤ {b}" for a, b in pairwise(edges)),
        f"{name} > {edges[-1]}",
    ]
    ends = pairwise([-np.inf, *map(float, cuts), np.inf])
    return [Part(label, None, *end) for label, end in zip(labels, ends, strict=True)]


def make_finding(answer: Answer) -> Finding:
    """The answer as it is kept, before it is judged beside the others."""
    question, result = answer.question, answer.result
    return Finding(
        family=question.family,
        name=question.name,
        attributes=question.attributes,
        outcome=None if question.part is None else question.part.label,
        rows=answer.rows,
        statistic=result.name,
        value=float(result.statistic) if np.isfinite(result.statistic) else None,
        p_value=float(result.p_value) if np.isfinite(result.p_value) else None,
        p_interval=result.interval,
        p_adjusted=None,
        significant=False,
        kpc=answer.size.value,
        kpc_low=answer.size.low,
        kpc_high=answer.size.high,
        kpc_raw=answer.size.raw,
        copies=len(result.null),
        copies_by=result.density,
        inconclusive=result.inconclusive,
        seconds=answer.seconds,
    )


def judge_findings(findings: Sequence[Finding], plan: Plan) -> tuple[Finding, ...]:
    """Adjust the p-values behind the gate, and say which are significant."""
    gate, *behind = findings
    passed = gate.inconclusive is None and gate.p_value is not None and gate.p_value <= plan.alpha
    tested = [k for k, finding in enumerate(behind) if finding.p_value is not None]
    corrected = adjust_p_values([behind[k].p_value or 0.0 for k in tested], plan.adjust)
    for k, p in zip(tested, corrected, strict=True):
        significant = passed and behind[k].inconclusive is None and p <= plan.alpha
        behind[k] = replace(behind[k], p_adjusted=p, significant=significant)
    return (replace(gate, significant=passed), *behind)


def _check_pair(pair: tuple[str, str], names: Sequence[str]) -> None:
    for name in pair:
        if name not in names:
            raise InputError(unknown_column(name, list(names)))
    if pair[0] == pair[1]:
        raise InputError(f"The pair {pair[0]!r}, {pair[1]!r} names one attribute twice.")
