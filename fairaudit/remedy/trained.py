"""Models that were trained and measured, with the one that was chosen; one method's way there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fairaudit.remedy.choice import Choice, dominated
from fairaudit.remedy.forgone import Forgone
from fairaudit.remedy.limit import Limit
from fairaudit.remedy.methods import Method
from fairaudit.remedy.training_job import Job, train_models

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit._types import Array, Index, Progress
    from fairaudit.auditing.checkpoint import Checkpoint

__all__ = ["Trained", "train_method"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """What training came to.

    Attributes
    ----------
    curve : DataFrame
        One row a model; the first is plain training.
    mixture : DataFrame
        The trivial alternative.
    choice : Choice
    method : Method
        Of the chosen model.
    value : float
        Of its parameter.
    model, plain : fitted models
        The chosen one, and plain training.
    features : list of str
    forgone : tuple of Forgone
    limit : Limit or None
        Of a search that found nothing.
    notes : tuple of str
    interrupted : bool
        Ctrl-C ended training early.
    """

    curve: pd.DataFrame
    mixture: pd.DataFrame
    choice: Choice
    method: Method
    value: float
    model: Any = field(repr=False)
    plain: Any = field(repr=False)
    features: list[str]
    forgone: tuple[Forgone, ...] = ()
    limit: Limit | None = None
    notes: tuple[str, ...] = ()
    interrupted: bool = False


def train_method(job: Job, checkpoint: Checkpoint | None, progress: Progress | None) -> Trained:
    """All values of one method on the training rows; one is chosen on the rows for choosing.

    Those are the audited rows where nothing is chosen. ``p_train`` is the test on the training
    rows: training flatters it, so that a model which fails even there is not fair.
    """
    import pandas as pd

    from fairaudit.remedy.tradeoff import scores_of

    assert job.method is not None  # noqa: S101  for mypy
    path = train_models(job, checkpoint)
    report = progress or (lambda what, done, total: None)
    table, total = job.trained_table, len(path.models)
    looked = job.parts["choice"] if len(job.parts["choice"]) else job.parts["audit"]

    def scores_on(rows: Index) -> list[Array]:
        X = table.frame.iloc[rows][job.features]
        return [table.of_larger_level(scores_of(model, X), model) for model in path.models]

    judge, on_training = job.judge(looked), job.judge(job.parts["train"])
    scores, trained_scores = scores_on(looked), scores_on(job.parts["train"])
    records = []
    for number, (value, told) in enumerate(zip(path.values, scores, strict=True)):
        report("curve", number, total + 1)
        p_train = on_training.p_value(trained_scores[number])
        records.append({"mu": value, **judge.measure(told), "p_train": p_train})
    report("curve", total, total + 1)
    curve = pd.DataFrame(records)
    mixture = judge.mixture(scores[0], seed=job.plan.permutations.seed)
    curve["dominated"] = dominated(curve, mixture, job.rule)
    choice = job.rule.choose(curve)
    warning = path.warnings[choice.place]
    return Trained(
        curve=curve,
        mixture=mixture,
        choice=choice,
        method=job.method,
        value=path.values[choice.place],
        model=path.models[choice.place],
        plain=path.models[0],
        features=job.features,
        notes=() if not warning else (warning,),
        interrupted=path.interrupted,
    )
