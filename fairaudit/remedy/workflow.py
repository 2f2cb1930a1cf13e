"""From a table to a repaired model: train a curve, choose, and audit before and after.

Every row has one task: to train, to choose, or to audit. What is said about the result comes from
rows that neither training nor the choice has seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit.checkpoint import Checkpoint, identity_of
from fairaudit.columns import Column
from fairaudit.errors import InputError
from fairaudit.kernels import Array, Index
from fairaudit.preparation import Roles
from fairaudit.remedy.rows import Rows, as_pandas
from fairaudit.result import AuditResult, Source, _plain
from fairaudit.testing.permutations import Permutations

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.auditing import Plan
    from fairaudit.findings import Progress
    from fairaudit.models import Predictor
    from fairaudit.remedy.methods import Method
    from fairaudit.remedy.methods import Path as TrainedPath

__all__ = ["RemedyResult", "RepairInterrupted", "measured", "rendered", "repair", "report_format"]

#: Name and version of the JSON form.
SCHEMA = "fairaudit/remedy/1"
SPLIT = (0.5, 0.2, 0.3)
_COPIES = 199  # on the rows for choosing
_CLEAR = 0.25  # barely passing on few rows is no promise for the audited ones


class RepairInterrupted(KeyboardInterrupt):
    """Ctrl-C after training had begun; `model` is the best so far and has not been audited."""

    def __init__(self, model: Any, mu: float, out: str | None) -> None:
        super().__init__("interrupted")
        self.model, self.mu, self.out = model, mu, out


@dataclass(frozen=True, slots=True)
class RemedyResult:
    """A repaired model and the evidence about it.

    Attributes
    ----------
    method : str
    parameter : str
        Of the trade-off; ``"mu"`` unless the method has its own.
    mu : float
        Its chosen value.
    because : str
        Why this value.
    model : fitted pipeline
        From the raw feature columns to the prediction.
    before, after : AuditResult
        On the same rows, which were used for nothing else.
    loss : tuple of float or None
        Before and after, on these rows. None for scores that are no probabilities.
    loss_name : str
        ``"misclassified"`` (a share) or ``"mean squared error"``.
    curve : DataFrame
        Every model on the rows for choosing: ``mu``, ``loss``, ``kpc``, ``deo``, ``p_value``,
        ``chosen``; ``p_train`` is the test on the training rows.
    mixture : DataFrame
        The trivial alternative on these rows: plain training, mixed at random with a constant.
    rows : dict
        Rows in ``"train"``, ``"choice"`` and ``"audit"``.
    split : tuple of float
    seed : int
    features : tuple of str
    notes : tuple of str
    old : str or None
        The model that was repaired; None where plain training stands for it.
    saved : Source
        The model as a pickle.
    command : str or None
    """

    method: str
    parameter: str
    mu: float
    because: str
    model: Any = field(repr=False)
    before: AuditResult = field(repr=False)
    after: AuditResult = field(repr=False)
    loss: tuple[float | None, float | None]
    loss_name: str
    curve: pd.DataFrame = field(repr=False)
    mixture: pd.DataFrame = field(repr=False)
    rows: dict[str, int]
    split: tuple[float, ...]
    seed: int
    features: tuple[str, ...]
    notes: tuple[str, ...]
    old: str | None
    saved: Source
    command: str | None = None

    @property
    def symbol(self) -> str:
        """The trade-off parameter for people: μ, λ, γ."""
        from fairaudit.remedy.methods import method_named

        return method_named(self.method).symbol

    def summary(self) -> str:
        """Both verdicts and the numbers behind them, as plain text."""
        return rendered(self, "txt")

    def to_frame(self) -> pd.DataFrame:
        """Measure, before, after."""
        import pandas as pd

        before, after = (
            {
                "verdict": str(result.verdict), "p_value": result.p_value,
                "kpc": result.joint.kpc, "deo": measured(result, "deo"), "loss": loss,
            }
            for result, loss in zip((self.before, self.after), self.loss, strict=True)
        )  # fmt: skip
        return pd.DataFrame({"before": before, "after": after})

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        found = {
            "schema": SCHEMA, "method": self.method, "parameter": self.parameter, "mu": self.mu,
            "because": self.because, "loss_name": self.loss_name,
            "loss": {"before": self.loss[0], "after": self.loss[1]},
            "rows": self.rows, "split": self.split, "seed": self.seed,
            "features": self.features, "notes": self.notes, "old": self.old,
            "model": {"path": self.saved.path, "kind": self.saved.kind,
                      "sha256": self.saved.sha256},
            "curve": self.curve.to_dict("records"), "mixture": self.mixture.to_dict("records"),
            "command": self.command,
        }  # fmt: skip
        return {**_plain(found), "before": self.before.to_dict(), "after": self.after.to_dict()}

    def suppressed(self, fewest: int) -> RemedyResult:
        """The same with groups of fewer than `fewest` people masked, and all sizes rounded."""
        from fairaudit.suppression import coarse, coarse_loss, step_of

        before, after = self.before.suppressed(fewest), self.after.suppressed(fewest)
        shown = replace(self, before=before, after=after)
        if not before.masked and not after.masked:
            return shown
        step = step_of(fewest, min(self.rows["choice"], after.table.people))

        def rounded(frame: pd.DataFrame) -> pd.DataFrame:
            sizes = {name: frame[name].map(lambda value: coarse(value, step))
                     for name in ("kpc", "deo") if name in frame}  # fmt: skip
            losses = frame["loss"].map(lambda value: coarse_loss(value, step))
            return frame.assign(loss=losses, **sizes)

        loss = (coarse_loss(self.loss[0], step), coarse_loss(self.loss[1], step))
        return replace(shown, loss=loss, curve=rounded(self.curve), mixture=rounded(self.mixture))

    def save(self, path: str | Path, *, suppress: int = 10) -> Path:
        """Write a report: .html, .json or .txt. Cells of fewer than `suppress` are masked."""
        from fairaudit.files import write_text

        target = Path(path)
        write_text(target, rendered(self.suppressed(suppress), report_format(target)))
        return target


def report_format(path: str | Path) -> str:
    """The format that the name of a report asks for."""
    form = Path(path).suffix.lower().lstrip(".")
    if form not in ("html", "json", "txt"):
        raise InputError(
            f"A remedy has no report format {form or '(none)'!r}. Use one of: html, json, txt."
        )
    return form


def rendered(result: RemedyResult, form: str) -> str:
    if form == "json":
        import json

        return json.dumps(result.to_dict(), indent=2, ensure_ascii=False) + "\n"
    from importlib.metadata import entry_points

    (renderer,) = entry_points(group="fairaudit.remedy_reports", name=form)
    return str(renderer.load()(result))


def measured(result: AuditResult, key: str) -> float | None:
    """The first measure of this name."""
    return next((one.value for one in result.measures if one.key == key), None)


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
    method: str = "fairicp",
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
    method : str
        ``"fairicp"``, ``"faircp"``, ``"fdl"``, ``"hgr"``, ``"gerryfair"``, ``"reduction"``, or
        ``"postprocess"``, which corrects `model`.
    mu : float or "auto"
        Value of the method's trade-off parameter. ``"auto"``: the smallest loss among models whose
        test has p > 0.25 on the rows for choosing, otherwise the smallest KPC.
    kpc, loss : float, optional
        Choose by a bound instead: the smallest loss up to this KPC, or the reverse.
    mus : sequence of float, optional
        Values to train.
    split : three shares
        Rows for training, choosing and auditing.
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
        Where the model goes, as a pickle; after Ctrl-C the best one so far.
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
    from fairaudit.auditing import Plan
    from fairaudit.files import check_writable, write_bytes
    from fairaudit.remedy.methods import Training, method_named, train_path

    if out is not None:
        check_writable(out)
    drawn = Permutations(n=permutations) if isinstance(permutations, int) else permutations
    plan = Plan(alpha=alpha, permutations=replace(drawn, seed=seed), power=False, with_r=False)
    how = method_named(method)
    rule = _Rule.of(mu, kpc, loss, alpha, how)
    values = _values(how, mus, rule.value)
    old = None if model is None else _old(model, how)
    if how.name == "postprocess" and (old is None or use_sensitive or drop):
        raise InputError(
            "The method postprocess corrects a model: pass --model, and neither --use-sensitive "
            "nor --drop."
        )
    named = _roles(roles, sensitive, outcome, positive=positive, classes=dict(classes or {}),
                   missing=missing)  # fmt: skip
    table = Rows.of(as_pandas(frame), named, old)
    parts = table.parts(split, seed)
    features, encoder, notes = _features(table, parts["train"], how, old, drop, use_sensitive)
    hears = bool(getattr(progress, "on", False))
    training = Training(objective, training_loss, predictor, steps, seed, hears)
    rows = table.frame.iloc[parts["train"]][features]
    checkpoint = None
    if resume is not None:
        checkpoint = Checkpoint(resume, _identity(frame, table, old, plan, training, {
            "method": how.name, "values": values, "mu": mu, "kpc": kpc, "loss": loss,
            "split": list(split), "drop": list(drop), "use_sensitive": use_sensitive,
        }))  # fmt: skip
    path = train_path(
        how, values, rows if encoder is None else encoder.fit_transform(rows),
        table.target_of(old if how.name == "postprocess" else None)[parts["train"]],
        [c.take(parts["train"]) for c in table.attributes],
        training, classes=table.outcome.kind.is_categorical,
        old=None if how.name != "postprocess" or old is None else old.model,
        checkpoint=checkpoint,
    )  # fmt: skip
    path.models[:] = [_pipeline(encoder, one) for one in path.models]
    if rule.value is not None and rule.value not in path.values:
        raise KeyboardInterrupt  # stopped before its turn
    # what is said about the classes of the old model does not hold for those trained here
    trained = table if how.name == "postprocess" else table.without_classes()
    curve, mixture = _curve(trained, parts, path, features, plan, seed, progress)
    place, because = rule.choose(curve, path.models)
    chosen, value = path.models[place], path.values[place]
    saved, content = _as_file(chosen, out)
    try:
        if path.interrupted:
            raise KeyboardInterrupt
        before = old or _predictor(path.models[0])
        after = replace(_predictor(chosen), source=saved.path, sha256=saved.sha256)
        audits = [
            (table if one is old else trained).audit(
                parts, one, plan, data, command, _Part(progress, told), told, checkpoint
            )
            for one, told in ((before, "before"), (after, "after"))
        ]
    except KeyboardInterrupt:
        if out is not None:
            write_bytes(out, content)
        raise RepairInterrupted(chosen, value, saved.path) from None
    result = RemedyResult(
        how.name, how.parameter, value, because, chosen, audits[0][0], audits[1][0],
        (audits[0][1], audits[1][1]),
        "misclassified" if table.outcome.kind.is_categorical else "mean squared error",
        curve.assign(chosen=[k == place for k in range(len(curve))]), mixture,
        {name: len(rows) for name, rows in parts.items()}, tuple(float(x) for x in split), seed,
        tuple(features), (), None if old is None else old.source or old.kind, saved, command,
    )  # fmt: skip
    if out is not None:
        write_bytes(out, content)
    if checkpoint is not None:
        checkpoint.remove()
    said = path.said[place]
    return replace(result, notes=(*_notes(result), *notes, *([said] if said else [])))


# ---------------------------------------------------------------- what was asked for


@dataclass(frozen=True, slots=True)
class _Rule:
    """How a model of the curve is chosen."""

    value: float | None
    kpc: float | None
    loss: float | None
    alpha: float

    @classmethod
    def of(
        cls, mu: float | str, kpc: float | None, loss: float | None, alpha: float, method: Method
    ) -> _Rule:
        if sum([mu != "auto", kpc is not None, loss is not None]) > 1:
            raise InputError("Choose by one of --mu, --kpc and --loss, and leave the others out.")
        value = None
        if mu != "auto":
            try:
                value = float(mu)
            except ValueError:
                raise InputError(f"The 'mu' must be a number or auto. Got {mu!r}.") from None
            method.check(value)
        return cls(value, kpc, loss, alpha)

    def choose(self, curve: pd.DataFrame, models: list[Any]) -> tuple[int, str]:
        """The place of the model on the curve, and why this one."""
        if self.value is not None:
            return int(np.argmin(np.abs(curve["mu"] - self.value))), "as asked for"
        if self.kpc is not None or self.loss is not None:
            from fairaudit.remedy.tradeoff import TradeOff

            found = TradeOff(curve.assign(split="choice"), models, curve)
            best = found.best(kpc=self.kpc, loss=self.loss)
            place = next(k for k, one in enumerate(models) if one is best)
            return place, (
                f"the smallest loss among models with KPC ≤ {self.kpc:g} on the rows for choosing"
                if self.kpc is not None
                else f"the smallest KPC among models with loss ≤ {self.loss:g} on the rows for "
                "choosing"
            )
        usable = curve[~curve["constant"]]
        if usable.empty:
            raise InputError(
                "Every model predicts the same for all rows. Check the features, or train longer "
                "(--steps)."
            )
        clear = max(_CLEAR, self.alpha)
        passed = usable[~(usable["p_value"] <= clear) & ~(usable["p_train"] <= self.alpha)]
        where = f"p > {clear:g} on the rows for choosing and > {self.alpha:g} on the training rows"
        if passed.empty:
            return int(usable["kpc"].idxmin()), (
                f"the smallest KPC on the rows for choosing; no model's test has {where}"
            )
        return int(passed["loss"].idxmin()), (
            f"the smallest loss among the {len(passed)} of {len(curve)} models whose test has "
            f"{where}"
        )


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
    if method.name == "postprocess" and (old.features is None or not hasattr(old.model, "fit")):
        raise InputError(
            "The method postprocess needs a fitted scikit-learn model that knows the names of its "
            "features. Use another method, which trains a model of its own."
        )
    return old


def _roles(roles: Roles | None, sensitive: Any, outcome: str | None, **others: Any) -> Roles:
    if roles is not None:
        return roles
    names = sensitive.split(",") if isinstance(sensitive, str) else list(sensitive or ())
    if not names:
        raise InputError("No sensitive attribute. Pass sensitive=…, names of columns.")
    return Roles(tuple(name.strip() for name in names if name.strip()), outcome, **others)


class _Part:
    """Progress of one audit of two."""

    def __init__(self, progress: Progress | None, name: str) -> None:
        self.progress, self.name = progress, name

    def __call__(self, what: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(f"audit {self.name}: {what}", done, total)


def _features(
    table: Rows, train: Index, method: Method, old: Predictor | None, drop: Sequence[str],
    use_sensitive: bool,
) -> tuple[list[str], Any, tuple[str, ...]]:  # fmt: skip
    """The feature columns, their transformer (None: the old model's own), and notes."""
    from fairaudit.preparation import require_column
    from fairaudit.remedy.encoding import feature_columns, transformer_for

    frame = table.frame
    sensitive = [column.name for column in table.attributes]
    ids = [] if table.roles.ids is None else [table.roles.ids]
    if method.name == "postprocess" and old is not None:
        features = old.columns(list(frame.columns), outcome=table.outcome.name,
                               sensitive=sensitive, other=ids)  # fmt: skip
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


# ---------------------------------------------------------------- the curve


def _pipeline(encoder: Any, model: Any) -> Any:
    """Fitted parts as one fitted pipeline."""
    if encoder is None:
        return model
    from sklearn.pipeline import Pipeline

    return Pipeline([("features", encoder), ("model", model)])


def _curve(
    table: Rows, parts: Mapping[str, Index], path: TrainedPath, features: list[str], plan: Plan,
    seed: int, progress: Progress | None,
) -> tuple[pd.DataFrame, pd.DataFrame]:  # fmt: skip
    """Every model and the trivial mixture on the rows for choosing.

    ``p_train`` is the test on the training rows: training flatters it, so that a model which
    fails even there is not fair.
    """
    import pandas as pd

    from fairaudit.remedy.tradeoff import evaluate, mixture, scores_of

    hear = progress or (lambda what, done, total: None)
    total = len(path.models)

    def seen(name: str) -> tuple[list[Array], Column, list[Column], Column | None]:
        rows = parts[name]
        X = table.frame.iloc[rows][features]
        return (
            [table.of_larger_level(scores_of(model, X), model) for model in path.models],
            table.outcome.take(rows),
            [c.take(rows) for c in table.attributes],
            None if table.ids is None else table.ids.take(rows),
        )  # fmt: skip

    scores, outcome, attributes, _ = seen("choice")
    found = []
    for number, (value, one) in enumerate(zip(path.values, scores, strict=True)):
        hear("curve", number, total + 1)
        constant = bool((one == one[0]).all())
        found.append({"mu": value, **evaluate(one, outcome, attributes), "constant": constant})
    curve = pd.DataFrame(found)
    hear("curve", total, total + 1)
    for name, column in (("choice", "p_value"), ("train", "p_train")):
        curve[column] = _p_values(*seen(name), plan)
    return curve, mixture(scores[0], outcome, attributes, seed)


def _p_values(
    scores: list[Array], outcome: Column, attributes: list[Column], ids: Column | None, plan: Plan
) -> list[float]:
    """Of every model, by the same copies; 1 for a constant."""
    from fairaudit.permute.icp import ICP
    from fairaudit.table import AuditTable
    from fairaudit.testing.core import Question, run_tests
    from fairaudit.testing.statistic import statistic_named

    drawn = Permutations(n=max(_COPIES, int(10 / plan.alpha)), seed=plan.permutations.seed)
    varied = [k for k, one in enumerate(scores) if not (one == one[0]).all()]
    p = [1.0] * len(scores)
    if not varied:
        return p
    tables = [AuditTable.of(scores[k], attributes, outcome, ids=ids) for k in varied]
    fitted = ICP(plan.density, plan.folds).prepare(
        outcome, tables[0].attributes, steps=drawn.steps, seed=drawn.seed,
        units=None if ids is None else ids.codes,
    )  # fmt: skip
    asked = [Question(table) for table in tables]
    found = run_tests(asked, fitted, statistic_named(plan.statistic), drawn)
    for k, result in zip(varied, found, strict=True):
        p[k] = result.p_value
    return p


def _identity(
    frame: Any, table: Rows, old: Predictor | None, plan: Plan, training: Any, asked: Any
) -> str:
    """Everything that decides the numbers of a repair."""
    from importlib.metadata import version

    import pandas as pd

    rows = pd.util.hash_pandas_object(as_pandas(frame), index=False).to_numpy()
    return identity_of({
        "version": version("fairaudit-icp"), "rows": rows.tobytes().hex(),
        "columns": list(map(str, table.frame.columns)), "roles": asdict(table.roles),
        "old": None if old is None else [old.sha256, old.kind], "training": asdict(training),
        "alpha": plan.alpha, "copies": [plan.permutations.n, plan.permutations.seed], **asked,
    })  # fmt: skip


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


def _notes(result: RemedyResult) -> list[str]:
    from fairaudit.result import Verdict

    notes = []
    if result.old is not None:
        notes.append(
            "If the old model was trained on rows of this table, its loss before the repair is too "
            "small: it has seen some of the audited rows."
        )
    if result.curve["chosen"].iloc[0]:
        notes.append("The chosen model is plain training: nothing was done towards equalized odds.")
    if result.before.verdict is Verdict.NO_VIOLATION:
        notes.append(
            "Before the repair the audit found no violation either: on these rows there is no "
            "evidence that a repair was needed."
        )
    if result.after.verdict is Verdict.VIOLATION and result.after.p_value is not None:
        notes.append(
            "The repaired model still violates equalized odds on the audited rows. Try more rows, "
            "values closer to the fair end (--mus), or another method. Do not choose by this audit."
        )
    chosen = result.curve[result.curve["chosen"]].iloc[0]
    as_fair = result.mixture[result.mixture["kpc"] <= chosen["kpc"]]
    if not as_fair.empty and (trivial := float(as_fair["loss"].min())) < chosen["loss"]:
        notes.append(
            "On the rows for choosing, plain training mixed at random with a constant reaches this "
            f"KPC at a loss of {trivial:.3g}; the chosen model has {chosen['loss']:.3g}. This "
            "repair is not worth its price there."
        )
    return notes
