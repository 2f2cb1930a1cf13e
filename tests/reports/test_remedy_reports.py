"""What reports say of a remedy that was searched for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from fairaudit.remedy.forgone import Forgone
from fairaudit.remedy.price import Quality
from fairaudit.remedy.remedy_result import Outcome, RemedyResult
from fairaudit_reports.formats import render_html, render_md, render_txt
from fairaudit_reports.view.remedy_answer_view import list_answers, list_gains, title_advice
from fairaudit_reports.view.remedy_view import (
    build_curve_columns,
    describe_mixture,
    list_changes,
    list_models,
    select_models,
)

OLD = Path(__file__).parents[1] / "golden/records_0_1_0/remedy.json"


def record(mu, strength=0.0, loss=0.2, chance=0.5, **more):
    common = {"method": "boosting", "levels": 2 if strength else 0, "attributes": False}
    sizes = {"kpc": 0.01, "deo": 0.1, "p_value": 0.3, "p_train": float("nan"), "ranking": 0.8}
    fate = {"collapsed": None, "dominated": False, "chosen": False}
    told = {"mu": mu, "strength": strength, "loss": loss, "chance": chance}
    return {**common, **sizes, **fate, **told, **more}


@pytest.fixture
def old():
    return RemedyResult.from_dict(json.loads(OLD.read_text(encoding="utf-8")))


@pytest.fixture
def searched(old):
    """A record of 0.1 with what a search adds to it."""
    curve = [
        record(0.0, loss=0.20, chance=0.0),
        record(0.8, 1.3, loss=0.23, chance=0.913, chosen=True, attributes=True),
        *(record(0.5, 1.0, loss=0.3 + k / 100, chance=0.6, collapsed="lost") for k in range(20)),
        record(0.95, loss=0.25, chance=0.95),
    ]
    mixture = old.mixture.assign(chance=[1.0] * len(old.mixture), loss=0.31)
    return replace(
        old,
        outcome=Outcome.REPAIRED,
        method="boosting",
        parameter="mu",
        mu=0.8,
        strength=1.3,
        attributes_at_prediction=True,
        goal="pass",
        chance=0.913,
        coming_rows=5000,
        rows={**old.rows, "choice": 0},
        quality=(
            Quality(ranking=0.81, brier=0.14, calibration_error=0.03),
            Quality(ranking=0.77, brier=0.16, calibration_error=0.04),
        ),
        forgone=(Forgone(what="attributes", loss=0.251), Forgone(what="randomization", loss=None)),
        advice=("What the answers say already.",),
        curve=pd.DataFrame(curve),
        mixture=mixture,
    )


def test_the_answers_of_a_search(searched):
    answers = dict(list_answers(searched))
    assert answers["And the next audit?"].startswith("An audit of 5,000 new rows passes with a")
    assert "chance of 91 %" in answers["And the next audit?"]
    assert (
        "the same person always gets the same one; 30 % of the answers are mere chance"
        in (answers["Is chance in it?"])
    )
    assert answers["Does it need the attributes?"].startswith("Yes: ")
    offers = answers["What was not allowed?"]
    assert "time: nothing would be gained: misclassified 25.1 % instead of 23.0 %" in offers
    assert "With answers that are drawn: the goal would not be reached either." in offers
    assert title_advice(searched) is None
    full = dict(list_answers(replace(searched, strength=1.0)))["Is chance in it?"]
    assert "none of them is mere chance" in full
    none = dict(list_answers(replace(searched, strength=0.0)))["Is chance in it?"]
    assert none == "No: nothing is drawn."


def test_the_answers_of_an_old_record(old):
    """It says nothing about draws or a coming audit, and nothing is made up for it."""
    assert [question for question, _ in list_answers(old)][:2] == [
        "Did it pass?",
        "Does it need the attributes?",
    ]
    assert describe_mixture(old) is None
    assert not {"AUC", "Brier score"} & {change.name for change in list_changes(old)}


def test_the_best_models_of_a_long_search(searched):
    models = list_models(searched)
    shown = select_models(models)
    assert len(models) == 23 and len(shown) == 14
    assert shown[0].plain and [model.mu for model in shown[1:3]] == [0.8, 0.95]
    assert models[0].fate == "" and shown[1].fate == "chosen"
    names, losses, *others, _ = build_curve_columns(searched, shown, narrow=True)
    assert names == ("model", ["μ 0", "μ 0.8*, 2 levels + 30 %", *names[1][2:]])
    assert [name for name, _ in others] == ["AUC", "KPC", "p", "passes"]
    assert losses[1][:2] == ["20.0 %", "23.0 %"]
    assert describe_mixture(searched).endswith("at a loss of 31.0 %; the chosen model has 23.0 %.")


def test_every_format_says_it(searched):
    for render in (render_html, render_md, render_txt):
        text = " ".join(render(searched).split())
        for told in ("5,000 new rows", "23 models were looked at", "Brier score", "A star"):
            assert told in text, (render.name, told)
        assert "nan" not in text.replace("finance", "") and "already" not in text
    assert render_html(searched).count("μ 0.8*, 2 levels + 30 %") >= 2  # the table and the chart
    lines = render_txt(searched).splitlines()
    assert max(map(len, lines)) <= 110


def test_groups_that_change_most(searched):
    """Of both directions; masked groups are no part of it, and equal rates are no change."""
    before = searched.before.cells
    assert before is not None and list_gains(replace(searched, after=searched.before)) == []
    first, second, *rest = before.cells
    up, down = (
        replace(
            cell,
            estimates=tuple(
                replace(estimate, value=value, rows=200)
                for estimate, value in zip(cell.estimates, values, strict=True)
            ),
        )
        for cell, values in ((first, (0.9, 0.95, 0.5)), (second, (0.1, 0.2, 0.05)))
    )
    moved = replace(searched.after, cells=replace(before, cells=(up, down, *rest)))
    sentence, *_ = list_gains(replace(searched, after=moved))
    names = {side: "sex = " + ", ".join(cell.levels) for side, cell in (("up", up), ("down", down))}
    assert f"up for {names['up']} (" in sentence and "→ 0.90)" in sentence
    assert f"down for {names['down']} (" in sentence
    hidden = replace(before, cells=(replace(up, masked=True), down, *rest))
    masked = list_gains(replace(searched, after=replace(searched.after, cells=hidden)))
    assert "up for" not in masked[0] and "asked groups are left out." in masked[-1]


def test_masks_round_the_new_numbers(searched):
    result = replace(searched, quality=(Quality(ranking=0.8123, brier=0.1417),) * 2)
    shown = result.suppressed(10_000)  # everybody is in a small group
    assert any("rounded to steps" in note for note in shown.notes)
    assert shown.quality[0].ranking != 0.8123 and shown.quality[0].calibration_error is None
    assert shown.forgone[0].loss != 0.251 and shown.forgone[1].loss is None
    assert shown.chance == 0.91 and set(shown.curve["ranking"]) != {0.8}
