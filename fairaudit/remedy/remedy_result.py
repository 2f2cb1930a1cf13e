"""What a remedy comes to: the model, the evidence, and what may be said about it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairaudit.auditing.audit_result import AuditResult, Verdict
from fairaudit.data.facts import Source
from fairaudit.errors import InputError
from fairaudit.evidence.power.power_result import CarriedPower
from fairaudit.results import _plain

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Outcome", "RemedyResult", "measured", "rendered", "report_format"]

#: Name and version of the JSON form.
SCHEMA = "fairaudit/remedy/1"


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
class RemedyResult:
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
    because : str
        Why this value.
    model : fitted pipeline
        From the raw feature columns to the prediction.
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
    curve : DataFrame
        Every model on the rows for choosing (the audited ones where nothing was chosen): ``mu``,
        ``loss``, ``kpc``, ``deo``, ``p_value``, ``collapsed`` (why, or None), ``dominated`` by
        the trivial mixture, ``chosen``; ``p_train`` is the test on the training rows.
    mixture : DataFrame
        The trivial alternative on these rows: plain training, mixed at random with a constant.
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
    model: Any = field(repr=False)
    before: AuditResult = field(repr=False)
    after: AuditResult = field(repr=False)
    collapsed: str | None
    power: CarriedPower | None
    loss: tuple[float | None, float | None]
    loss_name: str
    curve: pd.DataFrame = field(repr=False)
    mixture: pd.DataFrame = field(repr=False)
    rows: dict[str, int]
    split: tuple[float, ...]
    seed: int
    features: tuple[str, ...]
    notes: tuple[str, ...]
    advice: tuple[str, ...]
    old: str | None
    saved: Source
    refused: bool
    command: str | None = None

    @property
    def symbol(self) -> str:
        """The trade-off parameter for people: μ, λ, γ."""
        from fairaudit.remedy.methods import METHODS

        known = self.method in METHODS.names()  # a package that added it may be gone
        return (known and METHODS.get(self.method).symbol) or self.parameter

    def summary(self) -> str:
        """The outcome, both verdicts and the numbers behind them, as plain text."""
        return rendered(self, "txt")

    def to_frame(self) -> pd.DataFrame:
        """Measure, before, after."""
        import pandas as pd

        before, after = (
            {
                "verdict": str(result.verdict),
                "p_value": result.p_value,
                "kpc": result.joint.kpc,
                "deo": measured(result, "deo"),
                "loss": loss,
            }
            for result, loss in zip((self.before, self.after), self.loss, strict=True)
        )
        return pd.DataFrame({"before": before, "after": after})

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        found = {
            "schema": SCHEMA,
            "outcome": str(self.outcome),
            "headline": self.headline,
            "verdict": str(self.verdict),
            "method": self.method,
            "parameter": self.parameter,
            "mu": self.mu,
            "because": self.because,
            "collapsed": self.collapsed,
            "power": None if self.power is None else asdict(self.power),
            "loss_name": self.loss_name,
            "loss": {"before": self.loss[0], "after": self.loss[1]},
            "rows": self.rows,
            "split": self.split,
            "seed": self.seed,
            "features": self.features,
            "notes": self.notes,
            "advice": self.advice,
            "old": self.old,
            "refused": self.refused,
            "model": {
                "path": self.saved.path,
                "kind": self.saved.kind,
                "sha256": self.saved.sha256,
            },
            "curve": self.curve.to_dict("records"),
            "mixture": self.mixture.to_dict("records"),
            "command": self.command,
        }
        return {**_plain(found), "before": self.before.to_dict(), "after": self.after.to_dict()}

    def suppressed(self, fewest: int) -> RemedyResult:
        """The same with groups of fewer than `fewest` people masked, and all sizes rounded."""
        from fairaudit.evidence.disclosure import coarse, coarse_loss, step_of

        before, after = self.before.suppressed(fewest), self.after.suppressed(fewest)
        shown = replace(self, before=before, after=after)
        if not before.masked and not after.masked:
            return shown
        step = step_of(fewest, min(self.rows["choice"] or after.table.people, after.table.people))

        def rounded(frame: pd.DataFrame) -> pd.DataFrame:
            sizes = {
                name: frame[name].map(lambda value: coarse(value, step))
                for name in ("kpc", "deo")
                if name in frame
            }
            losses = frame["loss"].map(lambda value: coarse_loss(value, step))
            return frame.assign(loss=losses, **sizes)

        loss = (coarse_loss(self.loss[0], step), coarse_loss(self.loss[1], step))
        power = self.power and replace(self.power, kpc=coarse(self.power.kpc, step))
        told = f"Some groups are masked: sizes and losses are rounded to steps of {step:g}."
        return replace(
            shown,
            notes=tuple(dict.fromkeys((*self.notes, told))),
            loss=loss,
            power=power,
            curve=rounded(self.curve),
            mixture=rounded(self.mixture),
        )

    def save(self, path: str | Path, *, suppress: int = 10) -> Path:
        """Write a report: .html, .json or .txt. Cells of fewer than `suppress` are masked."""
        from fairaudit.data.reading.write import write_text

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
