"""What is said of the copies: how they were made, their checks, the calibration on this table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.view.numerals import number, p_decimal, p_text, percent
from fairaudit_reports.view.sections import Section, build_facts_section
from fairaudit_reports.view.wording import clean

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.evidence.power.power_result import Calibration
    from fairaudit.testing.trust import Trust

__all__ = [
    "CALIBRATION_LEVEL",
    "COPY_CHECK_LEVEL",
    "build_copies_section",
    "describe_moved",
    "list_calibration_facts",
    "list_check_facts",
    "list_witness_facts",
    "rank_scores",
]

#: Levels of the two checks of a fitted density; `fairaudit.testing.diagnostics` sets them.
COPY_CHECK_LEVEL, CALIBRATION_LEVEL = 0.01, 0.001


def build_copies_section(result: AuditResult) -> Section:
    """How the copies behind the p-value were made, and whether they can be believed."""
    quality, joint = result.quality, result.joint
    facts = [
        ("copies", f"{joint.copies:,}, {quality.copies_by}"),
        ("trustworthy", f"{'yes' if quality.trustworthy else 'no'}; {quality.because}"),
    ]
    checks = [("copies", quality.copy_check), ("density", quality.calibration)]
    done = [f"{name} p = {p_text(p)}" for name, p in checks if p is not None]
    if done:
        facts.append(("checks", ", ".join(done)))
    facts.append(
        ("moved", f"{100 * quality.moved:.0f} % of the rows differ between data and copies")
    )
    if quality.witness_p is not None:
        facts.append(("second witness", f"{quality.witness_by}, p = {p_text(quality.witness_p)}"))
    if joint.p_value is not None:
        low, high = joint.p_interval
        simulated = f"95 % interval by simulation {low:.3g} to {high:.3g}"
        facts.append(("p-value", f"{p_text(joint.p_value)} ({simulated})"))
    if result.calibration is not None:
        facts += list_calibration_facts(result.calibration, result.alpha)
    return build_facts_section("Copies", [(name, clean(fact)) for name, fact in facts])


def list_calibration_facts(calibration: Calibration, alpha: float) -> list[tuple[str, str]]:
    """Placebos and planted violations: names and facts."""
    placebos = len(calibration.p_values)
    return [
        ("calibrated", "yes" if calibration.passed else clean(f"no; {calibration.because}")),
        (
            "placebo",
            f"{100 * calibration.alarms:.1f} % of {placebos} placebos have p ≤ {alpha:g}; p-values "
            f"not too small: p = {p_text(calibration.uniform)}",
        ),
        (
            "planted",
            clean(
                f"a violation of {calibration.shift:.2f} sd for {calibration.group} was found in "
                f"{100 * calibration.found:.0f} % of the tables"
            ),
        ),
    ]


def list_check_facts(quality: Trust) -> list[tuple[str, str, str | None]]:
    """Name, answer and explanation of the two checks of a fitted density."""
    checks = (
        (
            "Copy check",
            quality.copy_check,
            COPY_CHECK_LEVEL,
            "Can the attributes and outcomes of the copies be told apart from those of the data?",
        ),
        (
            "Calibration",
            quality.calibration,
            CALIBRATION_LEVEL,
            "Are the outcomes distributed as the fitted model of the outcome says?",
        ),
    )
    facts: list[tuple[str, str, str | None]] = []
    for name, p, level, question in checks:
        if p is None:
            facts.append((name, f"not needed: {_say_what_was_fitted(quality)}", None))
            continue
        answer = f"{'failed' if p <= level else 'passed'}, p = {p_decimal(p)}"
        about = f"{question} A p-value of {number(level)} or less fails."
        facts.append((name, answer, about))
    return facts


def _say_what_was_fitted(quality: Trust) -> str:
    if quality.law == "local":
        return "no density was fitted; copies are as good as neighbors in the outcome are alike"
    return "nothing was fitted"


def list_witness_facts(quality: Trust) -> list[tuple[str, str, str | None]]:
    """Name, answer and explanation of what copies by another law say, if there were some."""
    if quality.witness_p is None:
        return []
    about = "The same question, asked of fewer copies by another law. It decides nothing."
    answer = f"{quality.witness_by}: p = {p_decimal(quality.witness_p)}"
    return [("Second witness", answer, about)]


def describe_moved(quality: Trust) -> str:
    return (
        f"On average, {percent(quality.moved)} of the rows have different attributes in a copy "
        "than in the data. At 0 there would be nothing to compare."
    )


def rank_scores(quality: Trust) -> list[tuple[str, float | None, bool]]:
    """The densities that were tried: name, held-out log-likelihood, and whether it was used."""
    order = sorted(
        quality.scores, key=lambda name: _order_score(quality.scores[name]), reverse=True
    )
    return [(name, quality.scores[name], name == quality.family) for name in order]


def _order_score(score: float | None) -> float:
    return float("-inf") if score is None else score
