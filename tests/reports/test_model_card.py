"""A model card of skops, and the text of one."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import fairaudit as fa
from fairaudit_reports.markdown.model_card import SECTION, add_to_card
from fairaudit_reports.view.card_view import write_card
from fairaudit_reports.view.cover import Cover, use_cover
from fairaudit_reports.view.statements_view import describe_statements


@pytest.fixture(scope="module")
def audited():
    rng = np.random.default_rng(2)
    sex, y = rng.choice(["f", "m"], 600), rng.integers(0, 2, 600)
    x = pd.DataFrame({"x": y + 1.5 * (sex == "m") + rng.normal(size=600)})
    model = LogisticRegression().fit(x, y)
    few = fa.Permutations(n=99)
    return model, fa.audit(model, x, y, sensitive={"sex": sex}, permutations=few, power=False)


def test_a_card_of_skops_has_the_sentences_the_sizes_and_the_groups(audited, tmp_path):
    card_type = pytest.importorskip("skops.card").Card
    model, result = audited
    with use_cover(Cover(levels={"sex": {"f": "women"}})):
        card = add_to_card(card_type(model), result)
        sentences = describe_statements(result.suppressed(10))
    card.save(tmp_path / "README.md")
    text = (tmp_path / "README.md").read_text()
    assert f"# {SECTION}" in text and all(sentence in text for sentence in sentences)
    assert "women" in text and "KPC" in text and result.capsule.table_sha256 in text


def test_the_metadata_are_yaml(audited):
    yaml = pytest.importorskip("yaml")
    with use_cover(Cover(model='my "model"')):
        _, front, body = write_card(audited[1]).split("---\n", 2)
    (entry,) = yaml.safe_load(front)["model-index"]
    assert entry["name"] == 'my "model"'
    metrics = {metric["type"]: metric["value"] for metric in entry["results"][0]["metrics"]}
    assert metrics["p_value"] == pytest.approx(0.01)
    assert body.strip().startswith("## Equalized odds")
