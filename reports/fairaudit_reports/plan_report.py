"""A plan of rows as text, Markdown, HTML and as a picture of its curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.terminal import clean
from fairaudit_reports.text import markdown_table, table

if TYPE_CHECKING:
    from fairaudit.evidence.power.power_result import GroupPlan, SamplePlan

__all__ = ["picture", "render_html", "render_markdown", "render_svg", "render_text"]


def render_text(plan: SamplePlan) -> str:
    """Plain text of at most 96 columns."""
    import textwrap

    about = [textwrap.fill(clean(line, 1600), 96) for line in (_headline(plan), *_about(plan))]
    return "\n\n".join([about[0], table(_rows(plan)), *about[1:]]) + "\n"


def render_markdown(plan: SamplePlan) -> str:
    rows = markdown_table(_rows(plan))
    return "\n\n".join([f"## {_headline(plan)}", rows, *_about(plan)]) + "\n"


def render_svg(plan: SamplePlan) -> str:
    from fairaudit_reports.curves import power_curves

    return power_curves(plan) + "\n"


def picture(plan: SamplePlan) -> bytes:
    """The curves as PNG; needs matplotlib."""
    from io import BytesIO

    from fairaudit.errors import MissingDependencyError

    try:
        import matplotlib
    except ModuleNotFoundError:
        raise MissingDependencyError(
            "A .png needs matplotlib (pip install matplotlib). An .svg needs nothing."
        ) from None
    matplotlib.use("Agg")
    ax = plan.plot()
    stream = BytesIO()
    ax.figure.savefig(stream, format="png", dpi=150, bbox_inches="tight")
    return stream.getvalue()


def _headline(plan: SamplePlan) -> str:
    if plan.rows is None:
        return (
            f"More than {plan.most_rows:,} rows are needed to {plan.goal}, with power "
            f"{plan.power:g} at level {plan.alpha:g}."
        )
    return (
        f"{plan.rows:,} rows are needed to {plan.goal}, with power {plan.power:g} at level "
        f"{plan.alpha:g}."
    )


def _rows(plan: SamplePlan) -> list[list[str]]:
    outcomes = next((one.rows_by_outcome for one in plan.groups if one.rows_by_outcome), ())
    head = ["group", "share", "rows needed", "of the group", *(clean(x) for x, _ in outcomes)]
    return [head, *(_row(one, plan, len(outcomes)) for one in plan.groups)]


def _row(one: GroupPlan, plan: SamplePlan, outcomes: int) -> list[str]:
    start = [clean(one.group), "hidden" if one.share is None else f"{one.share:.0%}"]
    if one.rows is None or one.rows_of_group is None:
        rows = f"> {plan.most_rows:,}" if one.rows is None else f"{one.rows:,}"
        return [*start, rows, *["–"] * (1 + outcomes)]
    counts = [count for _, count in one.rows_by_outcome]
    return [*start, f"{one.rows:,}", f"{one.rows_of_group:,}", *(f"{x:,}" for x in counts)]


def _about(plan: SamplePlan) -> list[str]:
    lines = [
        f"From a pilot of {plan.pilot_rows:,} rows: the audit is assumed to see people, outcomes "
        "and scores like these. Rows of the group are what these totals mean with its share in the "
        "pilot; a sample with more of a rare group needs fewer rows in total."
    ]
    if not plan.effect.startswith("certify"):
        lines.append(
            f"Statistic {plan.statistic}. Each group in its turn is the one that differs; the "
            "total is for the group that needs most. The answer carries an error of simulation of "
            "a few percent, and that of the pilot."
        )
    return lines


def render_html(plan: SamplePlan) -> str:
    from importlib.metadata import version

    from fairaudit_reports import html_parts as h
    from fairaudit_reports.curves import power_curves
    from fairaudit_reports.markup import join, tag

    head, *rows = _rows(plan)
    body = (
        h.row(
            h.row_head(row[0]),
            *(h.cell(text, name, "n") for text, name in zip(row[1:], head[1:], strict=True)),
        )
        for row in rows
    )
    columns = [(name, None if k == 0 else "n") for k, name in enumerate(head)]
    page = tag(
        "body",
        tag(
            "main",
            tag("h1", "Rows that the audit needs"),
            h.paragraph(_headline(plan), class_="lead"),
            tag(
                "figure",
                power_curves(plan),
                tag(
                    "figcaption",
                    "Dots are shares found in simulated tables, lines fitted to "
                    "them; the dotted line is the wanted power.",
                ),
            ),
            h.table("Rows by group", columns, [h.body(body)]),
            join(h.paragraph(line, class_="quiet") for line in _about(plan)),
        ),
        class_="none",
    )
    title = f"{_headline(plan)} – fairaudit"
    number = version("fairaudit-icp")
    return f"<!DOCTYPE html>\n{tag('html', h.head(title, number), page, lang='en')}\n"
