"""What a remedy comes to: the model, the evidence, and what may be said about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, ClassVar

import pandas as pd

from fairaudit.auditing.audit_result import AuditResult
from fairaudit.auditing.findings import Verdict
from fairaudit.data.facts import Source
from fairaudit.evidence.power.power_result import CarriedPower
from fairaudit.remedy.forgone import Forgone
from fairaudit.remedy.limit import Limit
from fairaudit.remedy.price import Quality
from fairaudit.results import Result

__all__ = ["Outcome", "RemedyResult", "measured"]


class Outcome(str, Enum):
    """What came of a remedy."""

    REPAIRED = "repaired"
    """There was a violation, none is found now, and it would have been seen."""
    NOT_REPAIRED = "not repaired"
    """The new model violates equalized odds on the audited rows."""
    NOT_FOUND = "no repair found"
    """No trained model is worth having: plain training is left."""
    COLLAPSED = "collapsed"
    """The new model gives nearly one answer, or its ranking is lost."""
    INCONCLUSIVE = "inconclusive"
    """No violation is found, but the audit could not have seen the old one, or cannot say."""

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedyResult(Result):
    """A new model and the evidence about it.

    Attributes
    ----------
    outcome : Outcome
    headline : str
        The outcome in a sentence for people.
    verdict : Verdict
        What the outcome means for a gate: no violation found (repaired), violation, or
        inconclusive.
    method : str
    parameter : str
        Of the trade-off; ``"mu"`` unless the method has its own.
    mu : float
        Its chosen value.
    strength : float
        Of the randomized last stage; 0 is none.
    attributes_at_prediction : bool
        Whether the model must know the sensitive attributes to predict.
    goal : str
        What was wanted; empty where a certain value was.
    chance : float or None
        That the model passes the default audit of `coming_rows` new rows, as predicted on the rows
        for choosing.
    coming_rows : int or None
    because : str
        Why this value.
    model, plain : fitted pipelines
        From the raw columns to the prediction; plain training is that without regard to the
        attributes.
    before, after : AuditResult
        On the same rows, which were used for nothing else.
    collapsed : str or None
        Why the new model is no model any more, on the audited rows; None: it is one.
    power : CarriedPower or None
        Could the audit after the repair have seen the violation that was there before? None: the
        audit itself gave no answer.
    loss : tuple of float or None
        Before and after, on these rows. None for scores that are no probabilities.
    loss_name : str
        ``"misclassified"`` (a share) or ``"mean squared error"``.
    quality : tuple of Quality
        Ranking, Brier score and calibration error before and after, on these rows.
    curve : DataFrame
        Every model on the rows for choosing (the audited ones where nothing was chosen): ``mu``,
        ``loss``, ``kpc`` and its standard error ``kpc_error``, ``deo``, ``p_value``, ``collapsed``
        (why, or None), ``dominated`` by the trivial mixture, ``chosen``; ``ranking``, ``brier``
        and ``calibration_error``, ``chance`` to pass the coming audit; ``p_train`` is the test on
        the training rows. Of a search also ``method``, ``strength`` and ``attributes`` (needed to
        predict).
    mixture : DataFrame
        The trivial alternative on these rows: plain training, mixed at random with a constant.
    forgone : tuple of Forgone
        What was not allowed, and what it would have brought.
    limit : Limit or None
        What no answer that is derived from the scores can do, where a search found nothing.
    rows : dict
        Rows in ``"train"``, ``"choice"`` and ``"audit"``.
    split : tuple of float
    seed : int
    features : tuple of str
    notes : tuple of str
    advice : tuple of str
        What would help, where there is no repair.
    old : str or None
        The model that was repaired; None where plain training stands for it.
    saved : Source
        The model as a pickle; without a path where it was not written.
    refused : bool
        A file was asked for and not written, because the model is no repair.
    command : str or None
    """

    outcome: Outcome
    headline: str
    verdict: Verdict
    method: str
    parameter: str
    mu: float
    because: str
    collapsed: str | None
    power: CarriedPower | None
    loss_name: str
    loss: tuple[float | None, float | None]
    rows: dict[str, int]
    split: tuple[float, ...]
    seed: int
    features: tuple[str, ...]
    notes: tuple[str, ...]
    advice: tuple[str, ...]
    old: str | None
    refused: bool
    saved: Source = field(metadata={"key": "model"})
    curve: pd.DataFrame = field(repr=False)
    mixture: pd.DataFrame = field(repr=False)
    command: str | None = None
    strength: float = 0.0
    attributes_at_prediction: bool = False
    goal: str = ""
    chance: float | None = None
    coming_rows: int | None = None
    quality: tuple[Quality, Quality] = (Quality(), Quality())
    forgone: tuple[Forgone, ...] = ()
    limit: Limit | None = None
    before: AuditResult = field(repr=False)
    after: AuditResult = field(repr=False)
    model: Any = field(default=None, repr=False, metadata={"key": None})
    plain: Any = field(default=None, repr=False, metadata={"key": None})

    schema: ClassVar[str] = "fairaudit/remedy/1"
    plural: ClassVar[str] = "remedies"

    @property
    def symbol(self) -> str:
        """The trade-off parameter for people: μ, λ, γ."""
        from fairaudit.remedy.methods import METHODS

        known = self.method in METHODS.names()  # a package that added it may be gone
        return (known and METHODS.get(self.method).symbol) or self.parameter

    def to_frame(self) -> pd.DataFrame:
        """Measure, before, after."""
        before, after = (
            {
                "verdict": str(result.verdict),
                "p_value": result.p_value,
                "kpc": result.joint.kpc,
                "deo": measured(result, "deo"),
                "prediction_gap": measured(result, "prediction_gap"),
                "loss": loss,
            }
            for result, loss in zip((self.before, self.after), self.loss, strict=True)
        )
        return pd.DataFrame({"before": before, "after": after})

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; the model itself is no part of them."""
        record = Result.to_dict(self)
        return record | {"loss": dict(zip(("before", "after"), record["loss"], strict=True))}

    @classmethod
    def fields_of(cls, record: Mapping[str, Any]) -> Mapping[str, Any]:
        """With the losses as a pair, and of a record of 0.1 with a judgment."""
        loss = record.get("loss")
        if isinstance(loss, Mapping):
            record = {**record, "loss": [loss.get("before"), loss.get("after")]}
        return record if "outcome" in record else _judged_today(record)

    def suppressed(self, fewest: int) -> RemedyResult:
        """The same with groups of fewer than `fewest` people masked, and all sizes rounded."""
        from fairaudit.evidence.disclosure import coarse, coarse_loss, step_of

        before, after = self.before.suppressed(fewest), self.after.suppressed(fewest)
        masked = replace(self, before=before, after=after)
        if not before.masked and not after.masked:
            return masked
        step = step_of(fewest, min(self.rows["choice"] or after.table.people, after.table.people))

        def rounded(frame: pd.DataFrame) -> pd.DataFrame:
            sizes = {
                name: frame[name].map(lambda value: coarse(value, step))
                for name in ("kpc", "deo", "ranking", "brier", "calibration_error")
                if name in frame
            }
            if "kpc_error" in frame:
                errors = frame["kpc_error"].map(lambda value: coarse(value, step, up=True))
                sizes["kpc_error"] = errors
            if "chance" in frame:
                sizes["chance"] = frame["chance"].map(lambda value: coarse(value, 0.01))
            if "prediction_gap" in frame:
                unit = 0.0 if after.gaps is None else after.gaps.unit
                sizes["prediction_gap"] = frame["prediction_gap"].map(
                    lambda value: coarse(value, step * unit) if unit else value
                )
            losses = frame["loss"].map(lambda value: coarse_loss(value, step))
            return frame.assign(loss=losses, **sizes)

        loss = (coarse_loss(self.loss[0], step), coarse_loss(self.loss[1], step))

        def of_rows(quality: Quality) -> Quality:
            return Quality(
                ranking=coarse(quality.ranking, step),
                brier=coarse(quality.brier, step),
                calibration_error=coarse(quality.calibration_error, step),
            )

        forgone = (replace(offer, loss=coarse_loss(offer.loss, step)) for offer in self.forgone)

        power = self.power and replace(
            self.power,
            kpc=coarse(self.power.kpc, step),
            power=coarse(self.power.power, 0.01) or 0.0,
        )
        note = f"Some groups are masked: sizes and losses are rounded to steps of {step:g}."
        return replace(
            masked,
            notes=tuple(dict.fromkeys((*self.notes, note))),
            loss=loss,
            quality=(of_rows(self.quality[0]), of_rows(self.quality[1])),
            forgone=tuple(forgone),
            limit=self.limit and self.limit.rounded(step),
            power=power,
            chance=coarse(self.chance, 0.01),
            curve=rounded(self.curve),
            mixture=rounded(self.mixture),
        )


def _judged_today(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """A record of 0.1, which audited a remedy and did not judge it."""
    after, models = record.get("after"), record.get("curve")
    audited = after.get("verdict") if isinstance(after, Mapping) else None
    if audited == Verdict.VIOLATION.value:
        outcome, headline = Outcome.NOT_REPAIRED, "Not repaired: the new model still violates."
    else:
        outcome = Outcome.INCONCLUSIVE
        headline = (
            "Inconclusive: no violation is found, and version 0.1 did not ask whether the audit "
            "would have seen the old one."
        )
    verdict = Verdict.VIOLATION if outcome is Outcome.NOT_REPAIRED else Verdict.INCONCLUSIVE
    judgment = {"outcome": outcome.value, "headline": headline, "verdict": verdict.value}
    unknown: dict[str, Any] = {"collapsed": None, "power": None, "advice": [], "refused": False}
    if isinstance(models, list) and all(isinstance(model, Mapping) for model in models):
        collapsed = {True: "one answer for everybody", False: None}
        unknown["curve"] = [
            {**model, "collapsed": collapsed[bool(model.get("constant"))], "dominated": False}
            for model in models
        ]
    return {**record, **unknown, **judgment}


def measured(result: AuditResult, key: str) -> float | None:
    """The first measure of this name."""
    return next((measure.value for measure in result.measures if measure.key == key), None)
