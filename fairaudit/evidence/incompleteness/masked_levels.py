"""Which levels of attributes with missing values are masked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fairaudit.data.missing_values import MISSING_LEVEL
from fairaudit.data.table import AuditTable
from fairaudit.evidence.disclosure import masked_groups
from fairaudit.evidence.incompleteness.incompleteness_result import MissingnessTest

__all__ = ["Masked"]


@dataclass(frozen=True, slots=True)
class Masked:
    """What an audit with this bound masks.

    Attributes
    ----------
    fewest : int
    groups : mapping
        Attribute → its levels in masked groups of all attributes.
    levels : mapping
        Attribute → its levels that are masked where it stands alone.
    """

    fewest: int
    groups: Mapping[str, set[str]]
    levels: Mapping[str, set[str]]

    @property
    def any(self) -> bool:
        return any(map(len, self.groups.values()))

    def inside(self, name: str, levels: Iterable[str]) -> bool:
        """Whether masked groups have one of these levels of an attribute."""
        return not self.groups[name].isdisjoint(levels)

    @classmethod
    def of(cls, tables: Sequence[AuditTable], fewest: int) -> Masked:
        """Tables of one attribute each, of the same rows, missing values being a level."""
        columns = tuple(table.attributes[0] for table in tables)
        names = [column.name for column in columns]
        together = masked_groups(replace(tables[0], attributes=columns), fewest) if tables else ()
        groups = {name: {levels[k] for levels in together} for k, name in enumerate(names)}
        alone = {
            name: {levels[0] for levels in masked_groups(table, fewest)}
            for name, table in zip(names, tables, strict=True)
        }
        return cls(fewest, groups, alone)

    def count(self, test: MissingnessTest) -> MissingnessTest:
        """Without a count of missing values that is small or belongs to masked groups."""
        few = test.missing is not None and test.missing < self.fewest
        masked = test.attribute in self.groups and self.inside(test.attribute, [MISSING_LEVEL])
        return replace(test, missing=None) if few or masked else test
