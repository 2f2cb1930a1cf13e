"""KPC from counts: that of labels, and of the groups that are shown."""

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.evidence.disclosure import suppress
from fairaudit.evidence.shown_kpc import CountedSizes, kpc_of_shown


def audited(scores, alone=False):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"g": rng.choice(["a", "b", "c"], 300, p=[0.5, 0.48, 0.02])})
    frame["s"], frame["y"] = rng.choice(["m", "f"], 300), rng.integers(0, 2, 300)
    frame["x"] = frame.y * 0.5 + rng.random(300) * 0.5 + 0.2 * (frame.g == "a")
    if alone:
        frame.loc[0, "g"] = "d"
    prediction = frame.x / 2 if scores else (frame.x > 0.5).astype(int)
    result = fa.audit(
        predictions=prediction,
        outcome=frame.y,
        sensitive={"g": frame.g, "s": frame.s},
        statistic="correlation",
        permutations=fa.Permutations(n=19),
        power=False,
    )
    return result, frame.assign(label=prediction)


@pytest.mark.parametrize("alone", [False, True])
def test_counts_give_the_kpc_of_labels_and_not_of_scores(alone):
    for scores in (False, True):
        result, _ = audited(scores, alone)
        counted = CountedSizes.of(result.cells, result.measures)
        for finding in result.findings:
            if finding.outcome is None:
                assert counted.give(finding.attributes, finding.kpc) is not scores


def test_it_is_that_of_the_groups_shown():
    result, frame = audited(False)
    masked = suppress(result.cells, 10)
    shown = {cell.levels for cell in masked.cells if not cell.masked}
    rest = frame[[pair in shown for pair in zip(frame.g, frame.s, strict=True)]]
    assert 0 < len(rest) < len(frame)
    for names in (["g", "s"], ["g"], ["s"]):
        own = fa.metrics.kpc(rest.label, sensitive=rest[names], y_true=rest.y)
        assert kpc_of_shown(masked, names) == pytest.approx(float(own))
    assert kpc_of_shown(masked, ["income"]) is None
