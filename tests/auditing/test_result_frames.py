"""Parts of an audit as tables and figures."""

import json

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.auditing.audit_result import AuditResult
from fairaudit.auditing.result_frames import FRAMES
from fairaudit.errors import InputError

FEW = fa.Permutations(n=199)


def _table(n=800):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "race": rng.choice(list("abc"), n),
            "age": rng.integers(20, 70, n),
        }
    )
    return frame, rng


@pytest.fixture(scope="module")
def classes():
    frame, rng = _table()
    y = rng.integers(0, 2, len(frame))
    score = 1 / (
        1
        + np.exp(
            -(y + 0.9 * (frame["sex"] == "m") + 0.03 * frame["age"] - 2 + rng.normal(size=len(y)))
        )
    )
    return fa.audit(predictions=score, outcome=y, sensitive=frame, permutations=FEW)


@pytest.fixture(scope="module")
def numbers():
    frame, rng = _table()
    y = rng.normal(size=len(frame))
    predicted = y + 0.8 * (frame["sex"] == "m") + rng.normal(size=len(y))
    return fa.audit(
        predictions=predicted, outcome=y, sensitive=frame[["sex", "race"]], permutations=FEW
    )


def test_a_violation_is_located_unless_told_otherwise(classes):
    assert classes.verdict == "violation"
    assert classes.localisation.claims
    assert len(classes.curves) == sum(len(curve.x) for curve in classes.localisation.curves) > 0


@pytest.mark.parametrize("what", FRAMES)
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_every_part_is_a_table_that_can_be_written(what, kind, request, tmp_path):
    result = request.getfixturevalue(kind)
    frame = result.to_frame(what)
    assert list(frame.columns)[-len(FRAMES[what][0]) :] == list(FRAMES[what][0])
    frame.to_csv(tmp_path / "part.csv")
    frame.to_parquet(tmp_path / "part.parquet")
    again = AuditResult.from_dict(json.loads(result.to_json()))
    pd.testing.assert_frame_equal(again.to_frame(what), frame)


def test_rows_are_those_of_the_result(classes, numbers):
    assert list(classes.to_frame()["p_value"]) == [finding.p_value for finding in classes.findings]
    assert len(classes.to_frame("gaps")) == len(classes.gaps.gaps)
    first = classes.to_frame("statements").iloc[0]
    contrast = classes.statements[0].contrast
    assert first["kind"] == "treated differently" and first["value"] == contrast.value
    assert first["group"].endswith(contrast.levels[-1])
    assert set(classes.groups["measure"]) == {"selected", "TPR", "FPR"}
    assert list(classes.groups.columns[:3]) == ["sex", "race", "group"]
    assert len(numbers.to_frame("ranges")) == len(numbers.gaps.curve) > 0
    clear = numbers.to_frame("gaps").query("beyond_zero")
    assert len(clear) > 0 and set(np.sign(clear["value"])) == {-1.0, 1.0}


def test_masked_groups_stay_masked(classes):
    masked = classes.suppressed(200)
    shown = masked.groups
    assert shown["masked"].any() and shown.loc[shown["masked"], "rows"].isna().all()


def test_an_unknown_part_is_answered_with_the_nearest(classes):
    with pytest.raises(InputError, match=r"no table 'gap'\. Did you mean 'gaps'"):
        classes.to_frame("gap")
    with pytest.raises(InputError, match="Use one of: null, gaps, groups, curves, scores, power"):
        classes.plot("xyzzy")


def test_figures_are_drawn_on_the_axes_that_are_given(classes, numbers):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    for what in ("null", "gaps", "groups", "curves", "scores", "power"):
        ax = plt.figure().subplots()
        assert classes.plot(what, ax=ax) is ax
        assert ax.get_xlabel()
    ax = plt.figure().subplots()
    assert classes.plot(ax) is ax
    panels = classes.plot("gaps")
    assert [panel.get_xlabel()[:10] for panel in panels] == ["gap in TPR", "gap in FPR"]
    assert panels[0].get_xlim() != panels[1].get_xlim()
    both = classes.plot("scores", attribute="sex")
    assert [panel.get_xlabel() for panel in both] == [
        "score, among y_true = 0",
        "score, among y_true = 1",
    ]
    drawn = [step.get_data() for step in both[1].patches]
    areas = [float((data.values * np.diff(data.edges)).sum()) for data in drawn]
    assert areas == pytest.approx([1.0, 1.0])
    assert numbers.plot("scores").get_ylabel() == "mean prediction (95 %)"
    assert "predictions given" in numbers.plot("gaps").get_xlabel()
    with pytest.raises(InputError, match="nothing to draw for 'curves'"):
        numbers.plot("curves")
    plt.close("all")


def test_names_are_listed_for_completion():
    assert "kpc" in dir(fa.metrics) and dir(fa.metrics) == sorted(fa.metrics.__all__)
    assert "fetch_compas" in dir(fa.datasets)
