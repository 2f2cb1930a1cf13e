"""From a table to a repaired model: train a curve, choose, and audit before and after.

Every row has one task: to train, to choose, or to audit. What is said about the result comes from
rows that neither training nor the choice has seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit.auditing.checkpoint import Checkpoint
from fairaudit.data.facts import Source
from fairaudit.data.reading.frames import as_pandas
from fairaudit.data.roles import Roles
from fairaudit.models import predictor_of
from fairaudit.remedy.choice import CHANCE, Rule
from fairaudit.remedy.collapse import collapse
from fairaudit.remedy.judgment import advice_for, judged, notes_on, power_to_see
from fairaudit.remedy.methods import Method, Training
from fairaudit.remedy.model_file import ModelFile, without_file
from fairaudit.remedy.price import quality_in
from fairaudit.remedy.remedy_result import Outcome, RemedyResult
from fairaudit.remedy.rows import Audited, Rows
from fairaudit.remedy.search import search_models
from fairaudit.remedy.trained import Trained, train_method
from fairaudit.remedy.training_job import Job, model_to_replace, select_features, values_to_train
from fairaudit.remedy.wishes import check_correction, goal_of, method_for, plan_of, roles_of
from fairaudit.testing.permutations import Permutations

if TYPE_CHECKING:
    from fairaudit._types import Progress
    from fairaudit.models import Predictor

__all__ = ["RepairInterrupted", "repair"]

SPLIT = (0.5, 0.2, 0.3)
WEIGHTS = (
    "Weights enter rates, gaps and loss of the two audits; training, the choice and the tests "
    "count every row once."
)


class RepairInterrupted(KeyboardInterrupt):
    """Ctrl-C after training had begun; `model` is the best so far and has not been audited."""

    def __init__(self, model: Any, mu: float, out: str | None) -> None:
        super().__init__("interrupted")
        self.model, self.mu, self.out = model, mu, out


def repair(
    frame: Any,
    roles: Roles | None = None,
    *,
    sensitive: str | Sequence[str] | None = None,
    outcome: str | None = None,
    positive: Any = None,
    classes: Mapping[str, Any] | None = None,
    missing: str = "auto",
    model: Any = None,
    method: str | Method | None = None,
    goal: str | None = None,
    pass_probability: float = CHANCE,
    audit_rows: int | None = None,
    mu: float | str = "auto",
    kpc: float | None = None,
    loss: float | None = None,
    mus: Sequence[float] | None = None,
    split: Sequence[float] = SPLIT,
    drop: Sequence[str] = (),
    use_sensitive: bool = False,
    randomize: bool = True,
    objective: str | None = None,
    training_loss: str | None = None,
    predictor: str | None = None,
    steps: int | None = None,
    seed: int = 0,
    alpha: float = 0.05,
    permutations: Permutations | int = 999,
    tolerance: Mapping[str, float] | None = None,
    certify: Mapping[str, float] | None = None,
    out: str | Path | None = None,
    force: bool = False,
    resume: str | Path | None = None,
    data: tuple[Source, ...] = (),
    command: str | None = None,
    progress: Progress | None = None,
) -> RemedyResult:
    """Train a model towards equalized odds and audit it beside the one that it replaces.

    Parameters
    ----------
    frame : frame
        One table with features, outcome and sensitive attributes.
    roles : Roles, optional
        Which column is what; or pass `sensitive`, `outcome`, `positive`, `classes`, `missing`.
        With weights, those of the two audits: see the notes of the result.
    sensitive, outcome : names of columns
        A kind may follow, as in ``"age:continuous"``.
    positive, classes, missing
        As in `Roles`.
    model : fitted model, Predictor or file, optional
        The one to replace. Default: the same training without regard to the attributes.
    method : str or Method, optional
        ``"search"``, the default: boosted trees with the learner of `model`, each with a
        randomized last stage if it takes one (`randomize`). Or one method: ``"boosting"``,
        ``"fairicp"``, ``"faircp"``, ``"fdl"``, ``"hgr"``, ``"gerryfair"``, ``"reduction"``;
        ``"postprocess"``, ``"derived"`` and ``"thresholds"`` correct `model`; a name that an
        installed package added, or an object (`fairaudit.extend`). Where a value of `mu` or a
        setting of networks is given, the default is ``"fairicp"``.
    goal : str, optional
        ``"pass"``, the default: the smallest loss of a search with a chance of `pass_probability`
        to pass the coming audit (of one method: whose test has p > 0.25 on the rows for choosing).
        ``"certify kpc=0.01"`` (or another measure of `fairaudit.certify`): with
        certificates that hold. ``"kpc<=0.01"``: the smallest loss up to this KPC.
        ``"loss<=0.2"``: the smallest KPC up to this loss.
    pass_probability : float
    audit_rows : int, optional
        How many rows the coming audit will have; as many as train unless given.
    mu : float or "auto"
        This value of the method's trade-off parameter, in place of a goal.
    kpc, loss : float, optional
        The goals ``"kpc<=…"`` and ``"loss<=…"``.
    mus : sequence of float, optional
        Values to train.
    split : three shares
        Rows for training, choosing and auditing. A search chooses by cross-fitting on the first
        two; with a fixed `mu` there is nothing to choose, and the second share is audited too.
    drop : names of columns
        No features.
    use_sensitive : bool
        Allow a model that must know the sensitive attributes to predict.
    randomize : bool
        Allow a search to take a model whose answers have a share of chance; the same person
        always gets the same answer.
    objective, training_loss, predictor : str, optional
        See `FairICPClassifier`.
    steps : int, optional
        Length of the training, in the method's own unit.
    seed : int
        Of the split, of training and of the copies.
    alpha : float
    permutations : Permutations or int
        Copies of the two audits.
    tolerance, certify : mapping, optional
        Of the two audits; see `fairaudit.audit`.
    out : path, optional
        Where the model goes, as a pickle; after Ctrl-C the best one so far. Not written: a
        collapsed model, and with a goal of the audit one that is no repair.
    force : bool
        Write it all the same.
    resume : path, optional
        Keeps trained models and finished copies; the same call goes on there after an
        interruption. It is removed at the end.
    data, command
        For the record.
    progress : callable, optional
        Called with (what, done, total).

    Returns
    -------
    RemedyResult

    Examples
    --------
    >>> from fairaudit.datasets import load_demo
    >>> result = repair(load_demo(2000), sensitive="race,sex,age", outcome="repaid",
    ...                 mus=[0, 0.9], mu=0.9, steps=150, permutations=99)
    >>> bool(result.after.joint.kpc < result.before.joint.kpc)
    True
    """
    from fairaudit.data.reading.write import check_writable

    if out is not None:
        check_writable(out)
    networks = {"objective": objective, "loss": training_loss, "predictor": predictor}
    how = method_for(method, mu=mu, given=[mus, steps, *networks.values()])
    wanted = goal_of(goal, kpc, loss)
    rule = Rule.of(mu, wanted, how, chance=pass_probability, alpha=alpha)
    certified = {**(certify or {}), **rule.goal.limits}
    plan = plan_of(
        permutations, seed, alpha=alpha, tolerance=dict(tolerance or {}), certify=certified
    )
    old = None if model is None else model_to_replace(model, how)
    check_correction(how, old, drop=drop, use_sensitive=use_sensitive)
    given = {"positive": positive, "classes": dict(classes or {}), "missing": missing}
    table = Rows.of(as_pandas(frame), roles_of(roles, sensitive, outcome, **given), old)
    goes = "choice" if rule.looks else "audit"
    parts = table.parts(split, seed, choices_go_to="train" if how is None else goes)
    features, encoder, notes = select_features(
        table, parts["train"], method=how, old=old, drop=drop, use_sensitive=use_sensitive
    )
    hears = bool(getattr(progress, "on", False))
    training = Training(
        **networks, steps=steps, seed=seed, progress=hears, use_sensitive=use_sensitive
    )
    job = Job(
        method=how,
        rule=rule,
        values=[] if how is None else values_to_train(how, mus, rule.value),
        plan=plan,
        old=old,
        table=table,
        parts=parts,
        features=features,
        encoder=encoder,
        training=training,
        drop=drop,
        use_sensitive=use_sensitive,
        randomize=randomize,
        coming_rows=len(parts["train"]) if audit_rows is None else audit_rows,
    )
    wishes = {"mu": mu, "goal": str(rule.goal), "split": list(split), "drop": list(drop)}
    checkpoint = None
    if resume is not None:
        checkpoint = Checkpoint(resume, job.identity(frame, **wishes, chance=rule.chance))
    audits = _Audits(job=job, data=data, command=command, progress=progress, checkpoint=checkpoint)
    result = _train_and_judge(audits, out, force=force)
    shares = tuple(float(share) for share in split)
    if table.roles.weights is not None:
        notes = (WEIGHTS, *notes)
    told = dict.fromkeys((*notes_on(result), *notes, *result.notes))  # each once
    return replace(result, split=shares, notes=tuple(told))


def _train_and_judge(audits: _Audits, out: str | Path | None, *, force: bool) -> RemedyResult:
    """Train, choose, audit and judge; the notes are those of the training."""
    job, plan = audits.job, audits.job.plan
    if job.method is None:
        trained = search_models(job, job.old, audits.progress)
    else:
        trained = train_method(job, audits.checkpoint, audits.progress)
    curve, choice = trained.curve, trained.choice
    file = ModelFile.of(trained.model, out)
    try:
        before, after = audits.before_and_after(trained, file.source)
    except KeyboardInterrupt:
        usable = choice.fates is None and curve["collapsed"].isna()[choice.place]
        written = file.write() if usable or force else None
        raise RepairInterrupted(trained.model, trained.value, written) from None
    collapsed = collapse(after.table, before.table)
    power = power_to_see(before, after, plan)
    judgment = judged(trained, before, after, collapsed=collapsed, power=power)
    refused = out is not None and not force and _no_repair(judgment.outcome, job.rule)
    if refused:
        file, after = file.unwritten(), without_file(after)
    else:
        file.write()
    audits.forget()
    chosen = curve.iloc[choice.place]
    return RemedyResult(
        outcome=judgment.outcome,
        headline=judgment.headline,
        verdict=judgment.verdict,
        method=trained.method.name,
        parameter=trained.method.parameter,
        mu=trained.value,
        strength=float(chosen.get("strength", 0.0)),
        attributes_at_prediction=bool(chosen.get("attributes", job.use_sensitive)),
        goal=str(job.rule.goal) if job.rule.value is None else "",
        chance=None if np.isnan(chosen["chance"]) else float(chosen["chance"]),
        coming_rows=job.coming_rows,
        because=choice.because,
        model=trained.model,
        plain=trained.plain,
        before=before.result,
        after=after.result,
        collapsed=collapsed,
        power=power,
        loss=(before.loss, after.loss),
        quality=(quality_in(before.table), quality_in(after.table)),
        loss_name=job.table.loss_name,
        curve=curve.assign(chosen=[k == choice.place for k in range(len(curve))]),
        mixture=trained.mixture,
        forgone=trained.forgone,
        limit=trained.limit,
        rows={name: len(rows) for name, rows in job.parts.items()},
        split=(),  # known where it was asked for
        seed=plan.permutations.seed,
        features=tuple(trained.features),
        notes=trained.notes,
        advice=advice_for(judgment.outcome, trained, job),
        old=None if job.old is None else job.old.source or job.old.kind,
        saved=file.source,
        refused=refused,
        command=audits.command,
    )


def _no_repair(outcome: Outcome, rule: Rule) -> bool:
    """Whether the model is not worth a file of its own."""
    if outcome is Outcome.NOT_REPAIRED:
        return rule.automatic
    return outcome in (Outcome.COLLAPSED, Outcome.NOT_FOUND)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Audits:
    """The two audits of a repair, on the same rows."""

    job: Job
    data: tuple[Source, ...]
    command: str | None
    progress: Progress | None
    checkpoint: Checkpoint | None

    def before_and_after(self, trained: Trained, saved: Source) -> tuple[Audited, Audited]:
        if trained.interrupted:
            raise KeyboardInterrupt
        before = self._audit(self.job.old or predictor_of(trained.plain), "before")
        after = replace(predictor_of(trained.model), source=saved.path, sha256=saved.sha256)
        return before, self._audit(after, "after", before)

    def forget(self) -> None:
        """What was kept in case of an interruption is not needed any more."""
        if self.checkpoint is not None:
            self.checkpoint.remove()

    def _audit(self, predictor: Predictor, name: str, like: Audited | None = None) -> Audited:
        job = self.job
        # what the audit after the repair could have found is a part of its answer
        plan = replace(job.plan, power=like is not None)
        table = job.table if predictor is job.old else job.trained_table
        return table.audit(
            job.parts,
            predictor,
            plan,
            data=self.data,
            command=self.command,
            progress=_Part(self.progress, name),
            name=name,
            checkpoint=self.checkpoint,
            like=None if like is None else like.result,
        )


class _Part:
    """Progress of one audit of two."""

    def __init__(self, progress: Progress | None, name: str) -> None:
        self.progress, self.name = progress, name

    def __call__(self, what: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(f"audit {self.name}: {what}", done, total)
