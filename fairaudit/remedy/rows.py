"""The rows of a remedy: what may be used, who trains, who chooses, and who is audited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.auditing.audit_result import AuditResult
from fairaudit.auditing.findings import Verdict
from fairaudit.data.classes import class_key, in_classes_of, level_named, model_levels
from fairaudit.data.columns import Column, columns_from
from fairaudit.data.facts import Excluded, Source
from fairaudit.data.preparation import choose_rows, prepare
from fairaudit.data.roles import Roles
from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit._types import Progress
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.auditing.checkpoint import Checkpoint
    from fairaudit.data.table import AuditTable
    from fairaudit.models import Predictor

__all__ = ["Audited", "Rows", "predicted_codes", "table_loss"]

#: The parts, the fewest rows of each, and what to call them.
FEWEST = {"train": 40, "choice": 20, "audit": 20}
_NAMES = {"train": "rows for training", "choice": "rows for choosing", "audit": "audited rows"}
_TASKS = {"train": "train", "choice": "choose", "audit": "audit"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The rows that can be used, with the roles of their columns."""

    frame: pd.DataFrame
    outcome: Column
    attributes: tuple[Column, ...]
    ids: Column | None
    roles: Roles
    excluded: tuple[Excluded, ...]
    missing: dict[str, Array]

    @classmethod
    def of(cls, frame: pd.DataFrame, roles: Roles, old: Predictor | None) -> Rows:
        resolved = roles.resolve(list(frame.columns), old)
        chosen = choose_rows(frame, resolved)
        columns = chosen.columns
        attributes = columns_from(
            columns.of("sensitive"),
            argument="sensitive",
            kinds={
                name: kind for name, kind in columns.kinds.items() if name in resolved.sensitive
            },
        )
        (target,) = columns_from(
            columns.of("outcome"),
            argument="outcome",
            outcome=True,
            kinds={name: kind for name, kind in columns.kinds.items() if name == resolved.outcome},
        )
        ids = None
        if resolved.ids is not None:
            (ids,) = columns_from(columns.of("ids"), argument="ids")
        # kinds are those of the whole table: a part may look different
        fixed = Roles(
            sensitive=tuple(f"{c.name}:{c.kind}" for c in attributes),
            outcome=f"{target.name}:{target.kind}",
            weights=resolved.weights,
            ids=resolved.ids,
            positive=roles.positive,
            classes=roles.classes,
        )
        missing = {name: chosen.frame[name].isna().to_numpy() for name in resolved.sensitive}
        return cls(
            frame=chosen.frame,
            outcome=target,
            attributes=attributes,
            ids=ids,
            roles=fixed,
            excluded=chosen.excluded,
            missing=missing,
        )

    @property
    def target(self) -> Array:
        """The outcome as a model learns it."""
        values = self.outcome.levels[self.outcome.codes]
        return np.asarray(values.astype(str) if values.dtype == object else values)

    def target_of(self, old: Predictor | None) -> Array:
        """The outcome in the classes of the model that is corrected; as it is without one."""
        if old is None or old.classes is None or not self.outcome.kind.is_categorical:
            return self.target
        return in_classes_of(
            old.classes.tolist(),
            self.outcome,
            positive=self.roles.positive,
            classes=self.roles.classes,
        )

    def without_classes(self) -> Rows:
        """The same rows for models that learned the levels of the outcome as they are."""
        return replace(self, roles=replace(self.roles, classes={}))

    @property
    def loss_name(self) -> str:
        """``"misclassified"`` (a share) or ``"mean squared error"``."""
        return "misclassified" if self.outcome.kind.is_categorical else "mean squared error"

    def of_larger_level(self, scores: Array, model: Any) -> Array:
        """The scores of two classes as those of the larger level, in whatever order they are."""
        names = getattr(model, "classes_", None)
        if names is None or scores.ndim > 1 or len(self.outcome.levels) != 2:
            return scores
        levels = self.outcome.levels.tolist()
        chosen = None if self.roles.positive is None else level_named(self.roles.positive, levels)
        means = model_levels(
            list(names), levels, self.outcome.name, positive=chosen, classes=self.roles.classes
        )
        return 1 - scores if means[-1] == levels[0] else scores

    def parts(
        self, split: Sequence[float], seed: int, *, choices_go_to: str = "choice"
    ) -> dict[str, Index]:
        """Rows of every part; people stay together.

        Where no rows are needed to choose by, those are audited too, or train too.
        """
        shares = len(split) == 3 and all(0 < share < 1 for share in split)
        if not shares or abs(sum(split) - 1) > 1e-6:
            raise InputError(
                "The split must be three shares that add up to 1, as in 0.5,0.2,0.3. "
                f"Got {', '.join(f'{share:g}' for share in split)}."
            )
        units = np.arange(len(self.frame)) if self.ids is None else self.ids.codes
        order = np.random.default_rng(seed).permutation(int(units.max()) + 1)
        sizes = np.bincount(units)[order]
        ends = np.cumsum(split[:2]) * len(units)
        of_unit = np.empty(len(order), dtype=np.intp)
        of_unit[order] = np.searchsorted(ends, np.cumsum(sizes) - sizes / 2)
        part = of_unit[units]
        kept = {"train": 0, "choice": 1, "audit": 2}[choices_go_to]
        part[part == 1] = kept
        rows_by_part = {name: np.flatnonzero(part == k) for k, name in enumerate(FEWEST)}
        used = rows_by_part if kept == 1 else {k: v for k, v in rows_by_part.items() if len(v)}
        self._check(used)
        return rows_by_part

    def _check(self, parts: Mapping[str, Index]) -> None:
        if any(len(rows) < FEWEST[name] for name, rows in parts.items()):
            sizes = ", ".join(f"{len(rows)} to {_TASKS[n]}" for n, rows in parts.items())
            least = ", ".join(str(FEWEST[name]) for name in parts)
            raise InputError(
                f"{len(self.frame)} rows are too few: {sizes}; at least {least} are needed. "
                "Pass more rows, or another 'split'.",
                argument="split",
            )
        way_out = "Pass more rows, or another 'seed' or 'split'."
        for name, rows in parts.items():
            for column in self.attributes:
                if len(np.unique(column.codes[rows])) < 2:
                    raise InputError(
                        f"Sensitive column {column.name!r} has a single value in the "
                        f"{_NAMES[name]} ({len(rows)}). {way_out}",
                        argument=("seed", "split"),
                    )
            present = len(np.unique(self.outcome.codes[rows]))
            whole = len(self.outcome.levels)
            if present < 2 or (self.outcome.kind.is_categorical and present < whole):
                raise InputError(
                    f"The outcome {self.outcome.name!r} has {present} of its {whole} values in the "
                    f"{_NAMES[name]} ({len(rows)}). {way_out}",
                    argument=("seed", "split"),
                )

    def audit(
        self,
        parts: Mapping[str, Index],
        predictor: Predictor,
        plan: Plan,
        data: tuple[Source, ...],
        command: str | None,
        progress: Progress,
        name: str,
        checkpoint: Checkpoint | None,
        like: AuditResult | None = None,
    ) -> Audited:
        """One model on the rows kept for this, and its loss there.

        A model with one prediction for all rows cannot be tested: the result is then that of
        another audit, `like`, without the answers.
        """
        from fairaudit.auditing.run import audit_table

        rows = parts["audit"]
        prepared = prepare(self.frame.iloc[rows], self.roles, predictor)
        tasks = "for training and choosing the model" if len(parts["choice"]) else "for training"
        used = Excluded(len(self.frame) - len(rows), tasks)
        missing = {name: int(gaps[rows].sum()) for name, gaps in self.missing.items()}
        prepared = replace(prepared, excluded=(*self.excluded, used), missing=missing)
        source = Source(predictor.source, predictor.kind, predictor.sha256)
        if like is not None and prepared.table.prediction.constant:
            result = _untested(like, prepared.table, source)
        else:
            result = audit_table(
                prepared,
                plan,
                model=source,
                data=data,
                command=command,
                roles=self.roles,
                progress=progress,
                checkpoint=checkpoint,
                name=name,
            )
        result = replace(result, notes=(*result.notes, *predictor.notes))
        return Audited(result, table_loss(prepared.table)[0], prepared.table)


@dataclass(frozen=True, slots=True)
class Audited:
    """An audit with the loss on its rows, and the table that was audited."""

    result: AuditResult
    loss: float | None
    table: AuditTable


def _untested(like: AuditResult, table: AuditTable, model: Source) -> AuditResult:
    """The audit of a constant prediction: there is nothing to test."""
    reason = "the prediction is the same for all rows"
    joint = replace(
        like.joint,
        value=None,
        p_value=None,
        p_interval=(0.0, 1.0),
        significant=False,
        kpc=None,
        copies=0,
        inconclusive=reason,
    )
    return replace(
        like,
        verdict=Verdict.INCONCLUSIVE,
        because=f"Inconclusive: {reason}.",
        table=replace(like.table, prediction=table.prediction.describe()),
        findings=(joint,),
        measures=(),
        cells=None,
        null=(),
        notes=(),
        capsule=replace(like.capsule, model=model),
        gaps=None,
    )


def predicted_codes(table: AuditTable, threshold: float | None = None) -> Index | None:
    """The predicted class as a place among the levels of the outcome; −1: none of them.

    None for scores without a cut.
    """
    from fairaudit.data.threshold import as_labels

    outcome = table.require_outcome()
    try:
        labels = as_labels(table, threshold).prediction.columns[0]
    except InputError:
        return None
    places = {class_key(level): k for k, level in enumerate(outcome.levels)}
    known = np.array([places.get(class_key(level), -1) for level in labels.levels])
    return np.asarray(known[labels.codes], dtype=np.intp)


def table_loss(table: AuditTable, threshold: float | None = None) -> tuple[float | None, str]:
    """Share misclassified or mean squared error, with its name; None for scores without a cut.

    By the weights of the table.
    """
    outcome = table.require_outcome()
    if not outcome.kind.is_categorical:
        name, numbers = "mean squared error", table.prediction.columns[0].numeric
        losses = None if numbers is None else (numbers - np.asarray(outcome.numeric)) ** 2
    else:
        name, codes = "misclassified", predicted_codes(table, threshold)
        losses = None if codes is None else (codes != outcome.codes).astype(np.float64)
    return None if losses is None else float(np.average(losses, weights=table.weights)), name
