"""What shards say together to a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairaudit.auditing.questions import Question
    from fairaudit.testing.p_value import Null
    from fairaudit.testing.trust import Trust

__all__ = ["ShardedAnswer"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ShardedAnswer:
    """The statistics of data and copies over all shards, and whether they can be believed."""

    question: Question
    null: Null
    trust: Trust
    rows: int
    kpc: float | None
    kpc_raw: float | None = None
