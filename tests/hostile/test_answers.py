"""What a model's process may answer once a file has taken it over: the caller does no work for it.

The files run code of their own when they are opened and speak the protocol themselves.
"""

import sys
import time

import numpy as np
import pandas as pd
import pytest
from attacks_on_kernel import attack_file

from fairaudit.errors import InputError
from fairaudit.models import load_model, loading
from fairaudit.models.sandbox import Limits, Model, SandboxedModel

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux confines processes"),
]

ROWS = 40
SPEAK = """
import json, os, struct, time
def send(content, arrays=(), data=b"", text=None):
    text = text or json.dumps(dict(content=content, arrays=list(arrays))).encode()
    left = struct.pack("<QI", len(text), len(arrays)) + text + data
    while left:
        left = left[os.write(3, left[:65536]):]
def take():
    def read(size):
        data = b""
        while len(data) < size:
            data += os.read(3, size - len(data))
        return data
    return json.loads(read(struct.unpack("<QI", read(12))[0]))
def facts(**changed):
    made = dict(kind="x", features=None, n_features=None, classes=None, notes=[])
    send(dict(facts={**made, **changed}))
def answer(columns, *args, **changed):
    facts(); take()
    send({**dict(rows=40, columns=columns, meaning="numbers", classes=None), **changed}, *args)
def column(dtype="object", **more):
    return dict(name="a", dtype=dtype, **more)
"""
#: Answers that no model gives.
NONSENSE = {
    "shapes of nothing": "answer([column('float64')], [['<f8', [0, 2**39]]])",
    "shapes without end": "answer([column('float64')], [['<f8', [2**30, 2**30]]])",
    "other bytes": "answer([column('>f8')], [['>f8', [40]]], b'@' * 320)",
    "wide numbers": "answer([column('float128')], [['<f16', [40]]], b'@' * 640)",
    "times": "answer([column('datetime64[ns]')], [['<M8[ns]', [40]]], b'@' * 320)",
    "objects": "answer([column()], [['|O', [40]]], b'@' * 320)",
    "few rows": "answer([column('float64')], [['<f8', [39]]], b'@' * 312)",
    "two dimensions": "answer([column('float64')], [['<f8', [20, 2]]], b'@' * 320)",
    "no columns": "answer([])",
    "columns by name": "answer(dict(a=1))",
    "many columns": "answer([column('int8')] * 20000, [['|i1', [40]]] * 20000, b'@' * 800000)",
    "a list as dtype": "answer([column(['f8'] * 5, values=[1] * 40)])",
    "long numbers": "answer([column(values=[10**4000] * 40)])",
    "whole numbers of no size": "answer([column('Int64', values=[10**400] * 40)])",
    "dicts": "answer([column(values=[{}] * 40)])",
    "long texts": "answer([column(values=['a' * 20000] * 40)])",
    "codes beyond": "answer([column('str', texts=['a'])], [['<i8', [40]]], b'@' * 320)",
    "a meaning of its own": "answer([column(values=[1] * 40)], meaning=[])",
    "classes of no list": "answer([column(values=[1] * 40)], classes=dict(a=1))",
    "wide classes": "facts(classes=['a' * 10000] + ['b'] * 100000)",
    "long classes": "facts(classes=['a' * 2000000])",
    "long numbers as classes": "facts(classes=[10**4000])",
    "long names": "facts(features=['a' * 20000])",
    "features of no number": "facts(n_features='3')",
    "features without end": "facts(n_features=2**40)",
    "notes of no list": "facts(notes='x')",
    "no facts": "send(dict(facts=None))",
    "many lists": "send(0, text=b'{\"content\": {\"x\": [' + b'[],' * 10**6 + b'[]]}}')",
    "a long message": "send(dict(error='x' * 20000000))",
    "a deep message": "send(0, text=b'[' * 200000)",
    "no JSON": "send(0, text=b'\\xff' * 2000)",
}


def opened(code, seconds=20):
    data = attack_file(
        f"exec({SPEAK + code + chr(10) + 'time.sleep(600)'!r}, dict())", predicting=False
    )
    return Model(
        name="model.pkl",
        data=data,
        limits=Limits(2 * 2**30, seconds),
        opener="unchecked:open_pickle",
    )


def table(rows=ROWS):
    return pd.DataFrame(np.ones((rows, 3)), columns=["a", "b", "c"])


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_ends_it(name):
    with pytest.raises(InputError, match="answered what no model answers"):
        SandboxedModel(opened(NONSENSE[name])).scores(table())


def test_who_does_not_read_is_stopped_in_time():
    """The table is longer than what fits between the processes."""
    held = SandboxedModel(opened("facts()", seconds=3))
    started = time.monotonic()
    with pytest.raises(InputError, match="ran longer than 3 s"):
        held.scores(table(400_000))
    assert time.monotonic() - started < 60


def test_what_it_says_is_plain_text(monkeypatch, tmp_path):
    said = "'\\x1b[2J\\n' + 'x' * 9000"
    model = SandboxedModel(opened(f"facts(kind={said}, notes=[{said}] * 99)"))
    assert model.kind.isprintable() and len(model.kind) <= 300
    assert len(model.notes) == 50
    assert all(note.isprintable() and len(note) <= 500 for note in model.notes)
    model.close()
    with pytest.raises(InputError) as caught:
        SandboxedModel(opened(f"send(dict(error={said}, argument=[['a'], dict(), 'trust', 'x']))"))
    assert str(caught.value).isprintable() and len(str(caught.value)) <= 2000
    assert caught.value.argument == ("trust",)


@pytest.mark.parametrize(
    "changed", ["n_features=2**31 - 1", "features=[str(i) * 9 for i in range(10**5)]"]
)
def test_features_that_the_table_does_not_have(changed, monkeypatch, tmp_path):
    """No list of two billion names is made, and no name compared with all others."""
    made = opened(f"facts({changed})")
    monkeypatch.setattr(loading, "Model", lambda **given: made)
    (tmp_path / "m.pkl").write_bytes(b"x")
    predictor = load_model(str(tmp_path / "m.pkl"))
    with pytest.raises(InputError, match="features") as caught:
        predictor.columns(["a", "b", "c"], outcome="c", sensitive=["a"])
    assert len(str(caught.value)) < 1500
    predictor.model.close()
