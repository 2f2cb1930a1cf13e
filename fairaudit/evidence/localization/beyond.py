"""Which attributes add beyond the others: Ŷ ⟂ A_S | Y, A_-S, for all sets S at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fairaudit._types import Progress
from fairaudit.data.encode import encode
from fairaudit.data.table import AuditTable
from fairaudit.evidence.localization.conditional import ConditionalP, conditional_p
from fairaudit.testing.permutations import Permutations

__all__ = ["MOST_FOR_CLOSURE", "Beyond", "beyond_others", "costs_little"]

MOST_FOR_CLOSURE = 4  # attributes; 15 sets of them

_LITTLE = 150_000  # rows times sets of attributes: seconds
_FEWEST_COPIES = 199  # for claims about several attributes and subgroups

_Set = frozenset[int]


def costs_little(table: AuditTable, permutations: Permutations) -> bool:
    """Whether a few seconds and these copies are enough to say where a violation sits."""
    count = len(table.attributes)
    sets = 2**count - 2 if count <= MOST_FOR_CLOSURE else 2 * count - 2
    few = len(table) * max(sets, 1) <= _LITTLE
    return few and permutations.n >= _FEWEST_COPIES and not permutations.stops_early


@dataclass(frozen=True, slots=True, kw_only=True)
class Beyond:
    """One attribute, or several together, given all others.

    `p_adjusted` holds for all sets together; both are None where the attributes do not vary among
    rows that agree in everything else.
    """

    names: tuple[str, ...]
    p_value: float | None
    p_adjusted: float | None
    exact: bool
    free: float


def beyond_others(
    table: AuditTable, joint: float, permutations: Permutations, progress: Progress | None = None
) -> tuple[Beyond, ...]:
    """Sets of attributes given the others, singles first; `joint` is the p-value of all together.

    Notes
    -----
    H_S is Ŷ ⟂ A_S | Y, A_-S. It follows from H_T for every larger set T, so that a set is only
    claimed if all tested sets around it are.

    Up to 4 attributes: all sets are tested (closed testing). That keeps the family-wise error if
    H_S and H_T together are that of S and T joined, which holds unless attributes share a part.
    More: the sets are those of a tree that joins what is closely related first, and the p-value of
    a set of s among m attributes is multiplied by m/s (Meinshausen 2008), which needs nothing.
    """
    count = len(table.attributes)
    everything = frozenset(range(count))
    closed = count <= MOST_FOR_CLOSURE
    sets = _all_sets(count) if closed else _tree(table)
    tests: dict[_Set, ConditionalP] = {}
    for number, some in enumerate(sets):
        tests[some] = conditional_p(table, sorted(some), permutations)
        if progress is not None:
            progress("attributes beyond the others", number + 1, len(sets))
    tests[everything] = ConditionalP(value=joint, exact=False, free=1.0)
    raised = {
        some: _or_one(test.value) * (1.0 if closed else count / len(some))
        for some, test in tests.items()
    }
    ordered = sorted(tests, key=lambda some: (len(some), sorted(some)))
    return tuple(
        Beyond(
            names=tuple(table.attributes[k].name for k in sorted(some)),
            p_value=tests[some].value,
            p_adjusted=(
                None
                if tests[some].value is None
                else min(1.0, max(raised[around] for around in tests if around >= some))
            ),
            exact=tests[some].exact,
            free=tests[some].free,
        )
        for some in ordered
    )


def _or_one(p: float | None) -> float:
    return 1.0 if p is None else p


def _all_sets(count: int) -> list[_Set]:
    """But the one of all attributes, which the gate has tested."""
    return [
        frozenset(chosen) for size in range(1, count) for chosen in combinations(range(count), size)
    ]


def _tree(table: AuditTable) -> list[_Set]:
    """Single attributes and what a tree joins on its way up; closely related ones first."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    encoded = [encode([column]) for column in table.attributes]
    count = len(encoded)
    distance = np.zeros((count, count))
    for i, j in combinations(range(count), 2):
        distance[i, j] = distance[j, i] = 1 - _association(encoded[i], encoded[j])
    members = [frozenset([k]) for k in range(count)]
    for left, right, *_ in linkage(squareform(distance), "average"):
        members.append(members[int(left)] | members[int(right)])
    return [some for some in members if len(some) < count]


def _association(x: np.ndarray, y: np.ndarray) -> float:
    """The largest absolute correlation of their columns."""
    x, y = ((z - z.mean(axis=0)) / np.maximum(z.std(axis=0), 1e-12) for z in (x, y))
    return float(min(np.abs(x.T @ y / len(x)).max(), 1.0))
