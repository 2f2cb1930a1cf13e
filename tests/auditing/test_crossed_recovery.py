"""Nobody can compute what is masked where attributes are crossed: their own numbers help little."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from crossed_recovery import recovered_crossed
from test_recovery import random_groups

import fairaudit as fa
from fairaudit.evidence.disclosure import step_of, suppress

FEWEST = 10
# g and s: rows with outcome 0 and 1, of them predicted 1
TABLES = {
    "one level": {
        "am": (120, 90, 30, 60),
        "af": (100, 80, 25, 50),
        "bm": (80, 70, 25, 40),
        "bf": (60, 50, 15, 33),
        "cm": (5, 3, 2, 1),
        "cf": (20, 18, 3, 9),
    },
    "no level in common": {
        "am": (120, 90, 30, 60),
        "af": (100, 80, 25, 50),
        "bm": (5, 4, 2, 1),
        "bf": (60, 50, 15, 33),
        "cm": (80, 70, 25, 40),
        "cf": (20, 18, 3, 9),
    },
    "extreme": {
        "am": (300, 200, 70, 150),
        "af": (250, 250, 50, 200),
        "bm": (2, 5, 0, 0),
        "bf": (18, 19, 0, 0),
        "cm": (200, 150, 40, 100),
        "cf": (220, 160, 45, 90),
    },
    "large": {
        "am": (3000, 2000, 700, 1500),
        "af": (2500, 2500, 500, 2000),
        "bm": (2, 3, 2, 0),
        "bf": (30, 28, 0, 28),
        "cm": (2000, 1500, 400, 1000),
        "cf": (2200, 1600, 450, 900),
    },
}


def audited(groups):
    rows = [
        (*name, y, label)
        for name, (zeros, ones, fp, tp) in groups.items()
        for y, label, count in ((0, 1, fp), (0, 0, zeros - fp), (1, 1, tp), (1, 0, ones - tp))
        for _ in range(count)
    ]
    frame = pd.DataFrame(rows, columns=["g", "s", "y", "label"])
    frame = frame.sample(frac=1, random_state=0).reset_index(drop=True)
    return fa.audit(
        predictions=frame.label,
        outcome=frame.y,
        sensitive={"g": frame.g, "s": frame.s},
        permutations=fa.Permutations(n=39),
        statistic="correlation",
        power=False,
    )


def truth_of(name, record, y):
    hidden = [cell["levels"] for cell in record["cells"]["cells"] if cell["masked"]]
    assert len(hidden) == 2
    return [TABLES[name]["".join(levels)][column] for column in (y, y + 2) for levels in hidden]


@pytest.mark.parametrize("name", TABLES)
def test_exact_numbers_give_the_counts_away(name):
    result = audited(TABLES[name])
    record = replace(result, cells=suppress(result.cells, FEWEST)).to_dict()
    for y, left in enumerate(recovered_crossed(record, FEWEST, 0)):
        truth = truth_of(name, record, y)
        assert any(list(counts) == truth for counts in zip(*left, strict=True))
        assert max(left.values()) <= 2


@pytest.mark.parametrize("name", TABLES)
def test_what_is_shown_does_not(name):
    record = json.loads(audited(TABLES[name]).suppressed(FEWEST).render("json"))
    step = step_of(FEWEST, record["table"]["people"])
    for y, left in enumerate(recovered_crossed(record, FEWEST, step)):
        truth = truth_of(name, record, y)
        assert any(list(counts) == truth for counts in zip(*left, strict=True))  # a fair attacker
        assert min(left.values()) >= FEWEST, left.values()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_tables(seed):
    rng = np.random.default_rng(seed)
    for _ in range(6):
        hidden = []
        while len(hidden) != 2:
            names = rng.permutation(["am", "af", "bm", "bf", "cm", "cf"]).tolist()
            groups = random_groups(rng, names[:4], names[4:], 500)
            record = audited(groups).suppressed(FEWEST).to_dict()
            hidden = [cell["levels"] for cell in record["cells"]["cells"] if cell["masked"]]
        step = step_of(FEWEST, record["table"]["people"])
        for y, left in enumerate(recovered_crossed(record, FEWEST, step)):
            truth = [groups["".join(levels)][k] for k in (y, y + 2) for levels in hidden]
            assert any(list(counts) == truth for counts in zip(*left, strict=True)), groups
            assert min(left.values()) >= FEWEST, (groups, left.values())


@pytest.mark.parametrize("name", TABLES)
def test_no_format_tells_the_size_of_a_level_with_masked_groups(name):
    """Rows of a level are those of its groups: with one of two shown, the other is the rest."""
    result = audited(TABLES[name])
    masked = result.suppressed(FEWEST)
    hidden = [cell.levels for cell in masked.cells.cells if cell.masked]
    groups = TABLES[name]
    for place in (0, 1):
        for level in {levels[place] for levels in hidden}:
            own = [counts for key, counts in groups.items() if key[place] == level]
            sizes = {
                sum(sum(counts[:2]) for counts in own),
                *(sum(c) for c in zip(*own, strict=True)),
            }
            sizes -= {cell.rows for cell in masked.cells.cells}
            for form in ("txt", "md", "html"):
                text = masked.render(form).replace(",", "")
                assert not [size for size in sizes if size > 99 and f" {size} rows" in text], form
