"""What a last stage leaves because it was fitted to few rows: drawn again, and fresh ones."""

import numpy as np
import pytest

from fairaudit.remedy.stage_error import count_draws, draw_people, find_stage_error, split_outcome

GROUPS = 4


def _rates(groups, answers, rows):
    return np.array([answers[rows][groups[rows] == g].mean() for g in range(GROUPS)])


def test_all_rows_of_a_person_are_drawn_together_and_as_often():
    units = np.random.default_rng(0).permutation(np.repeat(np.arange(300), 3))
    for rows in draw_people(units, 1, 0):
        assert len(rows) == 900
        times = np.bincount(rows, minlength=900)
        of_person = [times[units == person] for person in range(300)]
        assert all((own == own[0]).all() for own in of_person)
        assert abs(np.mean([own[0] > 0 for own in of_person]) - (1 - 1 / np.e)) < 0.1


def test_the_fewer_directions_the_more_draws():
    """Few directions tell little each, and a search takes the luckiest estimate."""
    counts = [count_draws(functions) for functions in (1, 4, 10, 100)]
    assert counts == sorted(counts, reverse=True) and counts[1] >= 4 * counts[3]
    assert len(draw_people(np.arange(100), 4, 0)) == counts[1]


@pytest.mark.parametrize("kept", [1.0, 0.5])
def test_the_error_of_means_of_groups_is_one_and_shrinks_with_them(kept):
    """Means that are removed from the rows that they come from: variance 1 (kept²) is left."""
    rng = np.random.default_rng(1)
    n, found = 4000, []
    for repeat in range(20):
        groups = rng.integers(0, GROUPS, n)
        drawn = rng.random(n) < 0.3

        def shift(rows, drawn=drawn, groups=groups):
            # chances of the second level that make up for the group's own rate on these rows
            return (0.3 - kept * (_rates(groups, drawn, rows) - 0.3))[groups]

        stages = [
            np.column_stack([1 - up, up])
            for up in (
                shift(rows) for rows in (np.arange(n), *draw_people(np.arange(n), 17, repeat))
            )
        ]
        psi, values = np.eye(GROUPS)[groups], np.array([[0.0], [1.0]])
        parts = np.zeros(n, dtype=int)
        found.append(find_stage_error(stages[0], stages[1:], values, psi, parts))
    error = 4 * np.std(found) / np.sqrt(len(found))
    # the group means have three directions of noise; overall shifts move all groups alike
    assert abs(np.mean(found) - kept**2) < error


def test_a_stage_that_does_not_change_leaves_nothing():
    rng = np.random.default_rng(2)
    up = rng.random(500)
    stage = np.column_stack([1 - up, up])
    psi = np.eye(2)[rng.integers(0, 2, 500)]
    values, parts = np.array([[0.2], [0.8]]), rng.integers(0, 2, 500)
    assert find_stage_error(stage, [stage, stage], values, psi, parts) == 0.0
    nothing = np.ones((500, 1))
    assert find_stage_error(stage, [stage[::-1]], values, nothing, parts) == 0.0


def test_ranges_of_an_outcome_have_as_many_rows():
    parts = split_outcome(np.random.default_rng(3).normal(size=1000))
    assert (np.bincount(parts) == 100).all()
    assert len(np.unique(split_outcome(np.repeat([0.0, 1.0], 50)))) == 2
