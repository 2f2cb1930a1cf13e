"""The dictionary for readers reaches what people read, and nothing that machines read."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit_reports.view.cover import Cover, use_cover

COVER = Cover(
    names={"SEXP": "sex at birth", "RAC": "ancestry", "hired": "was hired"},
    levels={"SEXP": {"7": "women", "8": "men"}, "RAC": {"u": "Ulster", "v": "Valais"}},
)


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"SEXP": rng.choice([7, 8], 900), "RAC": rng.choice(["u", "v"], 900)})
    y = pd.Series(rng.integers(0, 2, 900), name="hired")
    label = (y + 1.2 * (frame.SEXP == 8) + rng.normal(size=900) > 1).astype(int)
    few = fa.Permutations(n=99)
    kinds = {"kinds": {"SEXP": "categorical"}}
    return fa.audit(
        predictions=label, outcome=y, sensitive=frame, permutations=few, power=False, **kinds
    )


def words(text: str) -> str:
    return re.sub(r"<[^>]+>|\\", " ", text)


@pytest.mark.parametrize("form", ["html", "md", "txt"])
def test_tables_for_people_use_it(result, form):
    with use_cover(COVER):
        text = words(result.render(form))
    for name in ("women", "men", "Ulster", "Valais", "sex at birth", "ancestry", "was hired"):
        assert name in text, name
    assert "sex at birth (SEXP)" in text and "women (7)" in text  # the place that translates
    rows = [" ".join(re.split(r"[\s|]+", line)).strip() for line in text.splitlines()]
    assert not [row for row in rows if re.match(r"[78] [uv]\b", row)]
    assert [row for row in rows if re.match(r"women Ulster\b", row)] or form == "html"


def test_records_and_frames_keep_the_values_of_the_data(result):
    with use_cover(COVER):
        record, frame = json.loads(result.render("json")), result.groups
        junit = result.render("xml")
    assert "women" not in json.dumps(record) and "sex at birth" not in json.dumps(record)
    assert set(frame["SEXP"]) == {"7", "8"}
    assert "women" in junit  # messages are for people
