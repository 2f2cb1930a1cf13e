"""Networks of keras and torch predict as they do at home, in and out of the sandbox."""

import os
import sys

import numpy as np
import pandas as pd
import pytest

from fairaudit.errors import InputError
from fairaudit.models import load_model, predictor_of
from fairaudit_cli.main import main

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(60, 3)), columns=["income", "debt", "amount"])
Y = (X.income > 0).astype(int).to_numpy()


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


@pytest.fixture(scope="module")
def keras():
    pytest.importorskip("torch")
    if "keras" not in sys.modules:
        os.environ["KERAS_BACKEND"] = "torch"
    return pytest.importorskip("keras")


def exported(torch, rows=None, inputs=1):
    """A program that torch has exported, for any number of rows unless one is given."""

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
            self.last = torch.nn.Linear(4, 1)

        def forward(self, income, debt=None, amount=None):
            if debt is not None:
                income = torch.cat([income, debt, amount], dim=1)
            return torch.sigmoid(self.last(self.layers(income)))

    torch.manual_seed(0)
    network = Network().eval()
    example = tuple(torch.zeros(rows or 5, 3 // inputs) for _ in range(inputs))
    dynamic = {0: torch.export.Dim.DYNAMIC}
    sizes = None if rows else tuple([dynamic] * inputs)
    return network, torch.export.export(network, example, dynamic_shapes=sizes)


@pytest.mark.slow  # seconds: torch exports, and is imported by the sandbox each time
@pytest.mark.sandbox
@pytest.mark.parametrize("inputs", [1, 3])
def test_torch_programs(torch, inputs, tmp_path):
    network, program = exported(torch, inputs=inputs)
    path = str(tmp_path / "model.pt2")
    torch.export.save(program, path)
    columns = torch.tensor(X.to_numpy(np.float32))
    given = columns.split(1, dim=1) if inputs == 3 else (columns,)
    own = network(*given).detach().numpy()[:, 0]
    for predictor in (load_model(path), load_model(path, sandbox=False), predictor_of(program)):
        made = predictor.predict(X)["prediction"]
        np.testing.assert_allclose(made, own, rtol=1e-6)
        assert predictor.kind == "torch.export" and predictor.n_features == 3
        assert predictor.features == (tuple(X.columns) if inputs == 3 else None)


def test_a_torch_program_of_a_fixed_number_of_rows_says_so(torch):
    predictor = predictor_of(exported(torch, rows=7)[1])
    assert len(predictor.predict(X[:7])) == 7
    with pytest.raises(InputError, match=r"exported for 7 rows at once, .* dynamic_shapes"):
        predictor.predict(X)
    with pytest.raises(InputError, match="holds text"):
        predictor.predict(X[:7].assign(debt="much"))


def test_networks_of_skorch_get_a_matrix(torch):
    skorch = pytest.importorskip("skorch")
    layers = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Softmax(-1))
    network = skorch.NeuralNetClassifier(layers, max_epochs=1, verbose=0, train_split=None)
    table = X.astype(np.float32)
    network.fit(table.to_numpy(), Y)
    own = network.predict_proba(table.to_numpy())[:, 1]
    np.testing.assert_allclose(predictor_of(network).predict(table)["score"], own)


def networks(keras):
    keras.utils.set_random_seed(0)
    layers, inputs = keras.layers, [keras.Input((1,), name=name) for name in X.columns]
    scale = layers.Normalization()
    scale.adapt(X.to_numpy(np.float32))
    first = [keras.Input((3,)), scale, layers.Dense(4, activation="relu"), layers.Dropout(0.2)]
    joined = keras.ops.relu(layers.Concatenate()(inputs) * 2 + 1)
    return {
        "classes": keras.Sequential([*first, layers.Dense(1, activation="sigmoid")]),
        "three classes": keras.Sequential([*first, layers.Dense(3), layers.Softmax()]),
        "numbers": keras.Sequential([*first, layers.BatchNormalization(), layers.Dense(1)]),
        "an input each": keras.Model(inputs, layers.Dense(1, activation="sigmoid")(joined)),
    }


@pytest.mark.sandbox
def test_keras_models(keras, tmp_path):
    for name, network in networks(keras).items():
        path = str(tmp_path / "model.keras")
        network.save(path)
        table = X.to_numpy(np.float32)
        given = np.split(table, 3, axis=1) if name == "an input each" else table
        own = network.predict(given, verbose=0).squeeze()
        confined = [load_model(path)] if name in ("classes", "an input each") else []
        for predictor in (*confined, load_model(path, sandbox=False), predictor_of(network)):
            made = predictor.predict(X)
            np.testing.assert_allclose(made.to_numpy().squeeze(), own, rtol=1e-6)
            labels = predictor.predict(X, on="labels")["label"]
            if name == "numbers":
                assert list(made) == ["prediction"]
            else:
                expected = own.argmax(axis=1) if own.ndim > 1 else (own >= 0.5).astype(int)
                assert list(labels) == list(expected)
                assert ("score" in made) == (own.ndim == 1) and predictor.notes == ()
            assert predictor.n_features == 3
            assert predictor.features == (tuple(X) if name == "an input each" else None)


def test_an_audit_of_a_keras_file(keras, tmp_path, capsys):
    networks(keras)["classes"].save(str(tmp_path / "m.keras"))
    X.assign(sex=np.tile(["f", "m"], 30), y=Y).to_csv(tmp_path / "t.csv", index=False)
    given = ["--data", str(tmp_path / "t.csv"), "--sensitive", "sex", "--permutations", "19"]
    assert main(["test", "--model", str(tmp_path / "m.keras"), *given]) in (0, 1, 3)
    assert "m.keras" in capsys.readouterr().out


def test_damaged_networks_are_refused_in_one_line(keras, torch, tmp_path):
    networks(keras)["classes"].save(str(tmp_path / "m.keras"))
    torch.export.save(exported(torch)[1], str(tmp_path / "m.pt2"))
    for name in ("m.keras", "m.pt2"):
        whole = (tmp_path / name).read_bytes()
        half = bytearray(whole)
        half[len(half) // 3 : len(half) // 2] = bytes(len(half) // 2 - len(half) // 3)
        for data in (whole[: len(whole) // 2], whole[:40], b"PK\x03\x04", bytes(half)):
            (tmp_path / name).write_bytes(data)
            with pytest.raises(InputError, match="cannot be read as") as caught:
                load_model(str(tmp_path / name), sandbox=False)
            assert "\n" not in str(caught.value)
