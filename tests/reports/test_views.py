"""What all formats share: tables, undefined numbers, and that every renderer can be found."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pandas as pd
import pytest

from fairaudit.evidence.localization.claims import Curve, Localization
from fairaudit.evidence.power.power_result import GroupPlan, PowerPoint, SamplePlan
from fairaudit_reports.html import plan_page, remedy_curve_section
from fairaudit_reports.html.place_part import place_part
from fairaudit_reports.html.plane_chart import Point, plane
from fairaudit_reports.machine import plan_picture
from fairaudit_reports.markdown import markdown_parts, plan_markdown
from fairaudit_reports.text import plan_text
from fairaudit_reports.view.remedy_view import build_curve_columns, list_gap_sizes, list_models

HOSTILE = "<b>*x*</b> @user | #7"


def test_names_in_tables_are_no_markup_and_call_nobody():
    """Two tables: that of comparisons turned `@user` into `@ user`, which is another name."""
    text = markdown_parts.table([HOSTILE], [[HOSTILE], ["::add-mask::y"]])
    shown = "| &lt;b>\\*x\\*&lt;/b> @\u200buser \\| #\u200b7 |"
    assert text.splitlines() == [shown, "|---|", shown, "| : :add-mask: :y |"]


@pytest.fixture
def plan() -> SamplePlan:
    curve = tuple(PowerPoint(rows, found, 40, found) for rows, found in ((100, 0.2), (800, 0.9)))
    group = GroupPlan(
        group=HOSTILE,
        share=0.25,
        rows=640,
        rows_of_group=160,
        rows_by_outcome=(("y = 0", 60), ("y = 1", 100)),
        curve=curve,
    )
    masked = GroupPlan(
        group="small", share=None, rows=None, rows_of_group=None, rows_by_outcome=(), curve=curve
    )
    return SamplePlan(
        effect="tpr_gap",
        size=0.1,
        power=0.8,
        alpha=0.05,
        goal="find a TPR gap of 0.1",
        groups=(group, masked),
        pilot_rows=900,
        most_rows=5_000,
        statistic="kpc",
        seconds=1.0,
    )


def test_a_plan_says_the_same_in_every_format(plan):
    """Its Markdown showed names of groups as markup."""
    headline = "More than 5,000 rows are needed to find a TPR gap of 0.1"
    texts = [module.render(plan) for module in (plan_text, plan_markdown, plan_page)]
    for text in texts:
        assert (
            headline in text and "hidden" in text and "&gt; 5,000" in text.replace("> 5", "&gt; 5")
        )
        assert "a simulation error of a few percent" in " ".join(text.split())
    assert "| &lt;b>\\*x\\*" in texts[1] and "<b>" not in texts[1] + texts[2]
    assert plan_picture.render(plan).startswith("<svg") and "<b>" not in plan_picture.render(plan)


def test_undefined_numbers_of_a_curve_are_dashes():
    """The page said `–` where the text said `nan`."""
    nan = float("nan")
    record = {"mu": 0.0, "loss": 0.2, "kpc": 0.1, "deo": nan, "p_value": nan, "p_train": nan}
    fate = {"collapsed": None, "dominated": True, "chosen": True}
    result = SimpleNamespace(
        curve=pd.DataFrame([record | fate]), symbol="μ", loss_name="misclassified"
    )
    (model,) = list_models(result)
    assert model.deo is model.p_value is model.p_train is None
    assert list_gap_sizes([model]) is None
    assert build_curve_columns(result, [model], narrow=True) == [
        ("μ", ["0"]),
        ("loss", ["20.0 %"]),
        ("KPC", ["0.100"]),  # columns without a number are left out
        ("", ["chosen, worse than the mixture"]),
    ]
    told = SimpleNamespace(**vars(result), rows={"choice": 10}, goal="")
    assert "nan" not in remedy_curve_section._table(told, [model])
    numbers = SimpleNamespace(
        curve=pd.DataFrame([record | fate | {"prediction_gap": 12.345}]),
        symbol="μ",
        loss_name="mean squared error",
    )
    assert list_gap_sizes(list_models(numbers)) == ("prediction gap", ["12.3"])
    assert build_curve_columns(numbers, list_models(numbers), narrow=True)[3][0] == "prediction gap"


def test_models_at_one_place_share_a_label_beside_the_numbers_of_the_axis():
    points = [Point("μ 0", 0.1, 25.0), *(Point(f"μ {mu}", 0.0, 30.0) for mu in (0.7, 0.95, 0.99))]
    chosen = Point("μ 0.7, 2 levels", 0.0, 25.0, strong=True)
    drawn = plane([*points, chosen], points, x_name="x", y_name="y", title="t", description="d")
    texts = re.findall(
        r'<text x="([\d.]+)%"[^>]*?(?: dx="(-?\d+)")? y="([\d.]+)"[^>]*>([^<]+)', drawn
    )
    assert {"μ 0.7, 0.95, 0.99", "μ 0.7, 2 levels", "μ 0"} <= {text for *_, text in texts}
    (label,) = (text for text in texts if text[3] == "μ 0.7, 0.95, 0.99")
    (number,) = (text for text in texts if text[3] == "30" and text[0] == "0")
    assert abs(float(label[2]) - float(number[2])) > 12 or float(label[0]) > 10


def test_curves_over_one_number_have_the_same_scales():
    def curve(outcome, low, high):
        return Curve(
            attribute="age",
            group=None,
            outcome=outcome,
            x=(20.0, 40.0),
            value=(low, high),
            low=(low, low),
            high=(high, high),
        )

    wide, narrow = curve("y = 0", -0.5, 0.5), curve("y = 1", -0.1, 0.1)
    place = Localization(0.05, (), (wide, narrow), ())
    numbers = [
        re.findall(r'class="tick">(?!difference)([^<]+)', figure)
        for figure in place_part(place).split("<figure")[1:]
    ]
    assert numbers[0] == numbers[1] and "0.5" in numbers[0]
