"""From a table to a repaired model: train a curve, choose, and audit before and after.

Every row has one task: to train, to choose, or to audit. What is said about the result comes from
rows that neither training nor the choice has seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairaudit._types import Index
from fairaudit.auditing.checkpoint import Checkpoint, identity_of
from fairaudit.auditing.descriptions import described
from fairaudit.data.facts import Source
from fairaudit.data.reading.frames import as_pandas
from fairaudit.data.roles import Roles, column_names, require_column
from fairaudit.errors import InputError
from fairaudit.remedy.choice import Rule
from fairaudit.remedy.collapse import collapse
from fairaudit.remedy.curve import curve_of
from fairaudit.remedy.judgement import advice_for, judged, notes_on, power_to_see
from fairaudit.remedy.remedy_result import Outcome, RemedyResult
from fairaudit.remedy.rows import Audited, Rows
from fairaudit.testing.permutations import Permutations

if TYPE_CHECKING:
    from fairaudit._types import Progress
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.models import Predictor
    from fairaudit.remedy.methods import Method

__all__ = ["RepairInterrupted", "repair"]

SPLIT = (0.5, 0.2, 0.3)


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
    method: str | Method = "fairicp",
    mu: float | str = "auto",
    kpc: float | None = None,
    loss: float | None = None,
    mus: Sequence[float] | None = None,
    split: Sequence[float] = SPLIT,
    drop: Sequence[str] = (),
    use_sensitive: bool = False,
    objective: str | None = None,
    training_loss: str | None = None,
    predictor: str | None = None,
    steps: int | None = None,
    seed: int = 0,
    alpha: float = 0.05,
    permutations: Permutations | int = 999,
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
    sensitive, outcome : names of columns
        A kind may follow, as in ``"age:continuous"``.
    positive, classes, missing
        As in `Roles`.
    model : fitted model, Predictor or file, optional
        The one to replace. Default: the same training without regard to the attributes.
    method : str or Method
        ``"fairicp"``, ``"faircp"``, ``"fdl"``, ``"hgr"``, ``"gerryfair"``, ``"reduction"``, or
        ``"postprocess"``, which corrects `model`; a name that an installed package added, or an
        object (`fairaudit.extend`).
    mu : float or "auto"
        Value of the method's trade-off parameter. ``"auto"``: the smallest loss among models whose
        test has p > 0.25 on the rows for choosing, otherwise the smallest KPC; never a collapsed
        model, nor one that a mixture of plain training with a constant beats.
    kpc, loss : float, optional
        Choose by a bound instead: the smallest loss up to this KPC, or the reverse.
    mus : sequence of float, optional
        Values to train.
    split : three shares
        Rows for training, choosing and auditing. With a fixed `mu` there is nothing to choose,
        and the second share is audited too.
    drop : names of columns
        No features.
    use_sensitive : bool
        Make the sensitive attributes features.
    objective, training_loss, predictor : str, optional
        See `FairICPClassifier`.
    steps : int, optional
        Length of the training, in the method's own unit.
    seed : int
        Of the split, of training and of the copies.
    alpha : float
    permutations : Permutations or int
        Copies of the two audits.
    out : path, optional
        Where the model goes, as a pickle; after Ctrl-C the best one so far. Not written: a
        collapsed model, and with ``mu="auto"`` one that is no repair.
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
    >>> result = repair(load_demo(1000), sensitive="race,sex,age", outcome="repaid",
    ...                 mus=[0, 0.8], mu=0.8, steps=60, permutations=99)
    >>> bool(result.after.joint.kpc < result.before.joint.kpc)
    True
    """
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.data.reading.write import check_writable, write_bytes
    from fairaudit.remedy.methods import METHODS, Training
    from fairaudit.remedy.model_path import train_path

    if out is not None:
        check_writable(out)
    drawn = Permutations(n=permutations) if isinstance(permutations, int) else permutations
    plan = Plan(alpha=alpha, permutations=replace(drawn, seed=seed), power=False, with_r=False)
    how: Method = METHODS.get(method)
    rule = Rule.of(mu, kpc, loss, alpha, how)
    values = _values(how, mus, rule.value)
    old = None if model is None else _old(model, how)
    if how.corrects and (old is None or use_sensitive or drop):
        raise InputError(
            "The method postprocess corrects a model: pass 'model', and neither 'use_sensitive' "
            "nor 'drop'.",
            argument=("model", "use_sensitive", "drop"),
        )
    given = {"positive": positive, "classes": dict(classes or {}), "missing": missing}
    table = Rows.of(as_pandas(frame), _roles(roles, sensitive, outcome, **given), old)
    parts = table.parts(split, seed, choosing=rule.looks)
    features, encoder, notes = _features(
        table, parts["train"], method=how, old=old, drop=drop, use_sensitive=use_sensitive
    )
    hears = bool(getattr(progress, "on", False))
    training = Training(
        objective=objective,
        loss=training_loss,
        predictor=predictor,
        steps=steps,
        seed=seed,
        progress=hears,
    )
    rows = table.frame.iloc[parts["train"]][features]
    checkpoint = None
    if resume is not None:
        checkpoint = Checkpoint(
            resume,
            _identity(
                frame,
                table,
                old=old,
                plan=plan,
                training=training,
                asked={
                    "method": described(how),
                    "values": values,
                    "mu": mu,
                    "kpc": kpc,
                    "loss": loss,
                    "split": list(split),
                    "drop": list(drop),
                    "use_sensitive": use_sensitive,
                },
            ),
        )
    path = train_path(
        how,
        values,
        X=rows if encoder is None else encoder.fit_transform(rows),
        y=table.target_of(old if how.corrects else None)[parts["train"]],
        attributes=[c.take(parts["train"]) for c in table.attributes],
        training=training,
        classes=table.outcome.kind.is_categorical,
        old=None if not how.corrects or old is None else old.model,
        checkpoint=checkpoint,
    )
    path.models[:] = [_pipeline(encoder, one) for one in path.models]
    if rule.value is not None and rule.value not in path.values:
        raise KeyboardInterrupt  # stopped before its turn
    # what is said about the classes of the old model does not hold for those trained here
    trained = table if how.corrects else table.without_classes()
    curve, mixture = curve_of(
        trained, parts, path=path, features=features, plan=plan, clear=rule.clear, progress=progress
    )
    choice = rule.choose(curve)
    chosen, value = path.models[choice.place], path.values[choice.place]
    saved, content = _as_file(chosen, out)

    def audit(predictor: Predictor, name: str, like: Audited | None = None) -> Audited:
        # what the audit after the repair could have found is a part of its answer
        stated = replace(plan, power=like is not None)
        return (table if predictor is old else trained).audit(
            parts,
            predictor,
            stated,
            data,
            command,
            _Part(progress, name),
            name,
            checkpoint,
            None if like is None else like.result,
        )

    try:
        if path.interrupted:
            raise KeyboardInterrupt
        before = audit(old or _predictor(path.models[0]), "before")
        after = audit(
            replace(_predictor(chosen), source=saved.path, sha256=saved.sha256), "after", before
        )
    except KeyboardInterrupt:
        usable = choice.fates is None and curve["collapsed"].isna()[choice.place]
        if out is not None and (usable or force):
            write_bytes(out, content)
        raise RepairInterrupted(chosen, value, saved.path if usable or force else None) from None
    collapsed = collapse(after.table, before.table)
    power = power_to_see(before, after, plan)
    judgement = judged(choice, before.result, after.result, collapsed, power)
    no_repair = judgement.outcome in (Outcome.COLLAPSED, Outcome.NOT_FOUND) or (
        judgement.outcome is Outcome.NOT_REPAIRED and rule.automatic
    )
    refused = out is not None and no_repair and not force
    if refused:
        saved = replace(saved, path=None)
    elif out is not None:
        write_bytes(out, content)
    if checkpoint is not None:
        checkpoint.remove()
    result = RemedyResult(
        outcome=judgement.outcome,
        headline=judgement.headline,
        verdict=judgement.verdict,
        method=how.name,
        parameter=how.parameter,
        mu=value,
        because=choice.because,
        model=chosen,
        before=before.result,
        after=_without_file(after).result if refused else after.result,
        collapsed=collapsed,
        power=power,
        loss=(before.loss, after.loss),
        loss_name="misclassified" if table.outcome.kind.is_categorical else "mean squared error",
        curve=curve.assign(chosen=[k == choice.place for k in range(len(curve))]),
        mixture=mixture,
        rows={name: len(rows) for name, rows in parts.items()},
        split=tuple(float(share) for share in split),
        seed=seed,
        features=tuple(features),
        notes=(),
        advice=advice_for(judgement.outcome, mixture, rule.clear, use_sensitive=use_sensitive),
        old=None if old is None else old.source or old.kind,
        saved=saved,
        refused=refused,
        command=command,
    )
    said = path.said[choice.place]
    return replace(result, notes=(*notes_on(result), *notes, *([said] if said else [])))


def _values(method: Method, mus: Sequence[float] | None, value: float | None) -> list[float]:
    """Plain training first, then the rest in order of growing strength."""
    plain, *rest = method.grid
    asked = {float(x) for x in (rest if mus is None else mus)}
    asked |= set() if value is None else {value}
    for one in asked:
        method.check(one)
    return [plain, *sorted(asked - {plain}, reverse=rest[0] > rest[-1])]


def _old(model: Any, method: Method) -> Predictor:
    from fairaudit.models import predictor_of

    old = predictor_of(model)
    if method.corrects and (old.features is None or not hasattr(old.model, "fit")):
        raise InputError(
            "The method postprocess needs a fitted scikit-learn model that knows the names of its "
            "features. Use another method, which trains a model of its own."
        )
    return old


def _roles(roles: Roles | None, sensitive: Any, outcome: str | None, **others: Any) -> Roles:
    if roles is not None:
        return roles
    names = column_names(sensitive or ())
    if not names:
        raise InputError("No sensitive attribute. Pass sensitive=…, names of columns.")
    return Roles(sensitive=names, outcome=outcome, **others)


class _Part:
    """Progress of one audit of two."""

    def __init__(self, progress: Progress | None, name: str) -> None:
        self.progress, self.name = progress, name

    def __call__(self, what: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(f"audit {self.name}: {what}", done, total)


def _features(
    table: Rows,
    train: Index,
    method: Method,
    old: Predictor | None,
    drop: Sequence[str],
    use_sensitive: bool,
) -> tuple[list[str], Any, tuple[str, ...]]:
    """The feature columns, their transformer (None: the old model's own), and notes."""
    from fairaudit.remedy.encoding import feature_columns, transformer_for

    frame = table.frame
    sensitive = [column.name for column in table.attributes]
    ids = [] if table.roles.ids is None else [table.roles.ids]
    if method.corrects and old is not None:
        features = old.columns(
            list(frame.columns), outcome=table.outcome.name, sensitive=sensitive, other=ids
        )
        numbers = frame[features].select_dtypes("number")
        gaps = [name for name in numbers if numbers[name].isna().any()]
        if gaps:
            raise InputError(
                f"The method postprocess needs numbers without gaps; {gaps[0]!r} has some. Fill "
                "them, or use another method."
            )
        return features, None, ()
    for name in drop:
        require_column(name, list(frame.columns))
        if name in sensitive or name in (table.outcome.name, *ids):
            raise InputError(f"Column {name!r} has a role and cannot be dropped.")
    without = [table.outcome.name, *ids, *drop, *([] if use_sensitive else sensitive)]
    features = feature_columns(frame, without)
    encoder, notes = transformer_for(frame[features].iloc[train])
    return features, encoder, notes


def _pipeline(encoder: Any, model: Any) -> Any:
    """Fitted parts as one fitted pipeline."""
    if encoder is None:
        return model
    from sklearn.pipeline import Pipeline

    return Pipeline([("features", encoder), ("model", model)])


def _identity(
    frame: Any, table: Rows, old: Predictor | None, plan: Plan, training: Any, asked: Any
) -> str:
    """Everything that decides the numbers of a repair."""
    from importlib.metadata import version

    import pandas as pd

    rows = pd.util.hash_pandas_object(as_pandas(frame), index=False).to_numpy()
    return identity_of(
        {
            "version": version("fairaudit-icp"),
            "rows": rows.tobytes().hex(),
            "columns": list(map(str, table.frame.columns)),
            "roles": asdict(table.roles),
            "old": None if old is None else [old.sha256, old.kind],
            "training": asdict(training),
            "alpha": plan.alpha,
            "copies": [plan.permutations.n, plan.permutations.seed],
            **asked,
        }
    )


def _predictor(model: Any) -> Predictor:
    from fairaudit.models import predictor_of

    return predictor_of(model)


def _as_file(model: Any, out: str | Path | None) -> tuple[Source, bytes]:
    """The model as a pickle: its source, and the bytes."""
    import hashlib
    import pickle

    content = pickle.dumps(model)
    path = None if out is None else str(out)
    return Source(path, _predictor(model).kind, hashlib.sha256(content).hexdigest()), content


def _without_file(audited: Audited) -> Audited:
    """The record of an audit whose model was not written."""
    result = audited.result
    source = result.capsule.model
    if source is None:
        return audited
    capsule = replace(result.capsule, model=replace(source, path=None))
    return replace(audited, result=replace(result, capsule=capsule))
