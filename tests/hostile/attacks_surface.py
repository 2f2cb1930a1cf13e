"""Families of hostile files with their variants: one rule must hold for pickle, joblib and skops.

Added to the corpus of `attacks_inside`: keys with two underscores, functions beyond the short list,
scorers where something is called, texts from files, callables that are not named, text models of
lightgbm that lie about their sizes.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import attacks_networks  # noqa: F401  its files belong to the corpus
import numpy as np
from attacks import RIDGE, TRANSFORMER, Hostile, archive, attack, by_joblib, by_skops, pickles
from attacks_inside import (
    ATTACKS,
    READER,
    as_json,
    attribute,
    constant,
    several,
    skops_attribute,
    skops_node,
    skops_partial,
    table,
)
from opcodes import Raw, call, made, named, push, whole
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.pipeline import make_pipeline

__all__ = ["ATTACKS"]


def in_pickles(name: str, build: Callable[[Path], Raw]) -> None:
    """The same object in a pickle, and in a packed file of joblib."""
    pickles(f"{name} in a pickle", lambda c: whole(build(c)))
    pickles(f"{name} in joblib", lambda c: zlib.compress(whole(build(c))), "model.joblib")


# ---------------------------------------------------------------- keys with two underscores

DUNDER = (
    "__array_function__",
    "__array_priority__",
    "__array_ufunc__",
    "__arrow_c_stream__",
    "__call__",
    "__dataframe__",
    "__dict__",
    "__dlpack__",
    "__getstate__",
    "__index__",
    "__iter__",
    "__narwhals_dataframe__",
    "__reduce__",
    "__setstate__",
    "__sklearn_clone__",
    "__sklearn_tags__",
)
for _key in DUNDER:
    in_pickles(f"key {_key}", lambda c, k=_key: made(*RIDGE, coef_=1.0, **{k: READER}))
    skops_attribute(
        f"skops key {_key}",
        lambda c, k=_key: skops_node(
            {
                "content": {k: as_json(1, 72)},
                "key_types": several(
                    [skops_node(None, "TypeNode", "builtins", "str", 73)], 74, "list"
                ),
                "__class__": "dict",
                "__module__": "builtins",
                "__loader__": "DictNode",
                "__id__": 75,
            },
            "ObjectNode",
            *RIDGE,
            number=70,
        ),
    )
for _class in (("sklearn.pipeline", "Pipeline"), ("lightgbm.basic", "Booster"), TRANSFORMER):
    in_pickles(
        f"lightgbm slot {_class[1]}" if "lightgbm" in _class[0] else f"slot of {_class[1]}",
        lambda c, k=_class: Raw(
            named(*k) + b")\x81" + push((None, {"__array_interface__": READER})) + b"b"
        ),
    )

# ---------------------------------------------------------------- functions beyond the list

FUNCTIONS = (
    ("numpy", "apply_along_axis"),
    ("numpy", "frompyfunc"),
    ("numpy", "fromfile"),
    ("numpy", "genfromtxt"),
    ("numpy", "load"),
    ("numpy", "savetxt"),
    ("numpy", "vectorize"),
    ("numpy", "piecewise"),
    ("scipy._lib._ccallback", "LowLevelCallable"),
    ("scipy.optimize", "fsolve"),
    ("sklearn.base", "clone"),
    ("sklearn.datasets", "load_svmlight_file"),
    ("sklearn.metrics.pairwise", "pairwise_distances"),
    ("sklearn.metrics.pairwise", "pairwise_kernels"),
    ("sklearn.metrics.pairwise", "pairwise_distances_chunked"),
    ("sklearn.model_selection._validation", "cross_val_predict"),
    ("sklearn.utils._response", "_get_response_values"),
    ("operator", "methodcaller"),
)
for _module, _name in FUNCTIONS:
    in_pickles(
        f"function {_module}.{_name}",
        lambda c, m=_module, n=_name: made(*TRANSFORMER, func=named(m, n), n_features_in_=3),
    )
    skops_attribute(
        f"skops function {_module}.{_name}",
        lambda c, m=_module, n=_name: skops_node(None, "FunctionNode", m, n),
    )

# ---------------------------------------------------------------- scorers where something is called

SCORERS = (
    ("sklearn.svm._classes", "SVC", "kernel"),
    ("sklearn.kernel_ridge", "KernelRidge", "kernel"),
    ("sklearn.kernel_approximation", "Nystroem", "kernel"),
    ("sklearn.decomposition._kernel_pca", "KernelPCA", "kernel"),
    ("sklearn.feature_selection._univariate_selection", "SelectKBest", "score_func"),
    ("sklearn.neighbors._regression", "KNeighborsRegressor", "weights"),
    ("sklearn.neighbors._classification", "KNeighborsClassifier", "metric"),
    ("sklearn.preprocessing._function_transformer", "FunctionTransformer", "func"),
)
SCORER = Raw(pickle.dumps(make_scorer(accuracy_score), protocol=2)[2:-1])
for _module, _name, _key in SCORERS:
    in_pickles(
        f"scorer as {_key} of {_name}",
        lambda c, m=_module, n=_name, k=_key: made(
            m, n, **{k: SCORER, "n_features_in_": 3, "coef_": 1.0}
        ),
    )

# ---------------------------------------------------------------- texts from files

for _kind in (CountVectorizer, HashingVectorizer, TfidfVectorizer):
    for _input in ("filename", "file", np.str_("filename"), ["filename"], b"filename"):
        _model = _kind(input="content")
        _model.input = _input
        _what = f"{_kind.__name__} input {type(_input).__name__} {_input!r}"
        pickles(f"{_what} in a pickle", lambda c, m=_model: pickle.dumps(m))
        pickles(f"{_what} in joblib", lambda c, m=_model: by_joblib(m), "model.joblib")


def read_by_skops(kind: Any) -> bytes:
    import skops.io

    return bytes(skops.io.dumps(kind(input="filename")))


for _kind in (CountVectorizer, HashingVectorizer, TfidfVectorizer):
    ATTACKS[f"skops {_kind.__name__} of files"] = lambda c, k=_kind: Hostile(
        "model.skops", read_by_skops(k)
    )

# ---------------------------------------------------------------- callables that have no name

for _module, _name, _arguments in (
    ("operator", "attrgetter", ("predict",)),
    ("operator", "itemgetter", (0,)),
    ("operator", "methodcaller", ("tofile", "x")),
    ("types", "MethodType", (1, 2)),
    ("functools", "cmp_to_key", (1,)),
    ("functools", "partial", (Raw(call("functools", "partial", named("builtins", "print"))),)),
    ("functools", "partial", (Raw(named("xgboost.core", "Booster")),)),
    ("functools", "partial", (Raw(named("sklearn.linear_model._ridge", "Ridge")),)),
):
    _about = f"{_name} of {len(_arguments)}" if _name != "partial" else ""
    in_pickles(
        _about or f"partial number {len(ATTACKS)}",
        lambda c, m=_module, n=_name, a=_arguments: made(*TRANSFORMER, func=call(m, n, *a)),
    )
skops_attribute(
    "skops partial of a partial",
    lambda c: skops_partial(skops_partial(skops_node(None, "FunctionNode", "os", "system", 66))),
)
skops_attribute(
    "skops partial of a method",
    lambda c: skops_partial(skops_node(None, "MethodNode", "builtins", "method", 66)),
)
for _loader in ("ObjectNode", "TypeNode", "NdArrayNode", "ListNode", "FunctionNode"):
    skops_attribute(
        f"skops memmap by a {_loader}",
        lambda c, k=_loader: skops_node(several([as_json("x", 90)], 93), k, "numpy", "memmap"),
    )


@attack
def xgboost_that_opens_a_text(canary: Path) -> Hostile:
    """A table that steps have turned into a text is a path to xgboost."""
    import xgboost

    model = xgboost.XGBRegressor(n_estimators=1).fit(*table())
    steps = [*constant(f"file://{canary}?format=csv"), model]
    return Hostile("model.pkl", pickle.dumps(make_pipeline(*steps)))


# ---------------------------------------------------------------- text models that lie


@cache
def lightgbm_text() -> str:
    import lightgbm

    numbers, outcome = table()
    data = lightgbm.Dataset(numbers, outcome)
    settings = {"verbosity": -1, "objective": "binary", "min_data_in_leaf": 2, "num_threads": 1}
    return str(lightgbm.train(settings, data, 2).model_to_string())


def replaced(key: str, value: str, text: str | None = None) -> str:
    """The model with another value of every line of this name."""
    lines = (lightgbm_text() if text is None else text).splitlines(keepends=True)
    assert any(line.startswith(f"{key}=") for line in lines), key
    return "".join(f"{key}={value}\n" if line.startswith(f"{key}=") else line for line in lines)


LIES = {
    "classes": ("num_class", "1000000000"),
    "no classes": ("num_class", "0"),
    "negative classes": ("num_class", "-1"),
    "trees of a step": ("num_tree_per_iteration", "2000000000"),
    "no trees of a step": ("num_tree_per_iteration", "0"),
    "features": ("max_feature_idx", "2147483647"),
    "negative features": ("max_feature_idx", "-1"),
    "leaves": ("num_leaves", "2147483647"),
    "no leaves": ("num_leaves", "0"),
    "negative leaves": ("num_leaves", "-5"),
    "categories": ("num_cat", "2000000000"),
    "negative categories": ("num_cat", "-1"),
    "far features": ("split_feature", "1000000000 " * 1),
    "few children": ("left_child", "-1"),
    "few thresholds": ("threshold", "0.5"),
    "few values": ("leaf_value", "0.5"),
    "few decisions": ("decision_type", "2"),
    "sizes": ("tree_sizes", "4000000000 4000000000"),
    "negative sizes": ("tree_sizes", "-1 -1"),
}
for _lie, (_key, _value) in LIES.items():
    pickles(
        f"lightgbm text that lies about {_lie}",
        lambda c, k=_key, v=_value: replaced(k, v).encode(),
        "model.txt",
    )


def turned(key: str, change: Callable[[list[str]], list[str]]) -> str:
    """The model with the numbers of every line of this name changed."""
    out = []
    for line in lightgbm_text().splitlines(keepends=True):
        name, _, values = line.partition("=")
        out.append(f"{name}={' '.join(change(values.split()))}\n" if name == key else line)
    return "".join(out)


BENT: dict[str, tuple[str, Callable[[list[str]], list[str]]]] = {
    "children beyond the tree": ("right_child", lambda all_: ["999999", *all_[1:]]),
    "leaves beyond the tree": ("left_child", lambda all_: ["-999999", *all_[1:]]),
    "children that are their parents": ("left_child", lambda all_: ["0"] * len(all_)),
    "features beyond the table": ("split_feature", lambda all_: ["70000"] * len(all_)),
    "negative features": ("split_feature", lambda all_: ["-3"] * len(all_)),
    "sets that are not there": ("decision_type", lambda all_: ["1"] * len(all_)),
}
for _lie, (_key, _change) in BENT.items():
    pickles(
        f"lightgbm tree of {_lie}", lambda c, k=_key, f=_change: turned(k, f).encode(), "model.txt"
    )
    pickles(
        f"lightgbm booster of {_lie} in a pickle",
        lambda c, k=_key, f=_change: whole(
            made("lightgbm.basic", "Booster", handle=turned(k, f), params={})
        ),
    )


def change_text(text: str) -> Callable[[dict[str, Any]], None]:
    keys = several([skops_node(None, "TypeNode", "builtins", "str", 73)] * 1, 74, "list")
    state = {
        "content": {"handle": as_json(text, 72)},
        "key_types": keys,
        "__class__": "dict",
        "__module__": "builtins",
        "__loader__": "DictNode",
        "__id__": 75,
    }
    return attribute(skops_node(state, "ObjectNode", "lightgbm.basic", "Booster", 70))


@attack
def skops_of_a_lightgbm_text_that_lies(canary: Path) -> Hostile:
    lie = turned("right_child", lambda all_: ["999999", *all_[1:]])
    return Hostile("model.skops", archive(by_skops(change_text(lie))))


# ---------------------------------------------------------------- catboost

CATBOOST = ("catboost.core", "CatBoostClassifier")
for _what, _state in {
    "another file": {"__model": Raw(b"B\x04\x00\x00\x00\x80\x04N.")},
    "a path": {"__model": "/etc/passwd"},
    "rubbish": {"__model": Raw(b"B\x08\x00\x00\x00CBM1\xff\xff\xff\xff")},
    "an estimator as loss": {"loss_function": made(*RIDGE)},
    "a function as metric": {"eval_metric": named("numpy", "log1p")},
    "a memory to read": {"__array_interface__": READER},
    "a method": {"__init__": 1},
    "a deep setting": {"text_processing": [[[[[[[1]]]]]]]},
}.items():
    in_pickles(f"catboost of {_what}", lambda c, s=_state: made(*CATBOOST, **s))
in_pickles("catboost of no dict", lambda c: Raw(named(*CATBOOST) + b")\x81" + push([1]) + b"b"))
in_pickles("catboost that is called", lambda c: Raw(call(*CATBOOST, 5)))
in_pickles("catboost by another name", lambda c: Raw(call("catboost.core", "CatBoost", 5)))
in_pickles("catboost pool of a file", lambda c: Raw(call("catboost.core", "Pool", str(c))))
for _what, _data in {
    "pickle": lambda c: whole(call("os", "system", f"touch {c}")),
    "rubbish": lambda c: b"CBM1" + b"\xff" * 999,
    "size without end": lambda c: b"CBM1\xff\xff\xff\x7f" + b"\x00" * 64,
    "nothing more": lambda c: b"CBM1",
    "json": lambda c: b'{"model_info": {}, "oblivious_trees": []}',
}.items():
    pickles(f"catboost file of {_what}", _data, "model.cbm")


def catboost_by_skops(state: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    """A transformer whose function is an estimator of catboost with this state."""
    kinds = [skops_node(None, "TypeNode", "builtins", "str", 73) for _ in state]
    content = {
        "content": state,
        "key_types": several(kinds, 74, "list"),
        "__class__": "dict",
        "__module__": "builtins",
        "__loader__": "DictNode",
        "__id__": 75,
    }
    return attribute(skops_node(content, "ObjectNode", *CATBOOST, 70))


for _what, _node in {
    "a path as model": {"__model": as_json("/etc/passwd", 72)},
    "an estimator as loss": {"loss_function": skops_node(None, "ObjectNode", *RIDGE, number=72)},
    "a function as metric": {
        "eval_metric": skops_node(None, "FunctionNode", "numpy", "log1p", number=72)
    },
    "a memory to read": {"__array_interface__": as_json(1, 72)},
}.items():
    ATTACKS[f"catboost by skops of {_what}"] = lambda c, s=_node: Hostile(
        "model.skops", archive(by_skops(catboost_by_skops(s)))
    )
