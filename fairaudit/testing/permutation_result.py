"""What a test returns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fairaudit._types import Array
from fairaudit.testing.permutations import Permutations
from fairaudit.testing.trust import Trust

__all__ = ["TestResult", "plot_null"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """Result of a conditional permutation test of H0: Yhat ⟂ A | Y.

    ``statistic, p_value = result`` works.

    Attributes
    ----------
    statistic : float
        Observed value; large values are evidence of a violation.
    p_value : float
        (1 + copies that reach the statistic) / (1 + copies); after early stopping as the rule
        says (`Permutations`). NaN where the test is inconclusive because nothing could be permuted.
    interval : tuple of float
        95 % Monte-Carlo interval of the p-value (Clopper–Pearson), for the copies drawn and the
        rule of stopping.
    null : array
        The statistic of every copy that was counted.
    name : str
        The statistic's name.
    n : int
        Rows.
    density : str
        The conditional law behind the copies.
    scores : dict
        Mean held-out log-likelihood per row of every density family that ``"auto"`` tried.
    diagnostics : Trust
    inconclusive : str or None
        Why the p-value should not be acted on, in one sentence.
    permutations : Permutations
    seconds : dict
        CPU seconds for fitting, copies and statistics.
    parts : dict
        p-value of every statistic, where several were combined; estimates after early stopping,
        which looks at their combination.
    """

    __test__ = False  # not a test class for pytest

    statistic: float
    p_value: float
    interval: tuple[float, float]
    null: Array = field(repr=False)
    name: str
    n: int
    density: str
    scores: dict[str, float] = field(repr=False)
    diagnostics: Trust = field(repr=False)
    inconclusive: str | None
    permutations: Permutations = field(repr=False)
    seconds: dict[str, float] = field(repr=False)
    parts: dict[str, float] = field(repr=False)

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.p_value))

    def summary(self) -> str:
        """A few lines for people."""
        copies = len(self.null)
        lines = [
            "H0: the prediction is independent of the sensitive attributes given the outcome",
            f"{self.name} = {self.statistic:.4f}, p = {self.p_value:.4g} "
            f"(Monte-Carlo 95 %: {self.interval[0]:.4g} to {self.interval[1]:.4g}; "
            f"{copies} copies, {self.n} rows)",
            f"copies: {self.density}",
            f"trustworthy: {self.diagnostics.verdict}",
        ]
        if self.inconclusive:
            lines.append(f"inconclusive: {self.inconclusive}")
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """Histogram of the copies' statistics with the observed value; returns the Axes."""
        return plot_null(self.null, self.statistic, self.p_value, self.name, ax)


def plot_null(null: Any, observed: float | None, p: float | None, name: str, ax: Any) -> Any:
    """Histogram of the copies' statistics with the observed value; returns the Axes."""
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
    ax.hist(null, bins=30, color="#9db4c0", label=f"{len(null)} copies under H0")
    if observed is not None:
        ax.axvline(observed, color="#b02a30", linewidth=2, label="observed")
    ax.set_xlabel(name)
    ax.set_ylabel("copies")
    ax.set_title("no p-value" if p is None else f"p = {p:.3g}")
    ax.legend(frameon=False)
    return ax
