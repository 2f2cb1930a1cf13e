"""Remedies that fairaudit 0.1.0 has saved load without a flag and predict what they predicted."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn

from fairaudit.models import load_model

FOLDER = Path(__file__).parents[1] / "golden" / "models"
KEPT = json.loads((FOLDER / "predictions.json").read_text(encoding="utf-8"))
TABLE = pd.DataFrame(KEPT["rows"])
#: A logistic regression of scikit-learn 1.9 is inside; older versions cannot ask it.
OF_SCIKIT_LEARN = ("ICPPostProcessor", "ReductionClassifier")


def test_every_file_has_predictions():
    assert {path.stem for path in FOLDER.glob("*.pkl")} == set(KEPT["predictions"])


@pytest.mark.parametrize("name", KEPT["predictions"])
def test_models_of_0_1_0_predict_what_they_did(name):
    if name in OF_SCIKIT_LEARN and tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9):
        pytest.skip(f"scikit-learn 1.9 saved a part of it, this is {sklearn.__version__}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn, about its own version
        predictor = load_model(str(FOLDER / f"{name}.pkl"))
        columns = predictor.columns(list(TABLE), outcome=None, sensitive=[], other=["sex", "age"])
        made = predictor.predict(TABLE[columns]).to_numpy()[:, 0]
    np.testing.assert_allclose(made, KEPT["predictions"][name], rtol=1e-9)
