"""The curves of a plan as a picture: SVG, or PNG by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairaudit_reports.html.power_curves import power_curves

if TYPE_CHECKING:
    from fairaudit.evidence.power.power_result import SamplePlan

__all__ = ["render", "render_png"]


def render(plan: SamplePlan) -> str:
    """One SVG picture without outside requests."""
    return power_curves(plan) + "\n"


def render_png(plan: SamplePlan) -> bytes:
    """Needs matplotlib."""
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
