"""What is said of a plan: the rows that an audit needs, in total and by group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.view.sections import Row, Section
from fairaudit_reports.view.wording import LONGEST_NOTE, clean

if TYPE_CHECKING:
    from fairaudit.evidence.power.power_result import GroupPlan, SamplePlan

__all__ = ["build_plan_section"]


def build_plan_section(plan: SamplePlan) -> Section:
    """The answer, one row per group, and what it rests on."""
    outcomes = next((group.rows_by_outcome for group in plan.groups if group.rows_by_outcome), ())
    names = [clean(name) for name, _ in outcomes]
    head = ["group", "share", "rows needed", "of the group", *names]
    return Section(
        title=_describe_answer(plan),
        head=head,
        rows=[_build_group_row(group, plan, len(outcomes)) for group in plan.groups],
        right=frozenset(range(1, len(head))),
        lines=(*_explain_plan(plan), *(clean(note, LONGEST_NOTE) for note in plan.notes)),
    )


def _describe_answer(plan: SamplePlan) -> str:
    rows = f"More than {plan.most_rows:,}" if plan.rows is None else f"{plan.rows:,}"
    if plan.narrows:
        return (
            f"{rows} rows are needed to {plan.goal} in {100 * plan.power:.0f} % of samples, with "
            f"{100 * (1 - plan.alpha):.0f} % confidence."
        )
    return (
        f"{rows} rows are needed to {plan.goal}, with power {plan.power:g} at level {plan.alpha:g}."
    )


def _build_group_row(group: GroupPlan, plan: SamplePlan, outcomes: int) -> Row:
    start = [clean(group.group), "hidden" if group.share is None else f"{100 * group.share:.0f} %"]
    if group.rows is None or group.rows_of_group is None:
        rows = f"> {plan.most_rows:,}" if group.rows is None else f"{group.rows:,}"
        return [*start, rows, *["–"] * (1 + outcomes)]
    counts = [group.rows, group.rows_of_group, *(count for _, count in group.rows_by_outcome)]
    unknown = ["–"] * (outcomes - len(group.rows_by_outcome))
    return [*start, *(f"{count:,}" for count in counts), *unknown]


def _explain_plan(plan: SamplePlan) -> tuple[str, ...]:
    pilot = (
        f"From a pilot of {plan.pilot_rows:,} rows: the audit is assumed to see people, outcomes "
        "and scores like these. Rows of the group follow from these totals and its share in the "
        "pilot; a sample with more of a rare group needs fewer rows in total."
    )
    if plan.certifies or plan.narrows:
        return (pilot,)
    simulated = (
        f"Statistic {plan.statistic}. Each group in turn is the one that differs; the "
        "total is for the group that needs most. The answer carries a simulation error of "
        "a few percent, and that of the pilot."
    )
    return pilot, simulated
