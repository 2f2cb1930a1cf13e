"""Hostile model files, made on the spot: name → function(canary) → what to put into a folder.

Each would create the file `canary`, take all memory or time, or end the process, if it were opened
without care. `make` builds one; nothing of it is stored in the repository.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import marshal
import pickle
import stat
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from opcodes import START, Raw, array_of, call, made, named, push, text, whole
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

__all__ = ["ATTACKS", "FEATURES", "Hostile", "make"]

FEATURES = ["income", "debt", "amount"]


class Hostile(NamedTuple):
    """A model file, and files that lie beside it."""

    name: str
    data: bytes
    beside: Mapping[str, str] = {}


Make = Callable[[Path], Hostile]
ATTACKS: dict[str, Make] = {}


def make(name: str, canary: Path) -> Hostile:
    return ATTACKS[name](canary)


def attack(function: Make) -> Make:
    """Register a function under its own name."""
    ATTACKS[function.__name__.replace("_", " ")] = function
    return function


def pickles(name: str, build: Callable[[Path], bytes], file: str = "model.pkl") -> None:
    assert name not in ATTACKS, name
    ATTACKS[name] = lambda canary: Hostile(file, build(canary))


# ---------------------------------------------------------------- names that run code


def shell(canary: Path) -> str:
    return f"touch {canary}"


def python(canary: Path) -> str:
    return f"open({str(canary)!r}, 'w').close()"


def nested(canary: Path) -> bytes:
    return whole(call("os", "system", shell(canary)))


def system(canary: Path) -> Raw:
    return named("os", "system")


# module, name, arguments of the call
CALLS: list[tuple[str, str, Callable[[Path], tuple[Any, ...]]]] = [
    ("os", "system", lambda c: (shell(c),)),
    ("posix", "system", lambda c: (shell(c),)),
    ("os", "popen", lambda c: (shell(c),)),
    ("os", "execvp", lambda c: ("touch", ["touch", str(c)])),
    ("os", "spawnlp", lambda c: (0, "touch", "touch", str(c))),
    ("os", "posix_spawn", lambda c: ("/usr/bin/touch", ["touch", str(c)], {})),
    ("os", "open", lambda c: (str(c), 65)),
    ("os", "mkdir", lambda c: (str(c),)),
    ("os", "symlink", lambda c: ("/etc/passwd", str(c))),
    ("subprocess", "Popen", lambda c: (["touch", str(c)],)),
    ("subprocess", "run", lambda c: (["touch", str(c)],)),
    ("subprocess", "call", lambda c: (["touch", str(c)],)),
    ("subprocess", "check_output", lambda c: (["touch", str(c)],)),
    ("subprocess", "getoutput", lambda c: (shell(c),)),
    ("_posixsubprocess", "fork_exec", lambda c: ([b"touch"], [b"/usr/bin/touch"], True, (), None)),
    ("multiprocessing.util", "spawnv_passfds", lambda c: (b"/usr/bin/touch", [str(c)], [])),
    ("asyncio", "create_subprocess_shell", lambda c: (shell(c),)),
    ("pty", "spawn", lambda c: (["touch", str(c)],)),
    ("builtins", "eval", lambda c: (python(c),)),
    ("builtins", "exec", lambda c: (python(c),)),
    ("builtins", "compile", lambda c: (python(c), "x", "exec")),
    ("builtins", "open", lambda c: (str(c), "w")),
    ("builtins", "getattr", lambda c: (call("builtins", "__import__", "os"), "system")),
    ("builtins", "setattr", lambda c: (named("builtins", "str"), "x", 1)),
    ("builtins", "map", lambda c: (system(c), [shell(c)])),
    ("builtins", "type", lambda c: ("X", (), {})),
    ("__builtin__", "eval", lambda c: (python(c),)),
    ("__builtin__", "execfile", lambda c: (str(c),)),
    ("importlib", "import_module", lambda c: ("antigravity",)),
    ("importlib.util", "spec_from_file_location", lambda c: ("x", str(c))),
    ("importlib._bootstrap_external", "SourceFileLoader", lambda c: ("x", str(c))),
    ("runpy", "run_path", lambda c: (str(c),)),
    ("runpy", "run_module", lambda c: ("antigravity",)),
    ("pkgutil", "resolve_name", lambda c: ("os:system",)),
    ("zipimport", "zipimporter", lambda c: (str(c),)),
    ("codecs", "open", lambda c: (str(c), "w")),
    ("codecs", "decode", lambda c: (b"\x00", "zip")),
    ("codecs", "register", lambda c: (system(c),)),
    ("_codecs", "encode", lambda c: ("x", "rot13")),
    ("operator", "attrgetter", lambda c: ("__class__.__init__.__globals__",)),
    ("operator", "methodcaller", lambda c: ("system", shell(c))),
    ("operator", "itemgetter", lambda c: ("system",)),
    ("_operator", "attrgetter", lambda c: ("system",)),
    ("functools", "partial", lambda c: (system(c), shell(c))),
    ("functools", "reduce", lambda c: (system(c), [shell(c)])),
    ("itertools", "starmap", lambda c: (system(c), [(shell(c),)])),
    ("collections", "defaultdict", lambda c: (system(c),)),
    ("types", "FunctionType", lambda c: (call("marshal", "loads", code_of(c)), {})),
    ("types", "CodeType", lambda c: ()),
    ("marshal", "loads", lambda c: (code_of(c),)),
    ("code", "interact", lambda c: ()),
    ("timeit", "timeit", lambda c: (python(c),)),
    ("cProfile", "run", lambda c: (python(c),)),
    ("profile", "run", lambda c: (python(c),)),
    ("pdb", "run", lambda c: (python(c),)),
    ("trace", "Trace", lambda c: ()),
    ("doctest", "debug_script", lambda c: (python(c),)),
    ("pydoc", "pipepager", lambda c: ("x", shell(c))),
    ("shutil", "copyfile", lambda c: ("/etc/passwd", str(c))),
    ("tempfile", "NamedTemporaryFile", lambda c: ("w", -1, None, None, "", "", str(c.parent))),
    ("logging", "FileHandler", lambda c: (str(c),)),
    ("sqlite3", "connect", lambda c: (str(c),)),
    ("ctypes", "CDLL", lambda c: ("libc.so.6",)),
    ("socket", "create_connection", lambda c: (("127.0.0.1", 9),)),
    ("urllib.request", "urlopen", lambda c: ("http://127.0.0.1:9/",)),
    ("webbrowser", "open", lambda c: ("http://127.0.0.1:9/",)),
    ("io", "open", lambda c: (str(c), "w")),
    ("_io", "FileIO", lambda c: (str(c), "w")),
    ("pip", "main", lambda c: (["download", "x"],)),
    ("pickle", "loads", lambda c: (nested(c),)),
    ("_pickle", "loads", lambda c: (nested(c),)),
    ("pickle", "Unpickler", lambda c: ()),
    ("dill", "loads", lambda c: (nested(c),)),
    ("cloudpickle.cloudpickle", "_make_function", lambda c: (code_of(c), {}, "f", (), ())),
    ("copyreg", "add_extension", lambda c: ("os", "system", 7)),
    ("copyreg", "__newobj__", lambda c: (named("subprocess", "Popen"), ["touch", str(c)])),
    ("numpy.testing._private.utils", "runstring", lambda c: (python(c), {})),
    ("numpy.f2py.crackfortran", "myeval", lambda c: (python(c), {})),
    ("numpy.f2py.diagnose", "run_command", lambda c: (shell(c),)),
    ("numpy.distutils.exec_command", "exec_command", lambda c: (shell(c),)),
    ("numpy", "load", lambda c: (str(c),)),
    ("numpy", "save", lambda c: (str(c), 1)),
    ("numpy", "fromfile", lambda c: (str(c),)),
    ("numpy", "memmap", lambda c: (str(c), "u1", "w+", 0, (1,))),
    ("numpy", "vectorize", lambda c: (system(c),)),
    ("numpy", "frompyfunc", lambda c: (system(c), 1, 1)),
    ("numpy._core", "_ufunc_reconstruct", lambda c: ("os", "system")),
    ("numpy.lib._npyio_impl", "NpzFile", lambda c: (str(c),)),
    ("numpy.ctypeslib", "load_library", lambda c: ("libc.so.6", "/lib")),
    ("pandas", "eval", lambda c: ("__import__('os')",)),
    ("pandas.core.computation.eval", "eval", lambda c: ("@__import__('os')",)),
    ("pandas", "read_pickle", lambda c: (str(c),)),
    ("pandas.io.pickle", "read_pickle", lambda c: (str(c),)),
    ("pandas.io.common", "get_handle", lambda c: (str(c), "w")),
    ("pandas.compat.pickle_compat", "Unpickler", lambda c: ()),
    ("scipy.io", "savemat", lambda c: (str(c), {})),
    ("scipy._lib._ccallback", "LowLevelCallable", lambda c: ()),
    ("joblib", "load", lambda c: (str(c),)),
    ("joblib", "dump", lambda c: (1, str(c))),
    ("joblib.memory", "Memory", lambda c: (str(c),)),
    ("joblib.externals.cloudpickle", "loads", lambda c: (nested(c),)),
    ("joblib.externals.loky.backend.spawn", "prepare", lambda c: ({"dir": str(c)},)),
    ("sklearn.datasets", "load_files", lambda c: (str(c.parent),)),
    ("sklearn.datasets._svmlight_format_io", "dump_svmlight_file", lambda c: ([[1]], [1], str(c))),
    ("sklearn.utils._testing", "assert_run_python_script_without_output", lambda c: (python(c),)),
    ("torch", "load", lambda c: (str(c),)),
    ("torch.jit", "load", lambda c: (str(c),)),
    ("torch.jit._serialization", "load", lambda c: (str(c),)),
    ("torch.storage", "_load_from_bytes", lambda c: (nested(c),)),
    ("torch.hub", "load", lambda c: ("x/y", "z")),
    ("torch.utils.cpp_extension", "load_inline", lambda c: ("x", "int x;")),
    ("torch._utils", "_rebuild_tensor_v2", lambda c: ()),
    ("torch.fx.graph_module", "reduce_graph_module", lambda c: ({}, python(c))),
    ("xgboost.tracker", "RabitTracker", lambda c: (1, "127.0.0.1")),
    ("xgboost.core", "DMatrix", lambda c: (str(c),)),
    ("lightgbm.basic", "Dataset", lambda c: (str(c),)),
    ("fairaudit.models.loading", "load_model", lambda c: (str(c),)),
    ("fairaudit.data.reading.files", "write_text", lambda c: (str(c), "x")),
    ("fairaudit.models.safe_pickle", "load_pickle", lambda c: (nested(c),)),
]


def code_of(canary: Path) -> bytes:
    return marshal.dumps(compile(python(canary), "x", "exec"))


for _module, _name, _args in CALLS:
    pickles(
        f"call {_module}.{_name}", lambda c, m=_module, n=_name, a=_args: whole(call(m, n, *a(c)))
    )

# Names of trusted packages that are not on the list, held and not called.
NAMES = [
    ("sklearn.base", "os.system"),
    ("sklearn.utils._testing", "os.system"),
    ("sklearn.utils._testing", "raises"),
    ("sklearn.base", "BaseEstimator.__init__.__globals__"),
    ("sklearn.pipeline", "Pipeline.fit"),
    ("sklearn.pipeline", "np"),
    ("sklearn.pipeline", "warnings"),
    ("sklearn.pipeline", "clone"),
    ("sklearn.pipeline", "check_memory"),
    ("sklearn.base", "importlib"),
    ("sklearn.datasets._base", "load_files"),
    ("sklearn.externals._packaging.version", "Version"),
    ("sklearn.conftest", "pytest_configure"),
    ("sklearn.tests.test_base", "MyEstimator"),
    ("sklearn.utils.parallel", "Parallel"),
    ("sklearn.utils._mocking", "CheckingClassifier"),
    ("sklearn.tree._tree", "DepthFirstTreeBuilder"),
    ("sklearn.linear_model", "LogisticRegression"),
    ("sklearn", "show_versions"),
    ("joblib.numpy_pickle", "load"),
    ("joblib.numpy_pickle_compat", "NDArrayWrapper"),
    ("numpy", "f2py.compile"),
    ("numpy.f2py", "compile"),
    ("numpy.core", "_ufunc_reconstruct"),
    ("scipy.io", "loadmat"),
    ("scipy.stats", "norm.__setstate__"),
    ("xgboost.core", "DataIter"),
    ("lightgbm.basic", "_InnerPredictor"),
    ("fairaudit.models", "load_model"),
    ("fairaudit.models", "import_module"),
    ("fairaudit.models.safe_pickle.machine", "Machine"),
    ("code", "InteractiveInterpreter"),
    ("", "x"),
    ("os", ""),
    ("..os", "system"),
    ("", "x"),
    ("os", ""),
]
for _module, _name in dict.fromkeys(NAMES):
    pickles(f"name {_module}:{_name}", lambda c, m=_module, n=_name: whole(named(m, n)))

# ---------------------------------------------------------------- other ways to a name

pickles("dotted sklearn.base:os.system", lambda c: whole(call("sklearn.base", "os.system", "x")))
pickles("dotted os:path.os.system", lambda c: whole(call("os", "path.os.system", shell(c))))
pickles("dotted pathlib", lambda c: whole(call("pathlib", "Path.write_text", str(c), "x")))
pickles(
    "dotted globals", lambda c: whole(named("sklearn.base", "BaseEstimator.__init__.__globals__"))
)
pickles("dotted numpy", lambda c: whole(call("numpy", "f2py.compile", "x")))
pickles("imported module", lambda c: whole(named("sklearn.pipeline", "warnings")))
pickles("global of protocol 0", lambda c: b"cos\nsystem\n(S'" + shell(c).encode() + b"'\ntR.")
pickles("instance of protocol 0", lambda c: b"(S'" + shell(c).encode() + b"'\nios\nsystem\n.")
pickles("object of protocol 1", lambda c: START + b"(" + system(c) + text(shell(c)) + b"o.")
pickles("extension of one byte", lambda c: START + b"\x82\x07.")
pickles("extension of two bytes", lambda c: START + b"\x83\x07\x00.")
pickles("extension of four bytes", lambda c: START + b"\x84\x07\x00\x00\x00.")
pickles("persistent name", lambda c: b"P" + str(c).encode() + b"\n.")
pickles("persistent object", lambda c: START + text(str(c)) + b"Q.")
pickles("buffer from outside", lambda c: b"\x80\x05\x97.")
pickles(
    "name from the memo",
    lambda c: START + text("os") + b"\x940" + text("system") + b"\x940h\x00h\x01\x93.",
)
pickles("never called", lambda c: START + system(c) + b"0N.")
pickles("homoglyph", lambda c: whole(call("ѕklearn.base", "clone", 1)))
pickles("control characters", lambda c: whole(call("os\n\x1b[2J", "sys\rtem\n", 1)))
pickles("long name", lambda c: whole(call("os", "system" * 10_000, 1)))
pickles("relative name", lambda c: whole(call("..os", "system", shell(c))))
pickles("two in one", lambda c: whole(call("os", "system", shell(c)), made(*RIDGE)))
pickles("hidden in a list of a model", lambda c: whole(made(*RIDGE, alpha=[push_system(c)])))
pickles("gzip around it", lambda c: gzip.compress(nested(c)), "model.pkl.gz")
pickles("bz2 around it", lambda c: bz2.compress(nested(c)), "model.joblib")
pickles("xz around it", lambda c: lzma.compress(nested(c)), "model.joblib")

RIDGE = ("sklearn.linear_model._ridge", "Ridge")
TRANSFORMER = ("sklearn.preprocessing._function_transformer", "FunctionTransformer")
STACK = ("sklearn.ensemble._stacking", "StackingClassifier")


def push_system(canary: Path) -> Raw:
    return call("os", "system", shell(canary))


class Evil:
    """Pickles into a call of os.system."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> Any:
        import os

        return os.system, (shell(self.canary),)


def by_joblib(value: Any, compress: int = 0) -> bytes:
    buffer = io.BytesIO()
    joblib.dump(value, buffer, compress=compress)
    return buffer.getvalue()


pickles(
    "joblib array of objects",
    lambda c: by_joblib(np.array([Evil(c)], dtype=object)),
    "model.joblib",
)
pickles(
    "joblib array inside of a model",
    lambda c: by_joblib(Ridge(alpha=np.array([Evil(c)], dtype=object)), 3),
    "model.joblib",
)

# ---------------------------------------------------------------- allowed names, other uses

pickles("function of the system", lambda c: whole(made(*TRANSFORMER, func=system(c))))
pickles("function of a stranger", lambda c: whole(made(*TRANSFORMER, func=named("evil", "f"))))
pickles(
    "score function",
    lambda c: whole(
        made("sklearn.feature_selection._univariate_selection", "SelectKBest", score_func=system(c))
    ),
)
pickles(
    "tokenizer",
    lambda c: whole(
        made("sklearn.feature_extraction.text", "CountVectorizer", tokenizer=system(c))
    ),
)
pickles(
    "metric",
    lambda c: whole(
        made(
            "sklearn.neighbors._classification",
            "KNeighborsClassifier",
            metric=named("builtins", "eval"),
        )
    ),
)
pickles("call of a function", lambda c: whole(call("numpy", "log1p", 1)))
pickles("call of what the file made", lambda c: whole(Raw(made(*RIDGE) + b")R")))
pickles("making of a function", lambda c: whole(Raw(named("numpy", "log1p") + b")\x81")))
pickles("state of a function", lambda c: whole(Raw(named("numpy", "log1p") + b"}b")))
pickles(
    "state that is not a dict",
    lambda c: whole(Raw(named(*RIDGE) + b")\x81" + call("collections", "OrderedDict") + b"b")),
)
pickles(
    "extend by a method of the file",
    lambda c: whole(Raw(made(*RIDGE, extend=named("numpy", "log1p")) + b"(K\x01e")),
)
pickles("items of an estimator", lambda c: whole(Raw(made(*RIDGE) + b"K\x01K\x02s")))
pickles(
    "elements of an estimator",
    lambda c: whole(Raw(made(*RIDGE, add=named("numpy", "log1p")) + b"(K\x01\x90")),
)
pickles(
    "partial changed later",
    lambda c: whole(
        Raw(
            call("functools", "partial", named("numpy", "log1p"))
            + push((named(*RIDGE), (), {}, None))
            + b"b"
        )
    ),
)
pickles(
    "compiled class made empty",
    lambda c: whole(Raw(named("sklearn.tree._tree", "Tree") + b")\x81")),
)
pickles(
    "tree with too few classes",
    lambda c: whole(call("sklearn.tree._tree", "Tree", 1, array_of(shape=(0,)), 9)),
)
pickles(
    "stored array without end",
    lambda c: whole(
        Raw(
            named("joblib.numpy_pickle", "NumpyArrayWrapper")
            + b")\x81"
            + push({"shape": (2**31, 2**31), "dtype": call("numpy", "dtype", "f8")})
            + b"b"
        )
    ),
)
pickles("call of an estimator", lambda c: whole(call(*RIDGE)))
pickles("estimator made with arguments", lambda c: whole(Raw(named(*RIDGE) + b"K\x01\x85\x81")))
pickles("state given twice", lambda c: whole(Raw(made(*RIDGE) + b"}b")))
pickles(
    "method for the state",
    lambda c: whole(Raw(made(*RIDGE, __setstate__=named("numpy", "log1p")) + b"K\x01b")),
)
pickles("state of a class", lambda c: whole(Raw(named(*RIDGE) + push({"predict": 1}) + b"b")))
pickles(
    "append by a method of the file",
    lambda c: whole(Raw(made(*RIDGE, append=named("numpy", "log1p")) + b"K\x01a")),
)
pickles("partial of a class", lambda c: whole(call("functools", "partial", named(*RIDGE))))
pickles(
    "reconstructor with another base",
    lambda c: whole(call("copyreg", "_reconstructor", named(*RIDGE), named(*STACK), None)),
)
pickles(
    "array of another class",
    lambda c: whole(
        call("numpy._core.multiarray", "_reconstruct", named(*RIDGE), (0,), Raw(b"C\x01b"))
    ),
)
pickles(
    "generator by a function",
    lambda c: whole(call("numpy.random._pickle", "__generator_ctor", "x", named("numpy", "log1p"))),
)
pickles(
    "dtype with pointers",
    lambda c: whole(
        Raw(
            call("numpy", "dtype", "V8", False, True)
            + push((3, "|", None, ("a",), {"a": (call("numpy", "dtype", "O8"), 0)}, 8, 1, 0))
            + b"b"
        )
    ),
)
pickles(
    "attribute of a distribution",
    lambda c: whole(
        named("scipy.stats._continuous_distns", "norm_gen"),
        call("builtins", "getattr", made(*RIDGE), "__class__"),
    ),
)
pickles(
    "replaced method",
    lambda c: whole(made(*RIDGE, predict=named("numpy", "ndarray"), n_features_in_=3)),
)
pickles(
    "class as a function",
    lambda c: whole(made(*TRANSFORMER, func=named("lightgbm.basic", "Booster"))),
)
pickles(
    "booster with a pointer",
    lambda c: whole(
        Raw(named("lightgbm.basic", "Booster") + b")\x81}" + text("_handle") + b"K\x07s}\x86b")
    ),
)


# ---------------------------------------------------------------- harm when it predicts


def writer(canary: Path, stack: StackingClassifier) -> bytes:
    """A pipeline that turns the table into the name of the canary, and hands it to a stack."""
    from functools import partial

    name = partial(np.multiply, np.array(str(canary), dtype=object))
    steps = [FunctionTransformer(func) for func in (np.ravel, np.max, np.isfinite, name)]
    return pickle.dumps(make_pipeline(*steps, stack))


def stack_of(target: Any, method: str) -> StackingClassifier:
    stack = StackingClassifier([("a", Ridge())], final_estimator=Ridge())
    stack.estimators_, stack.stack_method_ = [target], [method]
    stack.final_estimator_, stack.classes_ = Ridge(), np.array([0, 1])
    return stack


PAYLOAD = np.array([b"payload"])
pickles("stack that writes a file", lambda c: writer(c, stack_of(PAYLOAD, "tofile")))
pickles("stack that dumps a pickle", lambda c: writer(c, stack_of(PAYLOAD, "dump")))
pickles("stack that reads attributes", lambda c: writer(c, stack_of(Ridge(), "__getattribute__")))


@attack
def stack_that_changes_later(canary: Path) -> Hostile:
    """The list of methods is innocent when the stack is filled, and grows afterwards."""
    later = Raw(b"]\x94")  # memo 0
    stack = Raw(
        named(*STACK) + b")\x81" + push({"stack_method_": Raw(later), "classes_": [0, 1]}) + b"b"
    )
    return Hostile("model.pkl", START + stack + b"h\x00(" + text("tofile") + b"e0.")


@attack
def booster_that_saves_itself(canary: Path) -> Hostile:
    import xgboost

    booster = xgboost.train({}, xgboost.DMatrix(np.eye(3), [0, 1, 0]), 1)
    return Hostile("model.pkl", writer(canary, stack_of(booster, "save_model")))


pickles(
    "chain of methods",
    lambda c: whole(
        made("sklearn.multioutput", "ClassifierChain", chain_method_="dump", estimators_=[PAYLOAD])
    ),
)
pickles(
    "threshold of a method",
    lambda c: whole(
        made(
            "sklearn.model_selection._classification_threshold",
            "FixedThresholdClassifier",
            response_method="__reduce__",
        )
    ),
)
pickles(
    "texts from files",
    lambda c: whole(made("sklearn.feature_extraction.text", "CountVectorizer", input="filename")),
)
pickles(
    "importance of globals",
    lambda c: whole(
        made(
            "sklearn.feature_selection._from_model",
            "SelectFromModel",
            importance_getter="fit.__globals__",
        )
    ),
)


def table() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(60, 3))
    return numbers, (numbers[:, 0] > 0).astype(int)


def bent_tree(where: str, value: int) -> bytes:
    """A tree of which one number points outside."""
    model = RandomForestClassifier(1, random_state=0, bootstrap=False).fit(*table())
    nodes = model.estimators_[0].tree_.__getstate__()["nodes"]
    data = pickle.dumps(model)
    before = nodes.tobytes()
    assert before in data
    nodes[where][0] = value
    return data.replace(before, nodes.tobytes())


pickles("tree that leaves itself", lambda c: bent_tree("left_child", 2**40))
pickles("tree that turns in circles", lambda c: bent_tree("right_child", 0))
pickles("tree of a far feature", lambda c: bent_tree("feature", 2**40))


@attack
def boosted_tree_that_leaves_itself(canary: Path) -> Hostile:
    model = HistGradientBoostingClassifier(max_iter=1).fit(*table())
    model._predictors[0][0].nodes["left"][0] = 2**31
    return Hostile("model.pkl", pickle.dumps(model))


@attack
def sparse_matrix_of_far_columns(canary: Path) -> Hostile:
    model = LogisticRegression().fit(*table()).sparsify()
    model.coef_.indices[0] = 2**30
    return Hostile("model.pkl", pickle.dumps(model))


# ---------------------------------------------------------------- bombs

BIG = struct.pack("<Q", 2**60)
pickles("bytes without end", lambda c: START + b"\x8e" + BIG + b"x.")
pickles("bytearray without end", lambda c: b"\x80\x05\x96" + BIG + b"x.")
pickles("text without end", lambda c: START + b"\x8d" + BIG + b"x.")
pickles("frame without end", lambda c: START + b"\x95" + BIG + b"N.")
pickles("number without end", lambda c: START + b"\x8b\xff\xff\xff\x7fx.")
pickles("number of a million digits", lambda c: b"I" + b"9" * 10**6 + b"\n.")
pickles("far memo", lambda c: START + b"Nr\xff\xff\xff\xff0j\xfe\xff\xff\xff.")
pickles(
    "list of a range", lambda c: whole(call("builtins", "list", call("builtins", "range", 2**40)))
)
pickles("zeros", lambda c: whole(call("builtins", "bytearray", 2**31 - 1)))
pickles("array of a false shape", lambda c: whole(array_of(shape=(2**29,))))
pickles("array of empty texts", lambda c: whole(array_of(shape=(2**31, 2**31), code="S0")))
pickles("deep lists", lambda c: START + b"]" * 50_000 + b"a" * 49_999 + b"b.")
pickles("deep tuples", lambda c: START + b")" + b"\x85" * 100_000 + b".")
pickles("deep key", lambda c: START + b"})" + b"\x85" * 50_000 + b"Ns.")
pickles("wide key", lambda c: START + b"})" + b"2\x86" * 100 + b"Ns.")
pickles("wide element", lambda c: START + b"\x8f()" + b"2\x86" * 100 + b"\x90.")
pickles("marks", lambda c: START + b"(" * 100_000 + b".")
pickles("pops", lambda c: START + b"000.")
pickles(
    "deep slices",
    lambda c: START + named("builtins", "slice") * 100_000 + b"N" + b"NN\x87R" * 100_000 + b".",
)


def deep_arrays(canary: Path) -> bytes:
    shell = call(
        "numpy._core.multiarray", "_reconstruct", named("numpy", "ndarray"), (0,), Raw(b"C\x01b")
    )
    kind = call("numpy", "dtype", "O8", False, True)
    begin = shell + b"(K\x01K\x01\x85h\x00\x89]("
    return START + kind + b"\x940" + begin * 30_000 + b"K\x01" + b"etb" * 30_000 + b"."


pickles("deep arrays", deep_arrays)


def filled_ridge(coefficients: Raw) -> Raw:
    return made(*RIDGE, coef_=coefficients, intercept_=0.0, n_features_in_=3, solver="lsqr")


def laughs(canary: Path) -> bytes:
    """Lists of the list before, twice: 2**60 numbers for whoever makes an array of it."""
    lists = b"]K\x01a\x940" + b"".join(b"](h%ch%ce\x940" % (i, i) for i in range(60))
    return START + lists + filled_ridge(Raw(b"h\x3c")) + b"."


pickles("billion laughs", laughs)
pickles(
    "coefficients that hold themselves",
    lambda c: START + b"]\x94h\x00a0" + filled_ridge(Raw(b"h\x00")) + b".",
)


@attack
def pipeline_inside_itself(canary: Path) -> Hostile:
    model = Pipeline([("a", Ridge())])
    model.steps[0] = ("a", model)
    return Hostile("model.pkl", pickle.dumps(model))


@attack
def search_that_finds_itself(canary: Path) -> Hostile:
    from sklearn.model_selection import GridSearchCV

    model = GridSearchCV(Ridge(), {})
    model.best_estimator_ = model.estimator = model
    model.multimetric_, model.refit = False, True
    return Hostile("model.pkl", pickle.dumps(model))


ZEROS = bytes(200 * 2**20)
pickles("gzip bomb", lambda c: gzip.compress(ZEROS, 9), "model.pkl.gz")
pickles("zlib bomb", lambda c: zlib.compress(ZEROS, 9), "model.joblib")
pickles("bz2 bomb", lambda c: bz2.compress(ZEROS[: 2**27]), "model.joblib")
pickles("xz bomb", lambda c: lzma.compress(ZEROS[: 2**27], preset=0), "model.joblib")


@attack
def torch_archive_named_as_a_pickle(canary: Path) -> Hostile:
    return Hostile("model.pkl", archive({"archive/data.pkl": nested(canary)}))


@attack
def torchscript_named_as_joblib(canary: Path) -> Hostile:
    parts = {"m/code/__torch__.py": b"def forward(): ...", "m/constants.pkl": nested(canary)}
    return Hostile("model.joblib", archive(parts))


# ---------------------------------------------------------------- skops


def archive(parts: Mapping[str, bytes], link: str = "") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in parts.items():
            packed.writestr(name, data)
        if link:
            entry = zipfile.ZipInfo("link")
            entry.external_attr = (stat.S_IFLNK | 0o777) << 16
            packed.writestr(entry, link)
    return buffer.getvalue()


def by_skops(change: Callable[[dict[str, Any]], None] = lambda schema: None) -> dict[str, bytes]:
    """The members of a fitted model's archive, with a changed schema."""
    import skops.io

    data = skops.io.dumps(FunctionTransformer(np.log1p).fit(*table()))
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    schema = json.loads(parts["schema.json"])
    change(schema)
    return parts | {"schema.json": json.dumps(schema).encode()}


def skops_schema(name: str, content: Any, **node: str) -> None:
    """An archive in which the function of a transformer is another node."""

    def change(schema: dict[str, Any]) -> None:
        node_of_func = {"content": content, "attrs": SKOPS_RIDGE, "__id__": 1, **node}
        schema["content"]["content"]["func"] = node_of_func

    ATTACKS[name] = lambda canary: Hostile("model.skops", archive(by_skops(change)))


def skops_parts(name: str, build: Callable[[Path], bytes]) -> None:
    ATTACKS[name] = lambda canary: Hostile("model.skops", build(canary))


def two_schemas() -> bytes:
    """Readers may differ in which of two members of one name they take."""
    buffer = io.BytesIO(archive(by_skops()))
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "a") as packed:
        warnings.simplefilter("ignore")
        packed.writestr("schema.json", b"{}")
    return buffer.getvalue()


SKOPS_RIDGE = {
    "content": None,
    "__id__": 2,
    "__class__": "Ridge",
    "__module__": RIDGE[0],
    "__loader__": "ObjectNode",
}
skops_parts("skops zip slip", lambda c: archive(by_skops() | {"../" + c.name: b"x"}))
skops_parts("skops absolute path", lambda c: archive(by_skops() | {str(c): b"x"}))
skops_parts("skops backslashes", lambda c: archive(by_skops() | {"..\\x": b"x"}))
skops_parts("skops two schemas", lambda c: two_schemas())
skops_parts("skops symlink", lambda c: archive(by_skops(), link="/etc/passwd"))
skops_parts("skops zip bomb", lambda c: archive(by_skops() | {"zeros": ZEROS}))
skops_parts("skops without schema", lambda c: archive({"x": b"x"}))
skops_parts("skops deep schema", lambda c: archive({"schema.json": b"[" * 10**6}))
skops_schema("skops function", "", __class__="system", __module__="os", __loader__="FunctionNode")
skops_schema("skops type", "", __class__="eval", __module__="builtins", __loader__="TypeNode")
skops_schema(
    "skops attrgetter",
    "",
    __class__="attrgetter",
    __module__="operator",
    __loader__="OperatorFuncNode",
)
skops_schema(
    "skops method",
    {"func": "get_params", "obj": SKOPS_RIDGE},
    __class__="method",
    __module__="builtins",
    __loader__="MethodNode",
)
skops_schema("skops unknown node", "", __class__="x", __module__="x", __loader__="EvilNode")


@attack
def skops_stack_that_writes_a_file(canary: Path) -> Hostile:
    import skops.io

    stack = stack_of(PAYLOAD, "tofile")
    return Hostile("model.skops", skops.io.dumps(stack))


@attack
def skops_class_of_a_module_beside(canary: Path) -> Hostile:
    def change(schema: dict[str, Any]) -> None:
        schema["content"]["content"]["func"] = {
            "content": None,
            "__id__": 1,
            "__class__": "Model",
            "__module__": "evil_beside",
            "__loader__": "ObjectNode",
        }

    return Hostile("model.skops", archive(by_skops(change)), {"evil_beside.py": python(canary)})


# ---------------------------------------------------------------- onnx, boosters


def field(number: int, value: bytes | int) -> bytes:
    """One field of a protocol buffer."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def outside(location: str) -> bytes:
    """A tensor of one float that lies in another file."""
    entry = field(1, b"location") + field(2, location.encode())
    return field(1, 1) + field(2, 1) + field(8, b"w") + field(13, entry) + field(14, 1)


def onnx(graph: bytes) -> bytes:
    return field(1, 8) + field(7, graph) + field(8, field(1, b"") + field(2, 17))


def onnx_file(name: str, build: Callable[[Path], bytes]) -> None:
    ATTACKS[name] = lambda canary: Hostile("model.onnx", build(canary))


onnx_file("onnx data of the system", lambda c: onnx(field(5, outside("/etc/passwd"))))
onnx_file("onnx data of the parent", lambda c: onnx(field(5, outside("../" * 9 + "etc/passwd"))))
onnx_file(
    "onnx data in a constant",
    lambda c: onnx(field(1, field(4, b"Constant") + field(5, field(5, outside(str(c)))))),
)
onnx_file(
    "onnx data in an inner graph",
    lambda c: onnx(field(1, field(4, b"If") + field(5, field(6, field(5, outside("/etc/x")))))),
)
onnx_file(
    "onnx data in a function",
    lambda c: field(1, 8) + field(25, field(7, field(5, field(5, outside("/dev/zero"))))),
)
onnx_file("onnx foreign operator", lambda c: onnx(field(1, field(4, b"Run") + field(7, b"evil"))))
onnx_file("onnx rubbish", lambda c: b"\xff" * 999)
onnx_file("onnx pickle", lambda c: nested(c))
pickles("xgboost pickle", lambda c: nested(c), "model.ubj")
pickles("xgboost deep json", lambda c: b"[" * 1000, "model.json")
pickles("xgboost rubbish", lambda c: b'{"learner": {"gradient_booster": 1}}', "model.json")
pickles("lightgbm pickle", lambda c: nested(c), "model.txt")

# ---------------------------------------------------------------- files beside the model

BESIDE = whole(call("evil_beside", "Model"))


def beside(name: str, file: str, content: Callable[[Path], str]) -> None:
    ATTACKS[name] = lambda canary: Hostile("model.pkl", BESIDE, {file: content(canary)})


TRUST = 'trust = ["evil_beside.Model", "os.system"]\n'
beside("module beside", "evil_beside.py", python)
beside("trust in fairaudit.toml", "fairaudit.toml", lambda c: TRUST)
beside("trust in pyproject.toml", "pyproject.toml", lambda c: "[tool.fairaudit]\n" + TRUST)
beside("trust in a file of the model", "model.pkl.trust", lambda c: "os.system\n")
