"""What may be said about a remedy, from its two audits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairaudit._words import figures
from fairaudit.auditing.audit_result import AuditResult
from fairaudit.auditing.findings import Verdict
from fairaudit.evidence.power.carried import POWER, carried_power, power_of
from fairaudit.evidence.power.power_result import CarriedPower
from fairaudit.remedy.choice import find_trivial_loss
from fairaudit.remedy.collapse import ranking_in_doubt
from fairaudit.remedy.limit import SMALLEST
from fairaudit.remedy.remedy_result import Outcome, RemedyResult
from fairaudit.remedy.search import FEWEST_OF_SEARCH
from fairaudit.testing.statistic import statistic_named

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.remedy.choice import Choice
    from fairaudit.remedy.forgone import Forgone
    from fairaudit.remedy.limit import Limit
    from fairaudit.remedy.rows import Audited
    from fairaudit.remedy.trained import Trained
    from fairaudit.remedy.training_job import Job

__all__ = ["Judgment", "advice_for", "judged", "notes_on", "power_to_see"]


_WORTH_ASKING = 0.5  # chance of the nearest model from which on it is offered


@dataclass(frozen=True, slots=True)
class Judgment:
    """The outcome, the sentence for people, and what it means for a gate."""

    outcome: Outcome
    headline: str
    verdict: Verdict


def power_to_see(before: Audited, after: Audited, plan: Plan) -> CarriedPower | None:
    """Power of the audit after against the violation before; None where an audit has no answer."""
    if Verdict.INCONCLUSIVE in (before.result.verdict, after.result.verdict):
        return None
    alpha = plan.alpha
    carried = carried_power(
        before.table,
        after.table,
        np.array(after.result.null),
        statistic_named(plan.statistic),
        alpha=alpha,
        seed=plan.permutations.seed,
    )
    if carried is not None:
        return carried
    # whole people are permuted: the old model's own test has to stand for the new one's
    value, null = before.result.joint.value, np.array(before.result.null)
    power = 0.0 if value is None else power_of(value, null, float(null.std()), alpha)
    if power < POWER:
        return CarriedPower(power, None, None)
    return CarriedPower(power, 1.0, before.result.joint.kpc)


def judged(
    trained: Trained,
    old: Audited,
    new: Audited,
    *,
    collapsed: str | None,
    power: CarriedPower | None,
) -> Judgment:
    """The one place that decides what a remedy came to."""
    choice, before, after = trained.choice, old.result, new.result
    if choice.fates is not None:
        still = after.verdict is Verdict.VIOLATION
        what = "and violates equalized odds" if still else "and no violation is found in it"
        empty = "" if collapsed is None else f" It is no better: {collapsed}."
        return Judgment(
            Outcome.NOT_FOUND,
            f"No repair found: {choice.fates}. {_left(choice)} {what} ({_p(after)}).{empty}",
            Verdict.VIOLATION if still else Verdict.INCONCLUSIVE,
        )
    if collapsed is not None:
        return Judgment(
            Outcome.COLLAPSED, f"Collapsed, and no repair: {collapsed}.", Verdict.INCONCLUSIVE
        )
    if after.verdict is Verdict.VIOLATION:
        return Judgment(
            Outcome.NOT_REPAIRED,
            f"Not repaired: the new model violates equalized odds on the audited rows ({_p(after)}"
            f"{_kpc(before, after)}).",
            Verdict.VIOLATION,
        )
    doubt = _doubt(before, after, power) or _doubt_ranking(old, new)
    if doubt is None and trained.curve["dominated"][choice.place]:  # a value that was asked for
        doubt = (
            f"no violation is found after the repair ({_p(after)}), but the trivial mixture of "
            "plain training with a constant is as fair at a smaller loss"
        )
    if doubt is not None:
        return Judgment(Outcome.INCONCLUSIVE, f"Inconclusive: {doubt}.", Verdict.INCONCLUSIVE)
    assert power is not None  # noqa: S101  for mypy: without power there is a doubt
    share = 1.0 if power.share is None else power.share
    left = "a smaller one" if share == 1 else f"up to about {100 * share:.0f} % of it"
    return Judgment(
        Outcome.REPAIRED,
        f"Repaired: the violation that was there before ({_p(before)}) is not found in "
        f"{after.table.rows:,} rows ({_p(after)}). The audit would have seen it in "
        f"{_percent(power.power)} of such samples; {left} may be left.",
        Verdict.NO_VIOLATION,
    )


def _left(choice: Choice) -> str:
    if choice.place == 0:
        return "Plain training is left,"
    return "The model that comes nearest was audited,"


def _doubt(before: AuditResult, after: AuditResult, power: CarriedPower | None) -> str | None:
    """Why a violation that is not found may be there all the same."""
    for name, audit in (("after", after), ("before", before)):
        if audit.verdict is Verdict.INCONCLUSIVE:
            return f"the audit {name} the repair cannot say ({audit.because.rstrip('.')})"
    if before.verdict is not Verdict.VIOLATION:
        return (
            f"no violation is found after the repair ({_p(after)}), but none was found before "
            f"either ({_p(before)}), so these {after.table.rows:,} rows say nothing about the "
            "repair"
        )
    if power is None or power.power < POWER:
        chance = 0.0 if power is None else power.power
        return (
            f"no violation is found after the repair ({_p(after)}), but on {after.table.rows:,} "
            f"rows the audit would have seen the one that was there before in only "
            f"{_percent(chance)} of such samples; more rows are needed"
        )
    return None


def _doubt_ranking(before: Audited, after: Audited) -> str | None:
    """Where the audited rows do not show that half of the ranking is kept."""
    rankings = ranking_in_doubt(after.table, before.table)
    if rankings is None:
        return None
    return (
        f"no violation is found after the repair ({_p(after.result)}), but {len(after.table):,} "
        f"rows do not show that half of the ranking is kept ({rankings})"
    )


def _p(audit: AuditResult) -> str:
    return "no p-value" if audit.p_value is None else f"p = {audit.p_value:.3g}"


def _percent(share: float) -> str:
    """Chances are estimates: never 100 %."""
    return "more than 99 %" if share > 0.99 else f"{100 * share:.0f} %"


def _kpc(before: AuditResult, after: AuditResult) -> str:
    sizes = [audit.joint.kpc for audit in (after, before)]
    if sizes[0] is None or sizes[1] is None:
        return ""
    return f", KPC {sizes[0]:.3f}, before {sizes[1]:.3f}"


def advice_for(outcome: Outcome, trained: Trained, job: Job) -> tuple[str, ...]:
    """What would help where there is no repair, and what another permission would bring."""
    brought = [_describe_forgone(offer) for offer in trained.forgone]
    if outcome is Outcome.REPAIRED:
        return tuple(brought)
    if outcome is Outcome.INCONCLUSIVE and trained.curve["dominated"][trained.choice.place]:
        search = ", or a search over methods (method search)" if _can_search(job) else ""
        return (f"Another value{search}.",)
    if outcome is Outcome.INCONCLUSIVE:
        return ("More rows, or a larger share of them to audit (split).",)
    advice = ["More rows: dependence that training removes comes back on others if rows are few."]
    advice += _describe_smaller_chance(trained, job)
    advice += [] if trained.limit is None else describe_limit(trained.limit)
    if trained.limit is not None and trained.choice.place > 0:
        advice += describe_nearest(trained.limit)
    advice += brought
    if not job.use_sensitive and not brought:
        advice.append(
            "Attributes at prediction time (use_sensitive), where the law lets a model have them."
        )
    trivial = _describe_trivial(trained.mixture, job)
    if job.method is not None and _can_search(job):
        passing = "" if trivial is None else f"; even {trivial}"
        advice.append(
            f"A search over methods, with a randomized last stage (method search){passing}."
        )
    elif job.method is None and trivial is not None:
        advice.append(f"Nothing was found that is better than the trivial mixture: {trivial}.")
    advice.append(
        "A tolerance: choose by a size that you can defend (kpc), and certify it on fresh rows "
        "with an audit (certify)."
    )
    return tuple(advice)


def _can_search(job: Job) -> bool:
    """Whether a search would have enough rows to train and choose on."""
    return sum(len(job.parts[name]) for name in ("train", "choice")) >= FEWEST_OF_SEARCH


def _describe_trivial(mixture: pd.DataFrame, job: Job) -> str | None:
    """The trivial mixture that reaches the goal; None: only a constant for everybody does."""
    reached = np.array([job.rule.reached(line) for line in mixture.to_dict("records")])
    enough = mixture[reached & (mixture["share"] < 1)]
    if enough.empty:
        return None
    share, loss = enough["share"].iloc[0], figures(enough["loss"].iloc[0], 3)
    return (
        f"plain training with a constant answer for a random {100 * share:.0f} % passes, at a loss "
        f"of {loss}"
    )


def _describe_smaller_chance(trained: Trained, job: Job) -> list[str]:
    """Whoever accepts more risk may have the model that comes nearest."""
    choice = trained.choice
    if not job.rule.passes or choice.fates is None or choice.place == 0:
        return []
    nearest = trained.curve.iloc[choice.place]
    if nearest["chance"] < _WORTH_ASKING:
        return []
    chance, loss = nearest["chance"], figures(nearest["loss"], 3)
    return [
        f"More risk: the model that comes nearest passes with a chance of {_percent(chance)}, at a "
        f"loss of {loss}; a search that asks for {np.floor(100 * chance) / 100:g} or less "
        "(pass_probability) takes it, or one with a smaller loss."
    ]


def describe_limit(limit: Limit) -> list[str]:
    """What could pass at best."""
    known = "With" if limit.attributes else "Without"
    estimate, sure = limit.estimate, limit.sure
    least = (
        f"{known} the attributes, answers that are derived from these scores and pass an audit of "
        f"{limit.rows:,} rows with a chance of {_percent(limit.chance)} have at best a loss of "
        f"{estimate.loss:.3g} and an AUC of {estimate.ranking:.3f} (as labels "
        f"{estimate.ranking_of_labels:.3f}; half of the ranking is lost below {limit.kept:.3f}), "
        f"if these rows were everybody; surely not below {sure.loss:.3g} or above "
        f"{sure.ranking:.3f}"
    )
    return [f"{least}: whatever passes has collapsed." if limit.impossible else f"{least}."]


def describe_nearest(limit: Limit) -> list[str]:
    """Which audit the model that comes nearest passes."""
    nearest = "The model that comes nearest passes"
    if limit.passes is None:
        return [f"{nearest} no audit of more than {limit.rows // SMALLEST:,} rows."]
    if limit.passes >= limit.rows:
        return []
    more = (
        f"; for {limit.rows:,} about {limit.rows / limit.passes:.0f} times as many would have to "
        "train it, if all that it leaves is the error of few rows"
    )
    audit = f"{nearest} an audit of about {limit.passes:,} rows with this chance"
    return [f"{audit}{more if limit.attributes else ''}."]


def _describe_forgone(offer: Forgone) -> str:
    names = {
        "attributes": "With the sensitive attributes at prediction time (use_sensitive)",
        "randomization": "With answers that have a share of chance (randomize)",
    }
    if offer.loss is None:
        return f"{names[offer.what]} the goal would not be reached either."
    return f"{names[offer.what]} the goal is reached at a loss of {figures(offer.loss, 3)}."


def notes_on(result: RemedyResult) -> list[str]:
    """What a reader must know beside the headline."""
    notes = []
    if result.old is not None:
        notes.append(
            "If the old model was trained on rows of this table, its loss before the repair is too "
            "small: it has seen some of the audited rows."
        )
    if result.curve["chosen"].iloc[0]:
        notes.append("The chosen model is plain training: nothing was done towards equalized odds.")
    if result.outcome in (Outcome.NOT_REPAIRED, Outcome.NOT_FOUND):
        notes.append("Do not choose another value by this audit: fresh rows have the last word.")
    chosen = result.curve[result.curve["chosen"]].iloc[0]
    if chosen["dominated"]:
        trivial = find_trivial_loss(chosen, result.mixture)
        notes.append(
            "Plain training mixed at random with a constant is as fair, up to the error of KPC, at "
            f"a loss of {figures(trivial, 3)}; the chosen model has {figures(chosen['loss'], 3)}. "
            "This repair is not worth its price there."
        )
    return notes
