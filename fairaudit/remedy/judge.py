"""Models on the rows by which one is chosen: loss, quality, dependence, and the chance to pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.table import AuditTable
from fairaudit.remedy.limit import SMALLEST
from fairaudit.remedy.pass_chance import KnownCopies, PassChance, chance_of_table
from fairaudit.remedy.price import quality_of
from fairaudit.testing.permutations import Permutations

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.remedy.rows import Rows
    from fairaudit.testing.permutation_result import TestResult

__all__ = ["Judge"]

_COPIES = 199


@dataclass(slots=True, kw_only=True)
class Judge:
    """Measures models by their scores on the same rows, with the same copies.

    Attributes
    ----------
    table : Rows
    rows : array
        Places of the rows in the table.
    plan : Plan
        Of the coming audit.
    coming_rows : int
        How many rows it will have.
    limits : mapping
        Measure → size to certify.
    folds : array or None
        Where scores are out of fold: the fold of every row.
    """

    table: Rows
    rows: Index
    plan: Plan
    coming_rows: int
    limits: Mapping[str, float] = field(default_factory=dict)
    folds: Index | None = None
    _plain: AuditTable | None = None
    _law: Any = None
    _known: KnownCopies | None = None

    def measure(
        self,
        scores: Array,
        *,
        left: float | None = None,
        whole: Array | None = None,
        kept: float = 1.0,
        beside: Array | None = None,
    ) -> dict[str, Any]:
        """Of scores of the larger class, of all classes, or numbers.

        The first ones are those of plain training, beside which others collapse. `left` is for
        models that were made to pass on these rows: the variance of the dependence that is left,
        in that of the noise of these rows. `whole` are the scores before answers were mixed with
        what depends on nothing, so that a share `kept` is left of the variance; the test and the
        chance to pass follow from them. `beside` are those of a model of the same kind: where these
        rows promise less of it, no more is promised of this one. (The best of several models that
        are alike is the luckiest.)
        """
        from fairaudit.remedy.collapse import SURE_TO_CHOOSE, collapse
        from fairaudit.remedy.tradeoff import evaluate

        table = self.table_of(scores)
        if self._plain is None:
            self._plain = table
        outcome = table.require_outcome()
        record = {
            **evaluate(scores, outcome, table.attributes),
            **asdict(quality_of(scores, outcome)),
            "collapsed": collapse(table, self._plain, sure=SURE_TO_CHOOSE),
        }
        growth = self.coming_rows / len(self.rows)
        tested = table if whole is None else self.table_of(whole)
        coming = None if left is None else left * growth
        record |= self._test(table, tested, coming, kept)
        if beside is not None:
            other = self._expect(self.table_of(beside), self.coming_rows, coming, kept)
            record["chance"] = min(record["chance"], other.chance)
        return record

    def find_largest_audit(
        self, whole: Array, chance: float, *, left: float | None, kept: float
    ) -> int | None:
        """About how many rows an audit may have that is passed with this chance, by halves.

        `whole`, `left` and `kept` are those of `measure`. At most the coming rows; None: fewer than
        the smallest share.
        """
        halves = SMALLEST.bit_length()
        table, sizes = self.table_of(whole), self.coming_rows // 2 ** np.arange(halves)
        low, high = 0, len(sizes)  # the first size that is passed
        while low < high:
            middle = (low + high) // 2
            rows = max(int(sizes[middle]), 1)
            scaled = None if left is None else left * rows / len(self.rows)
            if self._expect(table, rows, scaled, kept).chance >= chance:
                high = middle
            else:
                low = middle + 1
        return int(sizes[low]) if low < len(sizes) else None

    def p_value(self, scores: Array) -> float:
        table = self.table_of(scores)
        return 1.0 if table.prediction.constant else self._run(table).p_value

    def table_of(self, scores: Array) -> AuditTable:
        outcome = self.table.outcome.take(self.rows)
        attributes = tuple(column.take(self.rows) for column in self.table.attributes)
        ids = None if self.table.ids is None else self.table.ids.take(self.rows)
        given: dict[str, Any] = {"ids": ids}
        if outcome.kind.is_categorical:  # one score speaks of the last level, several of each
            levels = list(outcome.levels)
            given |= {"positive": levels[-1]} if len(levels) == 2 else {"model_classes": levels}
        return AuditTable.of(scores, attributes, outcome, **given)

    def mixture(self, scores: Array, *, seed: int) -> pd.DataFrame:
        """Plain training mixed at random with the best constant, in growing shares."""
        import pandas as pd

        from fairaudit.remedy.tradeoff import MIXTURE, mixed, mixture

        plain = self.table_of(scores)
        outcome, shares = plain.require_outcome(), (*MIXTURE, 1.0)
        line: pd.DataFrame = mixture(scores, outcome, plain.attributes, seed, shares=shares)
        answers = (
            mixed(scores, outcome, share, np.random.default_rng([seed, 0])) for share in shares
        )
        tested = [self._test(drawn, drawn) for drawn in map(self.table_of, answers)]
        return pd.concat([line, pd.DataFrame(tested)], axis=1)

    def _test(
        self, table: AuditTable, whole: AuditTable, left: float | None = None, kept: float = 1.0
    ) -> dict[str, Any]:
        """The certificates; the test on these rows, and what it promises for the coming audit."""
        certified = self._certify(table)
        if table.prediction.constant:
            return {"p_value": 1.0, "chance": 1.0, "certified": certified}
        if self.folds is None:
            p_value = self._run(table).p_value
            return {"p_value": p_value, "chance": float("nan"), "certified": certified}
        expected = self._expect(whole, self.coming_rows, left, kept)
        return {"p_value": expected.p_value, "chance": expected.chance, "certified": certified}

    def _expect(
        self, table: AuditTable, rows: int, left: float | None, kept: float = 1.0
    ) -> PassChance:
        """Of an audit of so many rows."""
        if self._known is None:
            self._known = KnownCopies(_COPIES, self.plan.permutations.seed)
        return chance_of_table(
            table,
            n_fresh=rows,
            folds=None if left is not None else self.folds,
            left=left,
            alpha=self.plan.alpha,
            known=self._known,
            kept=kept,
        )

    @property
    def _copies(self) -> Permutations:
        few = max(_COPIES, int(10 / self.plan.alpha))
        return Permutations(n=few, seed=self.plan.permutations.seed)

    def _run(self, table: AuditTable) -> TestResult:
        """The test, by copies that all models share."""
        from fairaudit.testing.choice_of_law import prepare_copies
        from fairaudit.testing.core import Scope, run_tests
        from fairaudit.testing.statistic import statistic_named

        if self._law is None:
            self._law = prepare_copies(table, self.plan.choice_of_law, self._copies)
        statistics = statistic_named(self.plan.statistic)
        (result,) = run_tests([Scope(table)], self._law, statistics, self._copies)
        return result

    def _certify(self, table: AuditTable) -> bool:
        """Whether all certificates hold on these rows."""
        from fairaudit.data.threshold import default_threshold
        from fairaudit.evidence.intervals.certify import certificates

        if not self.limits or table.prediction.constant:
            return True
        claims = certificates(
            table, self.limits, alpha=self.plan.alpha, threshold=default_threshold(table)
        )
        return all(claim.holds for claim in claims)
