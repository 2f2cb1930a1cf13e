"""Questions over tied blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairaudit.auditing.questions import Question
from fairaudit.geometry.block_sums import BlockSpace, CoarseBlocks, SeenRows

__all__ = ["place_questions"]


def place_questions(
    questions: Sequence[Question], space: BlockSpace, seen: SeenRows
) -> tuple[list[Question], list[CoarseBlocks]]:
    """The questions that can be answered, and their blocks."""
    placed = [(question, _place(question, space, seen)) for question in questions]
    answerable = [(question, blocks) for question, blocks in placed if blocks is not None]
    return [question for question, _ in answerable], [blocks for _, blocks in answerable]


def _place(question: Question, space: BlockSpace, seen: SeenRows) -> CoarseBlocks | None:
    """None where nothing varies in its class."""
    if question.part is None:
        return CoarseBlocks(space, question.attributes, None)
    (of_class,) = np.flatnonzero(space.outcome.levels == question.part.level).tolist()
    inside = space.outcome.codes == of_class
    attributes_vary = any(len(np.unique(c.codes[inside])) > 1 for c in space.attributes)
    predicted = seen.prediction[seen.inside(of_class)]
    if not attributes_vary or not len(predicted) or np.ptp(predicted, axis=0).max() == 0:
        return None
    return CoarseBlocks(space, question.attributes, of_class)
