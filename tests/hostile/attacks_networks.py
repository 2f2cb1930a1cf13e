"""Hostile ``.keras`` and ``.pt2`` files, made by hand: neither keras nor torch is needed.

Code in layers, names of functions, pickles where numbers belong, members that point elsewhere. The
honest parts of the files are those that the libraries write.
"""

from __future__ import annotations

import base64
import copy
import json
import marshal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attacks import ATTACKS, Hostile, archive, nested, python, shell

__all__ = ["keras_file", "torch_file"]

# ---------------------------------------------------------------- keras


def layer(module: str | None, kind: str, /, **config: Any) -> dict[str, Any]:
    return {"module": module, "class_name": kind, "config": config, "registered_name": None}


INPUT = layer("keras.layers", "InputLayer", batch_shape=[None, 3], dtype="float32", name="x")


def keras_file(*layers: Any, **more: bytes) -> bytes:
    model = layer("keras", "Sequential", name="m", layers=[INPUT, *layers])
    parts = {
        "metadata.json": b'{"keras_version": "3.15.1"}',
        "config.json": json.dumps(model).encode(),
        "model.weights.h5": b"\x89HDF\r\n\x1a\n",
    }
    return archive(parts | {name.replace("__", "/"): data for name, data in more.items()})


def keras(name: str, build: Callable[[Path], bytes]) -> None:
    ATTACKS[f"keras {name}"] = lambda canary: Hostile("model.keras", build(canary))


def keras_layer(name: str, build: Callable[[Path], Any]) -> None:
    keras(name, lambda canary: keras_file(build(canary)))


def by_lambda(canary: Path) -> dict[str, Any]:
    """A lambda as keras stores it: marshalled code."""
    code = marshal.dumps(compile(python(canary), "x", "eval"))
    stored = {"code": base64.b64encode(code).decode(), "defaults": None, "closure": None}
    return {"class_name": "__lambda__", "config": {"value": stored}}


def function(module: str, name: str) -> dict[str, Any]:
    return {"module": module, "class_name": "function", "config": name, "registered_name": name}


keras_layer("lambda layer", lambda c: layer("keras.layers", "Lambda", function=by_lambda(c)))
keras_layer("lambda activation", lambda c: layer("keras.layers", "Dense", activation=by_lambda(c)))
keras_layer(
    "function of the system",
    lambda c: layer("keras.layers", "Activation", activation=function("os", "system")),
)
keras_layer(
    "download",
    lambda c: layer("keras.layers", "Activation", activation=function("keras.utils", "get_file")),
)
keras_layer("layer of the system", lambda c: layer("os", "system", command=shell(c)))
keras_layer("path of its own", lambda c: layer("evil_beside", "Model", path=str(c)))
keras_layer("module that looks like keras", lambda c: layer("keras_evil.layers", "Dense", units=1))
keras_layer(
    "part of keras that saves", lambda c: layer("keras.src.saving", "save_model", path=str(c))
)
keras_layer("registered name", lambda c: layer(None, "evil>Layer"))
keras_layer("saved model inside", lambda c: layer("keras.layers", "TFSMLayer", filepath=str(c)))
keras_layer("torch module inside", lambda c: layer("keras.layers", "TorchModuleWrapper", module=1))
keras_layer(
    "lambda in a wrapper in a list",
    lambda c: layer(
        "keras.layers", "Bidirectional", layer=[layer("keras.layers", "Dense", f=[by_lambda(c)])]
    ),
)
keras("zip slip", lambda c: keras_file(**{"..__canary": b"x"}))
keras("assets", lambda c: keras_file(assets__x=b"x"))
keras("pickle beside the weights", lambda c: keras_file(**{"model.weights.pkl": nested(c)}))
keras("pickle", nested)
keras("zip bomb", lambda c: archive({"config.json": bytes(10**9)}))
keras("deep config", lambda c: archive({"config.json": b"[" * 10**6}))
keras("without config", lambda c: archive({"metadata.json": b"{}"}))

# ---------------------------------------------------------------- torch

_META: dict[str, Any] = {
    "dtype": 7,
    "sizes": [{"as_int": 3}, {"as_int": 3}],
    "requires_grad": False,
    "device": {"type": "cpu", "index": None},
    "strides": [{"as_int": 3}, {"as_int": 1}],
    "storage_offset": {"as_int": 0},
    "layout": 7,
}
_WEIGHT = {"path_name": "weight_0", "is_param": True, "use_pickle": False, "tensor_meta": _META}


def tensor(name: str) -> dict[str, Any]:
    return {"as_tensor": {"name": name}}


def tree(kind: str | None, *children: Any) -> dict[str, Any]:
    context = "[]" if kind == "builtins.dict" else None if kind is None else "null"
    return {"type": kind, "context": context, "children_spec": list(children)}


_GIVEN = tree("builtins.tuple", tree("builtins.tuple", tree(None)), tree("builtins.dict"))
_SPECS = {"in_spec": json.dumps([1, _GIVEN]), "out_spec": json.dumps([1, tree(None)])}
PROGRAM: dict[str, Any] = {
    "graph_module": {
        "graph": {
            "inputs": [tensor("x")],
            "outputs": [tensor("relu")],
            "nodes": [
                {
                    "target": "torch.ops.aten.relu.default",
                    "inputs": [{"name": "self", "arg": tensor("x"), "kind": 1}],
                    "outputs": [tensor("relu")],
                    "metadata": {},
                    "name": "relu",
                }
            ],
            "tensor_values": {"x": _META, "relu": _META},
            "sym_int_values": {},
            "sym_bool_values": {},
            "sym_float_values": {},
            "custom_obj_values": {},
            "is_single_tensor_return": False,
        },
        "signature": {
            "input_specs": [{"user_input": {"arg": tensor("x")}}],
            "output_specs": [{"user_output": {"arg": tensor("relu")}}],
        },
        "module_call_graph": [{"fqn": "", "signature": {"inputs": [], "outputs": [], **_SPECS}}],
    },
    "opset_version": {"aten": 10},
    "range_constraints": {},
    "schema_version": {"major": 8, "minor": 20},
    "guards_code": [],
}


def torch_file(
    change: Callable[[dict[str, Any]], None] = lambda program: None,
    weight: dict[str, Any] = _WEIGHT,
    **more: bytes,
) -> bytes:
    """An archive of a small graph, with a changed description."""
    program = copy.deepcopy(PROGRAM)
    change(program)
    parts = {
        "archive_format": b"pt2",
        "archive_version": b"0",
        "byteorder": b"little",
        ".data/version": b"6\n",
        "models/model.json": json.dumps(program).encode(),
        "data/weights/model_weights_config.json": json.dumps({"config": {"w": weight}}).encode(),
        "data/weights/weight_0": bytes(36),
        "data/constants/model_constants_config.json": b'{"config": {}}',
        "data/sample_inputs/model.pt": b"",
    }
    parts |= {name.replace("__", "/"): data for name, data in more.items()}
    return archive({f"m/{name}": data for name, data in parts.items()})


def torch(name: str, build: Callable[[Path], bytes]) -> None:
    ATTACKS[f"torch {name}"] = lambda canary: Hostile("model.pt2", build(canary))


def torch_graph(name: str, change: Callable[[dict[str, Any], Path], None]) -> None:
    torch(name, lambda canary: torch_file(lambda program: change(program, canary)))


def call(target: str, *texts: str) -> Callable[[dict[str, Any], Path], None]:
    """The first node calls another function, with texts."""

    def change(program: dict[str, Any], canary: Path) -> None:
        node = program["graph_module"]["graph"]["nodes"][0]
        said = [text.format(canary=canary) for text in texts]
        given = [{"name": "", "arg": {"as_string": text}, "kind": 1} for text in said]
        node.update(target=target, inputs=given)

    return change


def sized(expression: str) -> Callable[[dict[str, Any], Path], None]:
    """The number of rows is an expression, which torch evaluates."""

    def change(program: dict[str, Any], canary: Path) -> None:
        text = expression.format(code=repr(python(canary)))
        size = {"as_expr": {"expr_str": text, "hint": {"as_int": 3}}}
        program["graph_module"]["graph"]["tensor_values"]["x"]["sizes"][0] = size

    return change


def code_in_a_name(program: dict[str, Any], canary: Path) -> None:
    program["graph_module"]["graph"]["nodes"][0]["name"] = f"x\n    {python(canary)}\n    y"


def code_in_a_tree(program: dict[str, Any], canary: Path) -> None:
    signature = program["graph_module"]["module_call_graph"][0]["signature"]
    signature["in_spec"] = _SPECS["in_spec"].replace("builtins.tuple", f"os.{canary}", 1)


torch_graph("function of the system", call("torch.os.system", "touch {canary}"))
torch_graph("function of a module", call("torch.hub.load", "{canary}", "x"))
torch_graph("function that unpickles", call("torch.load", "{canary}"))
torch_graph("attribute of an operator", call("torch.ops.aten.relu.default._op.__globals__"))
torch_graph("operator that maps a file", call("torch.ops.aten.from_file.default", "{canary}"))
torch_graph("operator that saves", call("torch.ops.aten.save.default", "{canary}"))
torch_graph("library of operators", call("torch.ops.load_library", "{canary}"))
torch_graph("caller of methods", call("_operator.methodcaller", "system"))
torch_graph("extension", call("#evil:run", "{canary}"))
torch_graph("code as a size", sized("exec({code})"))
torch_graph("code as a size by a class", sized("().__class__.__base__.__subclasses__()"))
torch_graph("import as a size", sized("__import__('os').system({code})"))
torch_graph("code in a name", code_in_a_name)
torch_graph("code in a tree", code_in_a_tree)
torch(
    "pickled weight",
    lambda c: torch_file(weight={**_WEIGHT, "use_pickle": True}, data__weights__weight_0=nested(c)),
)
torch("pickled weights of before", lambda c: torch_file(data__weights__model_pt=nested(c)))
torch("object of its own", lambda c: torch_file(data__constants__custom_obj_0=nested(c)))
torch("opaque object", lambda c: torch_file(data__constants__opaque_obj_0=nested(c)))
torch("compiled library", lambda c: torch_file(data__aotinductor__model__x=b"\x7fELF"))
torch("zip slip", lambda c: archive({"m/models/model.json": b"{}", "../canary": b"x"}))
torch("script of before", lambda c: archive({"m/code/__torch__.py": b"x", "m/data.pkl": nested(c)}))
torch("pickle", nested)
torch("deep graph", lambda c: archive({"m/models/model.json": b"[" * 10**6}))
