"""What attributes meet, by permutations and by copies in which rows occur twice."""

import numpy as np
import pytest

from fairaudit.permute.copies import gathered


@pytest.mark.parametrize("twice", [False, True])
def test_sums_over_copies_are_those_of_moved_features(twice):
    rng = np.random.default_rng(4)
    n, values, features = 40, rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    copies = np.array([rng.permutation(n) for _ in range(5)])
    if twice:
        copies[2] = rng.integers(0, n, n)
    moved = gathered(copies, values)
    for copy, columns in zip(copies, moved, strict=True):
        np.testing.assert_allclose(columns @ features, values.T @ features[copy])
