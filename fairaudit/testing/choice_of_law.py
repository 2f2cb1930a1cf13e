"""Which law the copies of a table follow, by what the attributes and the outcome show.

The prediction is not looked at: a choice that knew the p-value would spoil it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairaudit._types import Index
from fairaudit.data.columns import Column
from fairaudit.data.table import AuditTable
from fairaudit.density.auto import Auto
from fairaudit.errors import InputError
from fairaudit.permute.copies import Copies, FittedCopies, remember
from fairaudit.permute.icp import ICP
from fairaudit.permute.laws import AUTO, LAWS
from fairaudit.permute.local import Local
from fairaudit.permute.monotone import Monotone
from fairaudit.testing.diagnostics import CopyCheck, see_enough
from fairaudit.testing.permutations import Permutations

__all__ = ["ChoiceOfLaw", "prepare_copies"]

#: Beyond, neighbors in the outcome are so close that nothing need be fitted, while a misfit that no
#: check sees weighs the more, the more rows there are.
MOST_ROWS_TO_FIT = 10_000
DOUBTFUL_COPIES, DOUBTFUL_DENSITY = 0.1, 0.05  # p-values up to which `auto` keeps no density
SHARP = 4  # blocks of neighbors that are so small tell of sharp laws
_ROWS_PER_FOLD = 4


@dataclass(frozen=True, slots=True)
class ChoiceOfLaw:
    """What was asked for.

    Parameters
    ----------
    law : str or law
        ``"auto"``: classes are permuted exactly. For a continuous outcome inverse conditional
        permutation where the density that it fits passes its checks, local permutation where it
        does not, where attributes follow the outcome very closely (blocks of at most 4 rows),
        where people have several rows, and beyond 10,000 rows. Names: see
        `fairaudit.permute.laws.LAWS`.
    density : str, density or callable
        q(y|a) of inverse conditional permutation; one that is named is used whatever its checks
        say.
    folds : int
        Of its cross-fitting.
    """

    law: Any = AUTO
    density: Any = "auto"
    folds: int = 5

    def __post_init__(self) -> None:
        if self.law not in (AUTO, "icp") and not _is_auto(self.density):
            raise InputError(
                f"The law {_name(self.law)!r} takes no density. Leave out 'density', or 'law'.",
                argument=("density", "law"),
            )
        if self.law != AUTO:
            LAWS.get(self.law)

    def suit(self, statistic: Any) -> Any:
        """The statistic, or in the place of the default the only one that the law goes with."""
        monotone = self.law == "monotone" or isinstance(self.law, Monotone)
        return "ordered" if monotone and statistic == "omnibus" else statistic

    def fits_nothing(self, table: AuditTable) -> bool:
        """Whether copies of a continuous outcome follow from the table without a fitted density.

        They are then the same for all attributes.
        """
        if table.require_outcome().kind.is_categorical:
            return False
        if self.law != AUTO:
            return self.law == "local" or isinstance(self.law, Local)
        return _is_auto(self.density) and _why_not_fitted(table, self.folds) is not None

    def is_local_in_shards(self, *, categorical: bool) -> bool:
        """Whether shards exchange neighbors in the outcome.

        A density is fitted for shards only if it is asked for: its rows could not be tested.
        """
        if self.law == AUTO:
            return not categorical and _is_auto(self.density)
        return self.law == "local" or isinstance(self.law, Local)

    def explain_shards(self) -> str:
        """Why local copies come first in shards, where they were not asked for."""
        return "in shards its rows could not be tested" if self.law == AUTO else ""

    def make_fitting_law(self, rows: int) -> ICP:
        """Inverse conditional permutation; in sample where rows are too few to cross-fit."""
        return ICP(self.density, self.folds if rows >= _ROWS_PER_FOLD * self.folds else 1)


def prepare_copies(
    table: AuditTable,
    choice: ChoiceOfLaw,
    permutations: Permutations,
    *,
    training: tuple[Column, Sequence[Column]] | None = None,
    strata: Index | None = None,
) -> FittedCopies:
    """Choose the law for this table, fit what must be fitted, and return the sampler."""
    outcome = table.require_outcome()

    def prepare(law: Copies) -> FittedCopies:
        return law.prepare(
            outcome,
            table.attributes,
            steps=permutations.steps,
            seed=permutations.seed,
            units=None if table.ids is None else table.ids.codes,
            training=training,
            strata=strata,
            prediction=table.prediction.matrix(),
        )

    icp = choice.make_fitting_law(len(table))
    if choice.law not in (AUTO, "icp"):
        return prepare(LAWS.get(choice.law))
    given = choice.law == "icp" or not _is_auto(choice.density) or training is not None
    if given or outcome.kind.is_categorical:
        return prepare(icp)
    local = prepare(Local())
    reason = _why_not_fitted(table, choice.folds)
    if reason is None and getattr(local.sampler, "size", 0) <= SHARP:
        reason = "attributes follow the outcome so closely that no density can be trusted"
    if reason is None:
        try:
            fitted = remember(prepare(replace(icp, density=Auto(patient=False))))
        except InputError as error:
            reason = str(error)
        else:
            reason = _find_fault(table, fitted, permutations.seed)
            if reason is None:
                return replace(fitted, witness=local)
    return replace(local, reason=reason)


def _why_not_fitted(table: AuditTable, folds: int) -> str | None:
    """Why no density is even tried, if none is."""
    if len(table) > MOST_ROWS_TO_FIT:
        return f"there are more than {MOST_ROWS_TO_FIT:,} rows"
    if table.ids is not None and len(table.ids.levels) < len(table):
        return "a density of single rows ignores that people have several"
    if len(table) < _ROWS_PER_FOLD * folds:
        return f"{len(table)} rows are too few to fit a density"
    return None


def _find_fault(table: AuditTable, fitted: FittedCopies, seed: int) -> str | None:
    """What the copies say against the density, by attributes and outcome alone."""
    check = CopyCheck(table.require_outcome(), table.attributes, fitted, seed)
    see_enough([check], fitted.sampler)
    trust = check.trust()
    if not trust.trustworthy:
        return trust.because
    # another law can answer: a density that is only doubtful is not kept
    for p, level, what in (
        (trust.copy_check, DOUBTFUL_COPIES, "the copies"),
        (trust.calibration, DOUBTFUL_DENSITY, "the calibration"),
    ):
        if p is not None and p <= level:
            return f"a density was fitted, and its check of {what} is doubtful (p = {p:.2g})"
    return None


def _is_auto(density: Any) -> bool:
    return isinstance(density, str) and density == "auto"


def _name(law: Any) -> str:
    return str(law if isinstance(law, str) else getattr(law, "name", type(law).__name__))
