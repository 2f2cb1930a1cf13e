"""Nobody computes a masked count of `fairaudit counts` from sums that an audit shows."""

import numpy as np
import pandas as pd
import pytest

from fairaudit_cli.main import main

FEWEST = 10
CLASSES = [0.1, 0.3, 0.5, 0.7]  # four scores

#: Counts of the scores among those of group a with outcome 0; who knows the rule that hid the
#: smallest others could compute the masked ones: 9, twice 9 and 9.
TABLES = {
    "one small": (9, 22, 22, 40),
    "all small": (9, 9, 9, 30),
    "two small": (9, 9, 10, 30),
    "single people": (1, 1, 1, 60),
}


def masked(counts, capsys, small_group=()):
    people = {("a", 0): counts, ("a", 1): (30, 30, 30, 30), ("b", 0): (50,) * 4}
    people |= {("b", 1): (50,) * 4, ("d", 0): (45,) * 4, ("d", 1): (46,) * 4, **dict(small_group)}
    rows = [
        (group, y, score)
        for (group, y), own in people.items()
        for score, count in zip(CLASSES, own, strict=True)
        for _ in range(count)
    ]
    pd.DataFrame(rows, columns=["g", "y", "score"]).to_csv("t.csv", index=False)
    words = "counts --data t.csv --predictions score --outcome y --sensitive g --suppress 10"
    assert main([*words.split(), "--out", "c.csv"]) == 0
    capsys.readouterr()
    return people, pd.read_csv("c.csv")


@pytest.mark.parametrize("name", TABLES)
def test_a_small_count_takes_all_of_its_group_and_outcome(name, tmp_path, monkeypatch, capsys):
    """With the sum known, each count could be any from 0 to the sum."""
    monkeypatch.chdir(tmp_path)
    people, shown = masked(TABLES[name], capsys)
    open_ = shown[shown.n.notna()]
    assert not ((open_.g == "a") & (open_.y == 0)).any()
    assert len(open_) == 5 * 4 and sum(people["a", 0]) >= 2 * FEWEST
    left = shown[shown.n.isna()]
    assert left.y.tolist() == [0] and left[["g", "score"]].isna().all(axis=None)


def test_the_groups_are_those_of_the_mask_of_an_audit(tmp_path, monkeypatch, capsys):
    """Another group protected the small one here than in the audit: both together gave it away."""
    monkeypatch.chdir(tmp_path)
    # d is the smallest of the others, but not among those with outcome 0
    people, shown = masked((60,) * 4, capsys, [(("c", 0), (2, 2, 1, 0)), (("c", 1), (30,) * 4)])
    words = "test --data t.csv --predictions score --outcome y --sensitive g --permutations 19"
    assert main([*words.split(), "--threshold", "0.4", "--report", "a.json"]) in (0, 1, 3)
    import json

    cells = json.loads((tmp_path / "a.json").read_text())["cells"]["cells"]
    hidden = {cell["levels"][0] for cell in cells if cell["masked"]}
    assert hidden == {"a", "b", "c", "d"} - set(shown.g.dropna()) and "c" in hidden
    assert len(hidden) > 1
    assert np.isclose(
        shown.n.sum(), sum(sum(own) for (g, _), own in people.items() if g not in hidden)
    )
