"""What a reader must know about the findings of an audit."""

from __future__ import annotations

from collections.abc import Sequence

from fairaudit._words import as_words
from fairaudit.auditing.audit_plan import Plan
from fairaudit.auditing.examination import Absent, Rows
from fairaudit.auditing.findings import Finding, Verdict
from fairaudit.data.facts import TableFacts
from fairaudit.evidence.measurements import Measurements, caution_about
from fairaudit.testing.permutations import Permutations
from fairaudit.testing.statistic import list_parts, statistic_named
from fairaudit.testing.trust import Trust

__all__ = ["write_notes"]

_CLEARLY_BELOW, _FAR_ABOVE = 5, 0.2  # p-values of which one is at most alpha / 5, the other larger


def _list_unasked(facts: TableFacts, findings: tuple[Finding, ...], trust: Trust) -> list[str]:
    """Questions behind the gate that a reader may miss, and why they were not asked."""
    outcome = facts.outcome
    parts = {finding.outcome for finding in findings if finding.family == "outcome"}
    if not outcome.levels:
        if parts:
            return []
        return [
            "ranges of the outcome, because people have rows in several of them"
            if facts.ids is not None
            else "ranges of the outcome, because the prediction is constant in each"
        ]
    labels = [f"{outcome.name} = {level}" for level in outcome.levels]
    if not parts and len(labels) > 1 and trust.law != "exact":
        return ["outcome classes, because the density was fitted to all of them together"]
    why = "attributes or prediction do not vary there"
    return [f"{label} ({why})" for label in labels if label not in parts]


def _describe_effort(findings: tuple[Finding, ...], permutations: Permutations, count: int) -> str:
    """How many copies each question took, and why no more; `count` statistics were combined."""
    held_out = permutations.held_out(count)
    planned, stop = permutations.n - held_out, permutations.stop_after
    stopped = [
        f"{finding.name} ({finding.copies})" for finding in findings if finding.copies < planned
    ]
    full = [finding.name for finding in findings if finding.copies >= planned]
    sentence_parts = []
    if stopped:
        why = (
            f"when they had settled p at the level {permutations.settle_at:g}"
            if stop is None
            else f"when {stop} copies had reached the data, since p cannot be small then"
        )
        sentence_parts.append(f"drawing stopped {why}: {', '.join(stopped)}")
    if full:
        sentence_parts.append(f"all {planned:,} were drawn: {', '.join(full)}")
    if held_out:
        sentence_parts.append(f"{held_out} more calibrated the combination of {count} statistics")
    return f"Copies as needed: {'; '.join(sentence_parts)}."


def _write_finding_notes(verdict: Verdict, findings: tuple[Finding, ...], plan: Plan) -> list[str]:
    """What a reader must know about the p-values."""
    gate, permutations = findings[0], plan.permutations
    notes = []
    if permutations.stops_early:
        count = len(list_parts(statistic_named(plan.statistic))[0])
        notes.append(_describe_effort(findings, permutations, count))
    single = [finding for finding in findings if finding.family == "attribute"]
    alone = [
        finding.p_value is None or finding.p_value <= plan.alpha or finding.inconclusive is not None
        for finding in single
    ]
    if gate.significant and single and not any(alone):
        notes.append(
            f"No attribute shows this alone: the dependence is on {as_words(gate.attributes)} "
            "in combination. Audits of one attribute at a time would miss it."
        )
    low, high = gate.p_interval
    if gate.p_value is not None and verdict is not Verdict.INCONCLUSIVE and low < plan.alpha < high:
        notes.append(
            f"The p-value is uncertain by simulation ({low:.3g} to {high:.3g}) and alpha lies "
            f"within: draw more than {gate.copies} copies (permutations) to settle it."
        )
    count = sum(finding.p_value is not None for finding in findings[1:])
    if gate.significant and plan.adjust == "holm" and count / (permutations.n + 1) > plan.alpha:
        notes.append(
            f"{permutations.n} copies are too few for a claim about any of the {count} questions "
            f"behind the gate: draw at least {int(count / plan.alpha - 1e-9)} (permutations)."
        )
    if any(finding.inconclusive for finding in findings[1:]):
        names = "; ".join(
            f"{finding.name}: {finding.inconclusive}"
            for finding in findings[1:]
            if finding.inconclusive
        )
        notes.append(f"Not settled behind the gate: {names}.")
    return notes


def _write_witness_notes(gate: Finding, trust: Trust, alpha: float) -> list[str]:
    """One sentence where two laws of copies disagree strongly about the gate."""
    deciding, other = gate.p_value, trust.witness_p
    if deciding is None or other is None:
        return []
    if min(deciding, other) > alpha / _CLEARLY_BELOW or max(deciding, other) <= _FAR_ABOVE:
        return []
    return [
        f"Two laws of copies disagree: p = {deciding:.3g} by {trust.copies_by}, which decides, and "
        f"p = {other:.3g} by {trust.witness_by}. Look for what only one of them sees before you "
        "act on this verdict."
    ]


def write_notes(
    verdict: Verdict,
    findings: tuple[Finding, ...],
    plan: Plan,
    *,
    rows: Rows,
    sizes: Measurements,
    trust: Trust,
    absent: Sequence[Absent],
) -> tuple[str, ...]:
    """Everything that a reader must know, the warnings first."""
    notes = [
        *rows.warnings,
        *_write_witness_notes(findings[0], trust, plan.alpha),
        *_write_finding_notes(verdict, findings, plan),
        *rows.layout,
    ]
    unasked = _list_unasked(rows.facts, findings, trust)
    if unasked:
        notes.append(f"Not asked: {'; '.join(unasked)}.")
    if absent:
        listed = "; ".join(f"{piece.what} ({piece.why})" for piece in absent)
        notes.append(f"Not computed {rows.form}: {listed}. Audit {rows.whole} for them.")
    return (*notes, *sizes.notes, caution_about(sizes.values))
