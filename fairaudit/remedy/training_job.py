"""What a repair is to train: method, values, rows and features; and the training itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fairaudit._types import Index
from fairaudit.auditing.checkpoint import Checkpoint, hash_settings
from fairaudit.auditing.descriptions import described
from fairaudit.data.reading.frames import as_pandas
from fairaudit.errors import InputError
from fairaudit.remedy.choice import Rule
from fairaudit.remedy.judge import Judge
from fairaudit.remedy.methods import Method, Training
from fairaudit.remedy.model_path import Path as TrainedPath
from fairaudit.remedy.model_path import train_path
from fairaudit.remedy.rows import Rows

if TYPE_CHECKING:
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.models import Predictor

__all__ = [
    "Job",
    "as_pipeline",
    "model_to_replace",
    "select_features",
    "train_models",
    "values_to_train",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Everything that decides which models are trained, chosen and audited.

    Attributes
    ----------
    method : Method or None
        None: several are searched.
    rule : Rule
        Which model of the curve is taken.
    values : list of float
        Of the method's parameter, plain training first.
    plan : Plan
        Of both audits.
    old : Predictor or None
        The model to replace.
    table : Rows
    parts : mapping
        Rows for training, choosing and auditing.
    features : list of str
    encoder : transformer or None
        None: the old model has its own.
    training : Training
    drop : sequence of str
        Columns that are no features.
    use_sensitive, randomize : bool
        Whether the model may know the attributes when it predicts, and may answer by chance.
    coming_rows : int
        Of the audit that the model should pass.
    """

    method: Method | None
    rule: Rule
    values: list[float]
    plan: Plan
    old: Predictor | None
    table: Rows
    parts: Mapping[str, Index]
    features: list[str]
    encoder: Any
    training: Training
    drop: Sequence[str]
    use_sensitive: bool
    randomize: bool
    coming_rows: int

    @property
    def corrects(self) -> bool:
        """The old model is corrected, and none is trained in its place."""
        return self.method is not None and self.method.corrects

    def judge(self, rows: Index, folds: Index | None = None) -> Judge:
        """Who measures models on these rows."""
        return Judge(
            table=self.trained_table,
            rows=rows,
            plan=self.plan,
            coming_rows=self.coming_rows,
            limits=self.rule.goal.limits,
            folds=folds,
        )

    @property
    def trained_table(self) -> Rows:
        """What is said about the classes of the old model does not hold for those trained here."""
        return self.table if self.corrects else self.table.without_classes()

    def identity(self, frame: Any, **settings: Any) -> str:
        """Everything that decides the numbers of a repair."""
        from importlib.metadata import version

        import pandas as pd

        rows = pd.util.hash_pandas_object(as_pandas(frame), index=False).to_numpy()
        return hash_settings(
            {
                "version": version("fairaudit-icp"),
                "rows": rows.tobytes().hex(),
                "columns": list(map(str, self.table.frame.columns)),
                "roles": asdict(self.table.roles),
                "old": None if self.old is None else [self.old.sha256, self.old.kind],
                "training": asdict(self.training),
                "alpha": self.plan.alpha,
                "copies": [self.plan.permutations.n, self.plan.permutations.seed],
                "method": None if self.method is None else described(self.method),
                "allowed": [self.use_sensitive, self.randomize],
                "values": self.values,
                **settings,
            }
        )


def train_models(job: Job, checkpoint: Checkpoint | None) -> TrainedPath:
    """One fitted pipeline per value."""
    table, train = job.table, job.parts["train"]
    rows = table.frame.iloc[train][job.features]
    assert job.method is not None  # noqa: S101  for mypy: a search trains otherwise
    path = train_path(
        job.method,
        job.values,
        X=rows if job.encoder is None else job.encoder.fit_transform(rows),
        y=table.target_of(job.old if job.corrects else None)[train],
        attributes=[column.take(train) for column in table.attributes],
        training=job.training,
        classes=table.outcome.kind.is_categorical,
        old=job.old.model if job.corrects and job.old is not None else None,
        checkpoint=checkpoint,
    )
    path.models[:] = [as_pipeline(job.encoder, model) for model in path.models]
    if job.rule.value is not None and job.rule.value not in path.values:
        raise KeyboardInterrupt  # stopped before its turn
    return path


def values_to_train(
    method: Method, mus: Sequence[float] | None, value: float | None
) -> list[float]:
    """Plain training first, then the rest in order of growing strength."""
    plain, *rest = method.grid
    strengths = {float(x) for x in (rest if mus is None else mus)}
    strengths |= set() if value is None else {value}
    for strength in strengths:
        method.check(strength)
    return [plain, *sorted(strengths - {plain}, reverse=rest[0] > rest[-1])]


def model_to_replace(model: Any, method: Method | None) -> Predictor:
    from fairaudit.models import opened_here, predictor_of

    old = predictor_of(model)
    corrects = method is not None and method.corrects
    if method is None or corrects:  # the object itself is looked at, or wrapped
        old = opened_here(old)
    if corrects and (old.features is None or not hasattr(old.model, "fit")):
        assert method is not None  # noqa: S101  for mypy
        raise InputError(
            f"The method {method.name} needs a fitted scikit-learn model that knows the names of "
            "its features. Use another method, which trains a model of its own."
        )
    return old


def select_features(
    table: Rows,
    train: Index,
    method: Method | None,
    old: Predictor | None,
    drop: Sequence[str],
    use_sensitive: bool,
) -> tuple[list[str], Any, tuple[str, ...]]:
    """The feature columns, their transformer (None: the old model's own), and notes."""
    from fairaudit.data.roles import require_column
    from fairaudit.remedy.encoding import feature_columns, transformer_for

    frame = table.frame
    sensitive = [column.name for column in table.attributes]
    others = [name for name in (table.roles.ids, table.roles.weights) if name is not None]
    if method is not None and method.corrects and old is not None:
        features = old.columns(
            list(frame.columns), outcome=table.outcome.name, sensitive=sensitive, other=others
        )
        numbers = frame[features].select_dtypes("number")
        gaps = [name for name in numbers if numbers[name].isna().any()]
        if gaps and method.sees_features:
            raise InputError(
                f"The method {method.name} needs numbers without gaps; {gaps[0]!r} has some. Fill "
                "them, or use another method."
            )
        known = [name for name in sensitive if use_sensitive and name not in features]
        return [*features, *known], None, ()
    for name in drop:
        require_column(name, list(frame.columns))
        if name in sensitive or name in (table.outcome.name, *others):
            raise InputError(f"Column {name!r} has a role and cannot be dropped.")
    without = [table.outcome.name, *others, *drop, *([] if use_sensitive else sensitive)]
    features = feature_columns(frame, without)
    encoder, notes = transformer_for(frame[features].iloc[train])
    return features, encoder, notes


def as_pipeline(encoder: Any, model: Any) -> Any:
    """Fitted parts as one fitted pipeline."""
    if encoder is None:
        return model
    from sklearn.pipeline import Pipeline

    return Pipeline([("features", encoder), ("model", model)])
