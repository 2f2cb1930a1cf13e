"""Honest model files load with no flag, and predict as the model itself."""

import warnings

import numpy as np
import pandas as pd
import pytest
from genuine import MODELS, fitted, saved

from fairaudit.models import load_model


def check_file(path, model, table):
    """The file at `path` holds the model: same class, same predictions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predictor = load_model(str(path))
        assert type(predictor.model) is type(model)
        own = np.asarray(model.predict(table))
        if table.ndim == 1 or (own.ndim == 2 and own.shape[1] > 1):
            made = predictor.model.predict(table)  # of one column, or of several outcomes
        else:
            made = predictor.predict(pd.DataFrame(table), on="labels")["label"]
            own = np.ravel(own)
        np.testing.assert_allclose(made, own)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_loads_with_no_flag(name, tmp_path):
    found = fitted(name)
    if found is None:
        pytest.skip("needs other data")
    model, table = found
    for form in ("pickle 2", "pickle 5", "joblib packed"):
        file, data = saved(model, form)
        (tmp_path / file).write_bytes(data)
        check_file(tmp_path / file, model, table)
