"""Pickle and joblib files of models, opened through an allow-list.

What is promised. Opening a file imports, calls and creates only what is listed here: estimators of
scikit-learn, xgboost, lightgbm and fairaudit, the parts that they are made of, and the few
functions that put arrays, numbers and containers back together. All names are read from the file
before anything is made of it; one that is not on the list stops it. Estimators are filled with
their saved state and never called; the functions run with checked arguments, most of them as a
version of their own (numpy would take bytes for pointers if the file said so; here the types of
arrays are built anew). Names that the caller trusts are exempt, one by one.

What is not. This reduces what a hostile file can do and does not prevent everything: numbers are
not checked, and the compiled parts of trees, nearest neighbours, support vectors and boosters
believe them, so that a crafted file can crash the process, or worse. Time and memory are not
bounded either. Files from strangers belong in a container, or should be ``.skops`` or ``.onnx``.
"""

from __future__ import annotations

import bz2
import functools
import io
import lzma
import math
import pickle
import re
import sys
import zlib
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import FunctionType
from typing import Any, ClassVar, cast

import numpy as np

from fairaudit.errors import InputError, MissingDependencyError

__all__ = [
    "add_working_directory", "check_trust", "first_line", "is_allowed", "largest_unpacked",
    "load_pickle", "refusal",
]  # fmt: skip

_PIP = {"sklearn": "scikit-learn"}
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)

# ---------------------------------------------------------------- the list

# Estimators are allowed wherever they are defined, but for modules with such a part in their name.
_NEVER = {
    "__main__", "_build_utils", "_mocking", "_plot", "_test_common", "_testing", "callback",
    "conftest", "datasets", "estimator_checks", "experimental", "externals", "parallel", "tests",
}  # fmt: skip

# Where the parts of estimators that are not estimators themselves are defined.
_PARTS = {
    "sklearn._loss.link", "sklearn._loss.loss", "sklearn.calibration", "sklearn.cluster._birch",
    "sklearn.cluster._bisect_k_means", "sklearn.compose._column_transformer",
    "sklearn.ensemble._gb", "sklearn.ensemble._gb_losses",
    "sklearn.ensemble._hist_gradient_boosting.binning",
    "sklearn.ensemble._hist_gradient_boosting.common",
    "sklearn.ensemble._hist_gradient_boosting.predictor", "sklearn.gaussian_process.kernels",
    "sklearn.impute._iterative", "sklearn.linear_model._linear_loss", "sklearn.metrics._scorer",
    "sklearn.model_selection._search", "sklearn.model_selection._search_successive_halving",
    "sklearn.model_selection._split", "sklearn.neural_network._stochastic_optimizers",
    "sklearn.utils._bunch", "sklearn.utils._encode", "sklearn.utils._metadata_requests",
    "sklearn.utils._tags",
}  # fmt: skip

# Compiled classes: those called with numbers, and those made empty and filled.
_NUMBERED = {"sklearn._loss._loss", "sklearn.linear_model._sgd_fast"}
_EMPTY = {
    "sklearn.metrics._dist_metrics", "sklearn.neighbors._ball_tree", "sklearn.neighbors._kd_tree",
}  # fmt: skip

# Functions that estimators hold: public ones of these packages, and single ones.
_FUNCTIONS_OF = ("sklearn.feature_selection", "sklearn.metrics", "sklearn.preprocessing")
_FUNCTIONS = {
    "sklearn.cluster._kmeans._kmeans_single_elkan", "sklearn.cluster._kmeans._kmeans_single_lloyd",
    "sklearn.utils.validation.check_array", "scipy._lib.array_api_compat.numpy._aliases.asarray",
}  # fmt: skip
_OF_NUMPY = {
    "amax", "amin", "average", "clip", "max", "mean", "median", "min", "nan_to_num", "nanmax",
    "nanmean", "nanmedian", "nanmin", "nansum", "prod", "ravel", "round", "std", "sum", "var",
}  # fmt: skip

# Classes of other packages, filled with their saved state.
_CLASSES = {
    "lightgbm.basic.Booster", "pandas.arrays.ArrowStringArray",
    "scipy.interpolate._bsplines.BSpline", "xgboost.callback.EarlyStopping",
    "xgboost.core.Booster",
}  # fmt: skip

# Things that only stand for themselves.
_CONSTANTS = {
    "builtins.Ellipsis", "builtins.NotImplemented", "builtins.bool", "builtins.float",
    "builtins.int", "builtins.object", "builtins.str", "numpy.ma.MaskedArray", "numpy.ndarray",
    "numpy.random._mt19937.MT19937", "numpy.random._pcg64.PCG64",
    "numpy.random._pcg64.PCG64DXSM", "numpy.random._philox.Philox", "numpy.random._sfc64.SFC64",
    "numpy.random.bit_generator.SeedSequence", "pandas.Index", "pandas.RangeIndex",
    "pandas._libs.missing.NA", "pandas.arrays.StringArray",
}  # fmt: skip

# The same things under the names of other versions.
_MODULES = {"_loss": "sklearn._loss._loss"}
_RENAMED = {
    "numpy.ma.core.MaskedArray": "numpy.ma.MaskedArray",
    "numpy.matrix": "numpy.ndarray",
    "numpy.memmap": "numpy.ndarray",
    "numpy.matrixlib.defmatrix.matrix": "numpy.ndarray",
    "pandas.NA": "pandas._libs.missing.NA",
    "pandas.core.arrays.string_.StringArray": "pandas.arrays.StringArray",
    "pandas.core.arrays.string_.StringDtype": "pandas.StringDtype",
    "pandas.core.arrays.string_arrow.ArrowStringArray": "pandas.arrays.ArrowStringArray",
    "pandas.core.indexes.base.Index": "pandas.Index",
    "pandas.core.indexes.range.RangeIndex": "pandas.RangeIndex",
    "sklearn.externals.joblib.numpy_pickle.NumpyArrayWrapper": (
        "joblib.numpy_pickle.NumpyArrayWrapper"
    ),
}

# Names that no model needs and that run code, read or write files.
_HOSTILE_MODULES = {
    "_pickle", "_posixsubprocess", "_thread", "asyncio", "bdb", "cProfile", "commands", "ctypes",
    "dill", "doctest", "ftplib", "imp", "importlib", "linecache", "marshal", "multiprocessing",
    "nt", "os", "pdb", "pickle", "pip", "pkgutil", "popen2", "posix", "pty", "pydoc", "runpy",
    "shutil", "smtplib", "socket", "sqlite3", "subprocess", "sys", "tempfile", "timeit",
    "urllib", "urllib2", "webbrowser", "xmlrpc", "zipimport",
}  # fmt: skip
_HOSTILE_BUILTINS = {
    "__build_class__", "__import__", "apply", "breakpoint", "compile", "delattr", "eval", "exec",
    "execfile", "file", "getattr", "globals", "input", "locals", "open", "setattr", "type", "vars",
}  # fmt: skip
_HOSTILE_PREFIXES = (
    "_io.", "code.Interactive", "code.interact", "codecs.open", "io.open", "io.FileIO",
    "joblib.externals.", "joblib.load", "joblib.numpy_pickle.",
    "numpy._core._ufunc_reconstruct", "numpy.core._ufunc_reconstruct",
    "numpy.distutils.", "numpy.f2py.", "numpy.fromfile", "numpy.genfromtxt",
    "numpy.lib.format.", "numpy.lib.npyio.", "numpy.load", "numpy.save", "numpy.testing.",
    "operator.attrgetter", "operator.methodcaller", "pandas.eval", "pandas.io.", "pandas.read_",
    "scipy.io.", "sklearn.datasets.", "sklearn.externals.", "torch.hub.", "torch.load",
    "torch.package.", "torch.utils.", "types.CodeType", "types.FunctionType",
)  # fmt: skip
_OWN_PACKAGES = {"fairaudit", "lightgbm", "numpy", "pandas", "scipy", "sklearn", "xgboost"}
_INNER = {"__builtins__", "__class__", "__globals__", "__subclasses__", "popen", "system"}


class _Refused(Exception):
    """A name or an act that is not allowed."""


class _Absent(Exception):
    """A name of an allowed package that the installed version does not have."""


class Omitted:
    """Stands for a part that predictions do not need: the distributions of a finished search."""

    def __init__(self, *_: Any) -> None:
        pass


@dataclass(frozen=True, slots=True)
class _Grant:
    """What a name stands for and what the file may do with it.

    ``refer``: hold it; ``make``: create one without calling it; ``call``: call `run` with the
    arguments; ``omit``: anything, to no effect; ``trust``: whatever pickle allows.
    """

    value: Any
    role: str
    run: Callable[..., Any] | None = None
    fillable: bool = False


class _Policy:
    """The list and the names that the caller trusts; `searched`: distributions are left out."""

    def __init__(self, trust: Iterable[str] = (), *, searched: bool = False) -> None:
        self.trust = frozenset(trust)
        self.searched = searched

    def grant(self, module: str, name: str) -> _Grant:
        if f"{module}.{name}" in self.trust:
            return _Grant(_import_trusted(module, name), "trust")
        if "." in name or not name.isidentifier() or not _MODULE.fullmatch(module):
            raise _Refused
        module = _MODULES.get(module, module).replace("numpy.core.", "numpy._core.")
        full = _RENAMED.get(f"{module}.{name}", f"{module}.{name}")
        if full in _CALLS:
            return _CALLS[full]
        if full in _CONSTANTS:
            return _Grant(_attribute(full), "refer")
        if full in _CLASSES:
            return _Grant(_attribute(full), "make")
        if _is_distribution(module, name) or (self.searched and full == "numpy.vectorize"):
            return _Grant(Omitted, "omit")
        if self.searched and full == "builtins.getattr":
            return _Grant(_attribute_of_omitted, "call", _attribute_of_omitted)
        package = module.partition(".")[0]
        if package in ("numpy", "scipy"):
            return _numeric(module, name)
        if package in ("sklearn", "xgboost", "lightgbm", "fairaudit"):
            return _estimator_or_part(module, name)
        raise _Refused


def _is_distribution(module: str, name: str) -> bool:
    return module.startswith("scipy.stats.") and name.endswith(("_gen", "_frozen"))


def _import_trusted(module: str, name: str) -> Any:
    add_working_directory()
    full = f"{module}.{name}"
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        where = (
            "It was defined in a script or notebook: move it to a module and save the model again"
            if module == "__main__"
            else "Run where it can be imported"
        )
        why = first_line(error)
        raise InputError(f"{full} is trusted but not found ({why}). {where}.") from None
    return found


def add_working_directory() -> None:
    """Let modules of the current directory be found, after those that are installed."""
    import os

    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)


def _module(name: str) -> Any:
    package = name.partition(".")[0]
    try:
        import_module(package)
    except ImportError:
        raise MissingDependencyError(
            f"the model needs {package}, which is not installed. "
            f"Install it: pip install {_PIP.get(package, package)}"
        ) from None
    try:
        return import_module(name)
    except ImportError:
        raise _Absent(package) from None


def _attribute(full: str) -> Any:
    module, _, name = full.rpartition(".")
    try:
        return getattr(_module(module), name)
    except AttributeError:
        raise _Absent(module.partition(".")[0]) from None


def _numeric(module: str, name: str) -> _Grant:
    """Functions and types of numpy and scipy that only compute."""
    if f"{module}.{name}" in _FUNCTIONS:
        return _Grant(_attribute(f"{module}.{name}"), "refer")
    if module in ("numpy", "numpy._core._multiarray_umath", "numpy._core.umath"):
        found = vars(np).get(name)
        if isinstance(found, np.ufunc) or name in _OF_NUMPY:
            return _Grant(found, "refer")
        if isinstance(found, type) and issubclass(found, np.generic):
            return _Grant(found, "refer")
    if module.startswith("scipy.special"):
        from scipy import special

        found = vars(special).get(name)
        if isinstance(found, np.ufunc):
            return _Grant(found, "refer")
    if module.startswith("scipy.sparse"):
        from scipy import sparse

        found = vars(sparse).get(name)
        if isinstance(found, type) and issubclass(found, (sparse.spmatrix, sparse.sparray)):
            return _Grant(found, "make")
    raise _Refused


def _estimator_or_part(module: str, name: str) -> _Grant:
    package, *parts = module.split(".")
    if _NEVER & set(parts) or any(part.startswith("test_") for part in parts):
        raise _Refused
    if package in ("xgboost", "lightgbm") and parts != ["sklearn"]:
        raise _Refused
    found = vars(_module(module)).get(name, _Absent)
    if found is _Absent:
        raise _Absent(package)
    full = f"{module}.{name}"
    if module in _EMPTY and name == "newObj":
        return _Grant(_emptied, "call", _emptied, fillable=True)
    if module in _NUMBERED and name.startswith("__pyx_unpickle_"):
        return _Grant(found, "call", functools.partial(_by_cython, found, module), fillable=True)
    if getattr(found, "__module__", None) != module or getattr(found, "__name__", None) != name:
        raise _Refused  # something that the module has only imported
    if isinstance(found, FunctionType):
        public = not name.startswith("_") and module.startswith(_FUNCTIONS_OF)
        if public or full in _FUNCTIONS:
            return _Grant(found, "refer")
    elif isinstance(found, type):
        from sklearn.base import BaseEstimator

        if full == "sklearn.tree._tree.Tree":
            return _Grant(found, "call", functools.partial(_tree, found), fillable=True)
        if module in _NUMBERED:
            return _Grant(found, "call", functools.partial(_numbered, found), fillable=True)
        if module in _EMPTY:
            return _Grant(found, "refer")
        in_python = bool(found.__flags__ & (1 << 9))  # a heap type, as `class` makes them
        known = issubclass(found, BaseEstimator) or module in _PARTS
        if in_python and known and not hasattr(found, "__del__"):
            return _Grant(found, "make")
    raise _Refused


def is_allowed(name: str) -> bool:
    """Whether a model may hold this class or function, given as ``module.name``."""
    module, _, last = name.rpartition(".")
    try:
        grant = _Policy().grant(module, last)
    except (_Refused, _Absent):
        return False
    if grant.role == "call":  # numpy.dtype, for one, can only be made safely by this module
        compiled = isinstance(grant.value, type) and module.startswith("sklearn.")
        return compiled or name in ("collections.OrderedDict", "functools.partial")
    return grant.role in ("make", "refer")


# ---------------------------------------------------------------- functions that files may call


def _require(condition: object) -> None:
    if not condition:
        raise _Refused


def _array_shell(machine: _Machine, kind: Any, *_: Any) -> Any:
    _require(kind is np.ndarray)
    return np.ndarray.__new__(np.ndarray, (0,), "b")


def _masked_shell(machine: _Machine, kind: Any, base: Any, *_: Any) -> Any:
    _require(kind is np.ma.MaskedArray and base is np.ndarray)
    return np.ma.MaskedArray(np.empty(0, "b"), mask=np.empty(0, bool))


def _from_buffer(
    machine: _Machine, data: Any, dtype: Any, shape: Any, order: Any, axes: Any = None
) -> Any:
    _require(isinstance(data, (bytes, bytearray, memoryview)))
    _require(isinstance(dtype, np.dtype) and not dtype.hasobject)
    flat = np.frombuffer(data, dtype=dtype)
    if order == "K" and axes is not None:
        return flat.reshape(shape, order="C").transpose(axes)
    return flat.reshape(shape, order=order)


def _scalar(machine: _Machine, dtype: Any, data: Any = b"") -> Any:
    _require(isinstance(dtype, np.dtype) and not dtype.hasobject)
    _require(isinstance(data, bytes) and len(data) == dtype.itemsize)
    if dtype.itemsize == 0:
        return dtype.type()
    return np.frombuffer(data, dtype=dtype, count=1)[0]


def _dtype(machine: _Machine, code: Any, *_: Any) -> Any:
    _require(isinstance(code, str) and re.fullmatch(r"[<>|=]?[A-Za-z]\d{0,9}", code))
    return np.dtype(code)


def _dtype_filled(dtype: np.dtype[Any], state: Any) -> np.dtype[Any]:
    """The dtype that `state` describes, made by numpy's checked constructors."""
    _require(isinstance(state, tuple) and len(state) in (8, 9))
    _, order, sub, names, fields, size, _, _ = state[:8]
    if sub is not None:
        base, shape = sub
        _require(isinstance(base, np.dtype))
        return np.dtype((base, shape))
    if names:
        _require(all(isinstance(fields[name][0], np.dtype) for name in names))
        layout = {
            "names": list(names),
            "formats": [fields[name][0] for name in names],
            "offsets": [int(fields[name][1]) for name in names],
            "itemsize": int(size),
        }
        return np.dtype(cast(Any, layout))
    if dtype.kind in "mM" and len(state) == 9:
        unit, count = state[8][1][:2]
        unit = unit.decode("ascii") if isinstance(unit, bytes) else unit
        _require(re.fullmatch(r"[a-zA-Z]{1,7}", unit))
        if unit != "generic":
            dtype = np.dtype(f"{dtype.kind}8[{int(count)}{unit}]")
    return dtype.newbyteorder(order) if order in ("<", ">") else dtype


def _bit_generator(machine: _Machine, kind: Any = "MT19937") -> Any:
    known = {k.__name__: k for k in np.random.BitGenerator.__subclasses__()}
    name = kind if isinstance(kind, str) else getattr(kind, "__name__", None)
    _require(name in known and kind in (name, known[name]))
    return known[cast(str, name)]()


def _generator(machine: _Machine, bits: Any = "MT19937", *_: Any) -> Any:
    if not isinstance(bits, np.random.BitGenerator):
        bits = _bit_generator(machine, bits)
    return np.random.Generator(bits)


def _random_state(machine: _Machine, bits: Any = "MT19937", *_: Any) -> Any:
    if not isinstance(bits, np.random.BitGenerator):
        bits = _bit_generator(machine, bits)
    return np.random.RandomState(bits)


def _seed_sequence(machine: _Machine, kind: Any, checksum: Any, state: Any) -> Any:
    _require(kind is np.random.SeedSequence)
    made = _attribute("numpy.random.bit_generator.__pyx_unpickle_SeedSequence")
    return made(kind, checksum, state)


def _reconstructed(machine: _Machine, kind: Any, base: Any, state: Any) -> Any:
    """`copyreg._reconstructor`, for protocols 0 and 1."""
    if base is object:
        return machine.make(kind, ())
    _require(base in (dict, list, tuple) and type(state) is base)
    _require(machine.role(kind) in ("make", "trust") and issubclass(kind, base))
    made = base.__new__(kind, state)
    if base is not tuple:
        base.__init__(made, state)
    return machine.made(made, trusted=machine.role(kind) == "trust")


def _encoded(machine: _Machine, text: Any, encoding: Any = "latin1") -> bytes:
    _require(isinstance(text, str) and encoding in ("latin1", "latin-1"))
    return cast(str, text).encode("latin1")


def _set(machine: _Machine, items: Any = ()) -> set[Any]:
    return set(_keys(_plain(items)))


def _frozenset(machine: _Machine, items: Any = ()) -> frozenset[Any]:
    return frozenset(_keys(_plain(items)))


def _list(machine: _Machine, items: Any = ()) -> list[Any]:
    return list(_plain(items))


def _tuple(machine: _Machine, items: Any = ()) -> tuple[Any, ...]:
    return tuple(_plain(items))


def _dict(machine: _Machine, items: Any = ()) -> dict[Any, Any]:
    _require(type(items) is dict or (type(items) is tuple and not items))
    return dict(items)


def _bytes(machine: _Machine, data: Any = b"", encoding: Any = "latin1") -> bytes:
    return data if isinstance(data, bytes) else _encoded(machine, data, encoding)


def _bytearray(machine: _Machine, data: Any = b"", encoding: Any = "latin1") -> bytearray:
    return bytearray(_bytes(machine, data, encoding))


def _complex(machine: _Machine, real: Any = 0, imaginary: Any = 0) -> complex:
    _require(isinstance(real, (int, float)) and isinstance(imaginary, (int, float)))
    return complex(real, imaginary)


def _slice(machine: _Machine, *limits: Any) -> slice:
    return slice(*limits)


def _range(machine: _Machine, *limits: Any) -> range:
    return range(*limits)


def _ordered(machine: _Machine, items: Any = ()) -> OrderedDict[Any, Any]:
    _require(type(items) in (list, tuple) and all(len(item) == 2 for item in items))
    keys = _keys([item[0] for item in items])
    return OrderedDict(zip(keys, (item[1] for item in items), strict=True))


def _defaulting(machine: _Machine, factory: Any = None) -> defaultdict[Any, Any]:
    _require(factory in (None, OrderedDict, bool, dict, float, int, list, set, str, tuple))
    return defaultdict(factory)


def _partial(machine: _Machine, function: Any) -> Any:
    _require(machine.may_be_bound(function))
    return functools.partial(function)


def _partial_filled(machine: _Machine, made: Any, state: Any) -> None:
    _require(type(state) is tuple and len(state) == 4)
    function, args, named, rest = state
    _require(machine.may_be_bound(function) and type(args) is tuple and not rest)
    _require(named is None or (type(named) is dict and all(type(key) is str for key in named)))
    made.__setstate__((function, args, named, None))


def _attribute_of_omitted(machine: _Machine, owner: Any, name: Any) -> Any:
    _require(isinstance(owner, Omitted))
    return Omitted()


def _index(machine: _Machine, kind: Any, parts: Any) -> Any:
    import pandas as pd

    _require(kind in (pd.Index, pd.RangeIndex) and type(parts) is dict)
    known = {"data", "name"} if kind is pd.Index else {"name", "start", "stop", "step"}
    _require(set(parts) <= known)
    return kind(**parts)


def _string_dtype(machine: _Machine, *args: Any) -> Any:
    import pandas as pd

    _require(all(isinstance(arg, (str, float)) or arg is pd.NA for arg in args))
    return pd.StringDtype(*args)


def _string_array(machine: _Machine, kind: Any, checksum: Any, state: Any) -> Any:
    import pandas as pd

    _require(kind is pd.arrays.StringArray and state is None)
    made = _attribute("pandas._libs.arrays.__pyx_unpickle_NDArrayBacked")
    return made(kind, checksum, None)


def _arrow_array(machine: _Machine, data: Any) -> Any:
    array = _attribute("pyarrow.lib._restore_array")(data)
    array.validate(full=True)
    return array


def _arrow_buffer(machine: _Machine, data: Any) -> Any:
    _require(isinstance(data, (bytes, bytearray)))
    return _attribute("pyarrow.lib.py_buffer")(bytes(data))


def _arrow_type(machine: _Machine, alias: Any) -> Any:
    _require(alias in ("string", "large_string", "utf8", "large_utf8"))
    return _attribute("pyarrow.lib.type_for_alias")(alias)


def _tree(kind: Any, machine: _Machine, n_features: Any, n_classes: Any, n_outputs: Any) -> Any:
    _require(isinstance(n_features, int) and isinstance(n_outputs, int))
    _require(isinstance(n_classes, np.ndarray) and n_classes.dtype.kind == "i")
    _require(n_classes.shape == (n_outputs,) and (n_classes > 0).all())
    return kind(n_features, n_classes, n_outputs)


def _numbered(kind: Any, machine: _Machine, *args: Any) -> Any:
    _require(all(isinstance(arg, (int, float)) for arg in args))
    return kind(*args)


def _by_cython(made: Any, module: str, machine: _Machine, kind: Any, *args: Any) -> Any:
    _require(isinstance(kind, type) and kind.__module__ == module)
    return made(kind, *args)


def _emptied(machine: _Machine, kind: Any) -> Any:
    _require(isinstance(kind, type) and kind.__module__ in _EMPTY)
    return cast(Any, kind).__new__(kind)


def _plain(items: Any) -> Any:
    _require(type(items) in (list, tuple, set, frozenset))
    return items


def _keys(items: Iterable[Any]) -> list[Any]:
    """`items`, none of them so deep that hashing it would not return."""
    checked = list(items)
    for item in checked:
        if isinstance(item, (tuple, frozenset)):
            pending, left = [item], 10_000
            while pending:
                inner = pending.pop()
                left -= len(inner)
                _require(left > 0)
                pending += [part for part in inner if isinstance(part, (tuple, frozenset))]
    return checked


class _StoredArray:
    """An array that joblib wrote next to the pickle: its description, then its bytes."""

    subclass: Any = None
    shape: Any = ()
    order: Any = "C"
    dtype: Any = None
    numpy_array_alignment_bytes: Any = None

    def fill(self, state: Any) -> None:
        _require(type(state) is dict and isinstance(state.get("dtype"), np.dtype))
        _require(type(state.get("shape")) is tuple)
        _require(all(type(n) is int and n >= 0 for n in state["shape"]))
        for key in ("shape", "order", "dtype", "numpy_array_alignment_bytes"):
            if key in state:
                setattr(self, key, state[key])

    def data(self, file: _File) -> bytes:
        if self.numpy_array_alignment_bytes is not None:
            file.read(file.read(1)[0])
        return file.read(math.prod(self.shape) * self.dtype.itemsize)

    def read(self, file: _File) -> Any:
        data = self.data(file)
        if not data:
            return np.empty(self.shape, self.dtype)
        flat = np.frombuffer(bytearray(data), dtype=self.dtype)
        array = flat.reshape(self.shape, order="F" if self.order == "F" else "C")
        native = array.dtype.newbyteorder("=")
        return array if array.dtype == native else array.astype(native)


def _calls() -> dict[str, _Grant]:
    functions: dict[str, tuple[Callable[..., Any], bool]] = {
        "_codecs.encode": (_encoded, False),
        "copyreg._reconstructor": (_reconstructed, False),
        "numpy._core.multiarray._reconstruct": (_array_shell, True),
        "numpy._core.multiarray.scalar": (_scalar, False),
        "numpy._core.numeric._frombuffer": (_from_buffer, False),
        "numpy.ma.core._mareconstruct": (_masked_shell, True),
        "numpy.random._pickle.__bit_generator_ctor": (_bit_generator, True),
        "numpy.random._pickle.__generator_ctor": (_generator, True),
        "numpy.random._pickle.__randomstate_ctor": (_random_state, True),
        "numpy.random.bit_generator.__pyx_unpickle_SeedSequence": (_seed_sequence, True),
        "pandas._libs.arrays.__pyx_unpickle_NDArrayBacked": (_string_array, True),
        "pandas.core.indexes.base._new_Index": (_index, False),
        "pandas.StringDtype": (_string_dtype, False),
        "pyarrow.lib._restore_array": (_arrow_array, False),
        "pyarrow.lib.py_buffer": (_arrow_buffer, False),
        "pyarrow.lib.type_for_alias": (_arrow_type, False),
    }
    types: dict[type, tuple[str, Callable[..., Any], bool]] = {
        OrderedDict: ("collections.OrderedDict", _ordered, False),
        bytearray: ("builtins.bytearray", _bytearray, False),
        bytes: ("builtins.bytes", _bytes, False),
        complex: ("builtins.complex", _complex, False),
        defaultdict: ("collections.defaultdict", _defaulting, False),
        dict: ("builtins.dict", _dict, False),
        frozenset: ("builtins.frozenset", _frozenset, False),
        functools.partial: ("functools.partial", _partial, True),
        list: ("builtins.list", _list, False),
        np.dtype: ("numpy.dtype", _dtype, True),
        range: ("builtins.range", _range, False),
        set: ("builtins.set", _set, False),
        slice: ("builtins.slice", _slice, False),
        tuple: ("builtins.tuple", _tuple, False),
    }
    table = {name: _Grant(run, "call", run, fill) for name, (run, fill) in functions.items()}
    table |= {name: _Grant(kind, "call", run, fill) for kind, (name, run, fill) in types.items()}
    table["joblib.numpy_pickle.NumpyArrayWrapper"] = _Grant(_StoredArray, "make")
    return table


_CALLS = _calls()

# ---------------------------------------------------------------- the machine


class _File(io.BytesIO):
    """Bytes in memory; reading past the end is an error, and not a short answer."""

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        if size is not None and size > len(data):
            raise EOFError("the file ends too early")
        return data


class _Machine(pickle._Unpickler):
    """Runs the opcodes of a pickle; every object it makes or changes passes the policy."""

    stack: list[Any]
    memo: dict[int, Any]
    append: Callable[[Any], None]
    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)

    def __init__(self, file: _File, policy: _Policy) -> None:
        super().__init__(file)
        self._file = file
        self._policy = policy
        self._grants: dict[int, _Grant] = {}
        self._fillable: dict[int, tuple[Any, bool]] = {}  # made here: the object, if trusted

    # what a name gives

    def find_class(self, module: str, name: str) -> Any:
        module, name = self.renamed(module, name)
        grant = self._policy.grant(module, name)
        known = self._grants.get(id(grant.value))
        if known is None or known.role != "trust":
            self._grants[id(grant.value)] = grant
        return grant.value

    def renamed(self, module: str, name: str) -> tuple[str, str]:
        """The name in Python 3; protocols 0 to 2 keep that of Python 2."""
        if cast(Any, self).proto < 3:
            module, name = NAME_MAPPING.get((module, name), (module, name))
            module = IMPORT_MAPPING.get(module, module)
        return module, name

    def role(self, value: Any) -> str | None:
        grant = self._grants.get(id(value))
        return None if grant is None else grant.role

    def may_be_bound(self, function: Any) -> bool:
        kind = isinstance(function, (FunctionType, np.ufunc))
        return (kind and self.role(function) == "refer") or self.role(function) == "trust"

    # what the file does with it

    def call(self, function: Any, args: Any) -> Any:
        grant = self._grants.get(id(function))
        _require(grant is not None and type(args) is tuple)
        grant = cast(_Grant, grant)
        if grant.role == "omit":
            return self.made(Omitted())
        if grant.role == "trust":
            return self.made(function(*args), trusted=True)
        _require(grant.role == "call" and grant.run is not None)
        made = cast(Callable[..., Any], grant.run)(self, *args)
        return self.made(made) if grant.fillable else made

    def make(self, kind: Any, args: Any, named: Any = None) -> Any:
        role = self.role(kind)
        _require(type(args) is tuple and isinstance(kind, type))
        if role == "trust":
            return self.made(cast(Any, kind).__new__(kind, *args, **(named or {})), trusted=True)
        if role == "omit":
            return self.made(Omitted())
        _require(role == "make" and not named and (not args or issubclass(kind, tuple)))
        return self.made(cast(Any, kind).__new__(kind, *args))

    def made(self, value: Any, *, trusted: bool = False) -> Any:
        self._fillable[id(value)] = (value, trusted)
        return value

    def fill(self, made: Any, state: Any) -> Any:
        """Give `made` its saved state, once; the object to use instead of it."""
        owner, trusted = self._fillable.pop(id(made), (None, False))
        _require(owner is made and made is not None)
        if trusted:
            _fill_as_pickle_does(made, state)
        elif isinstance(made, Omitted):
            pass
        elif isinstance(made, np.dtype):
            return _dtype_filled(made, state)
        elif isinstance(made, functools.partial):
            _partial_filled(self, made, state)
        elif isinstance(made, _StoredArray):
            made.fill(state)
            return self._stored(made)
        elif isinstance(made, np.ndarray):
            _require(type(state) is tuple)
            type(made).__setstate__(made, state)
        elif self.role(type(made)) == "make":
            _fill_estimator(made, state)
        else:  # compiled classes and random numbers
            cast(Any, type(made)).__setstate__(made, state)
        return made

    def _stored(self, array: _StoredArray) -> Any:
        if array.dtype.hasobject:  # a pickle within the pickle
            return type(self)(self._file, self._policy).load()
        return array.read(self._file)

    def add(self, target: Any, items: list[Any]) -> None:
        if self._trusts(target):
            for item in items:
                target.append(item)
        else:
            _require(isinstance(target, list))
            list.extend(target, items)

    def put(self, target: Any, items: list[Any]) -> None:
        keys, values = _keys(items[::2]), items[1::2]
        if not self._trusts(target):
            write = getattr(type(target), "__setitem__", None)
            _require(write in (dict.__setitem__, OrderedDict.__setitem__))
        for key, value in zip(keys, values, strict=True):
            target[key] = value

    def include(self, target: Any, items: list[Any]) -> None:
        _require(type(target) is set)
        target.update(_keys(items))

    def _trusts(self, target: Any) -> bool:
        owner, trusted = self._fillable.get(id(target), (None, False))
        return owner is target and trusted

    # opcodes

    def _pop_mark(self) -> list[Any]:
        return cast(list[Any], cast(Any, self).pop_mark())

    def load_reduce(self) -> None:
        args = self.stack.pop()
        self.stack[-1] = self.call(self.stack[-1], args)

    def load_newobj(self) -> None:
        args = self.stack.pop()
        self.stack[-1] = self.make(self.stack[-1], args)

    def load_newobj_ex(self) -> None:
        named, args = self.stack.pop(), self.stack.pop()
        _require(type(named) is dict)
        self.stack[-1] = self.make(self.stack[-1], args, named)

    def load_build(self) -> None:
        state = self.stack.pop()
        made = self.stack[-1]
        filled = self.fill(made, state)
        if filled is not made:
            self.stack[-1] = filled
            for key, value in self.memo.items():
                if value is made:
                    self.memo[key] = filled

    def load_append(self) -> None:
        item = self.stack.pop()
        self.add(self.stack[-1], [item])

    def load_appends(self) -> None:
        items = self._pop_mark()
        self.add(self.stack[-1], items)

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.put(self.stack[-1], [key, value])

    def load_setitems(self) -> None:
        items = self._pop_mark()
        self.put(self.stack[-1], items)

    def load_dict(self) -> None:
        items = self._pop_mark()
        self.append(dict(zip(_keys(items[::2]), items[1::2], strict=True)))

    def load_additems(self) -> None:
        items = self._pop_mark()
        self.include(self.stack[-1], items)

    def load_frozenset(self) -> None:
        items = self._pop_mark()
        self.append(frozenset(_keys(items)))

    def load_bytearray8(self) -> None:
        read = cast(Any, self).read
        self.append(bytearray(read(int.from_bytes(read(8), "little"))))

    def refuse(self) -> None:
        raise _Refused


for _opcode, _run in {
    pickle.REDUCE: _Machine.load_reduce,
    pickle.NEWOBJ: _Machine.load_newobj,
    pickle.NEWOBJ_EX: _Machine.load_newobj_ex,
    pickle.BUILD: _Machine.load_build,
    pickle.APPEND: _Machine.load_append,
    pickle.APPENDS: _Machine.load_appends,
    pickle.SETITEM: _Machine.load_setitem,
    pickle.SETITEMS: _Machine.load_setitems,
    pickle.DICT: _Machine.load_dict,
    pickle.ADDITEMS: _Machine.load_additems,
    pickle.FROZENSET: _Machine.load_frozenset,
    pickle.BYTEARRAY8: _Machine.load_bytearray8,
    pickle.INST: _Machine.refuse,
    pickle.OBJ: _Machine.refuse,
    pickle.EXT1: _Machine.refuse,
    pickle.EXT2: _Machine.refuse,
    pickle.EXT4: _Machine.refuse,
    pickle.PERSID: _Machine.refuse,
    pickle.BINPERSID: _Machine.refuse,
    pickle.NEXT_BUFFER: _Machine.refuse,
}.items():
    _Machine.dispatch[_opcode[0]] = cast(Any, _run)


def _fill_estimator(made: Any, state: Any) -> None:
    setter = getattr(type(made), "__setstate__", None)  # not one that the file put on the object
    if setter is not None:
        _require(type(state) is dict and all(type(key) is str for key in state))
        setter(made, state)
        return
    parts = state if type(state) is tuple and len(state) == 2 else (state, None)
    for part in parts:
        _require(part is None or (type(part) is dict and all(type(key) is str for key in part)))
    if parts[0]:
        made.__dict__.update(parts[0])
    for key, value in (parts[1] or {}).items():
        _require(not key.startswith("__"))
        setattr(made, key, value)


def _fill_as_pickle_does(made: Any, state: Any) -> None:
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state:
        made.__dict__.update(state)
    for key, value in (slots or {}).items():
        setattr(made, key, value)


class _Stub:
    """What the scanner makes of a name and of everything made with it."""

    def __init__(self, name: str = "") -> None:
        self.name = name


class _Scanner(_Machine):
    """Runs the opcodes with stubs, so that every name is seen and nothing is called."""

    # these tell where the bytes of an array end
    _REAL = ("_codecs.encode", "numpy.dtype", "joblib.numpy_pickle.NumpyArrayWrapper")

    def __init__(self, file: _File, policy: _Policy, names: dict[tuple[str, str], None]) -> None:
        super().__init__(file, policy)
        self.names = names

    def find_class(self, module: str, name: str) -> Any:
        module, name = self.renamed(module, name)
        full = _RENAMED.get(f"{module}.{name}", f"{module}.{name}")
        if full in self._REAL and full not in self._policy.trust:
            return super().find_class(module, name)
        self.names[(module, name)] = None
        return _Stub(full)

    def call(self, function: Any, args: Any) -> Any:
        if self.role(function) == "call":
            return super().call(function, args)
        if type(args) is tuple and args and args[0] is _StoredArray:  # protocols 0 and 1
            return self.make(args[0], ())
        return _Stub()

    def make(self, kind: Any, args: Any, named: Any = None) -> Any:
        return super().make(kind, args, named) if self.role(kind) == "make" else _Stub()

    def fill(self, made: Any, state: Any) -> Any:
        return made if isinstance(made, _Stub) else super().fill(made, state)

    def _stored(self, array: _StoredArray) -> Any:
        if array.dtype.hasobject:
            return _Scanner(self._file, self._policy, self.names).load()
        array.data(self._file)
        return _Stub()

    def add(self, target: Any, items: list[Any]) -> None:
        if not isinstance(target, _Stub):
            super().add(target, items)

    def put(self, target: Any, items: list[Any]) -> None:
        if not isinstance(target, _Stub):
            super().put(target, items)

    def include(self, target: Any, items: list[Any]) -> None:
        if not isinstance(target, _Stub):
            super().include(target, items)


# ---------------------------------------------------------------- files


def load_pickle(data: bytes, *, name: str, trust: Sequence[str] = ()) -> Any:
    """The object in a pickle or joblib file, compressed or not.

    Parameters
    ----------
    data : bytes
        The whole file.
    name : str
        What messages call it.
    trust : sequence of str
        Names (``package.module.Class``) that are allowed beyond the list.

    Examples
    --------
    >>> load_pickle(pickle.dumps({"C": 1.0}), name="model.pkl")
    {'C': 1.0}
    >>> load_pickle(b"cos\\nsystem\\n(S'id'\\ntR.", name="model.pkl")
    Traceback (most recent call last):
    ...
    fairaudit.errors.InputError: model.pkl names os.system, which can run code or touch files. ...
    """
    trusted = check_trust(trust)
    data = _unpacked(data, name)
    if not data:
        raise InputError(f"{name} is empty. Save the model again.")
    policy = _examined(data, name, trusted)
    try:
        return _Machine(_File(data), policy).load()
    except (InputError, MissingDependencyError):
        raise
    except Exception as error:
        raise InputError(_unreadable(name, error)) from None


def _examined(data: bytes, name: str, trust: tuple[str, ...]) -> _Policy:
    """Read every name of the file, and the policy that allows them all."""
    names: dict[tuple[str, str], None] = {}
    problem: Exception | None = None
    try:
        _Scanner(_File(data), _Policy(trust), names).load()
    except Exception as error:
        problem = error
    searched = any(_is_distribution(module, last) for module, last in names)
    policy = _Policy(trust, searched=searched)
    refused, absent = [], []
    for module, last in names:
        if f"{module}.{last}" in policy.trust:
            continue
        try:
            policy.grant(module, last)
        except _Refused:
            refused.append(f"{module}.{last}")
        except _Absent as error:
            if _is_hostile(f"{module}.{last}"):
                refused.append(f"{module}.{last}")
            absent.append((f"{module}.{last}", str(error)))
        except MissingDependencyError as error:
            raise MissingDependencyError(f"{name}: {error}") from None
    if refused:
        raise InputError(refusal(name, refused))
    if absent:
        full, package = absent[0]
        version = getattr(import_module(package), "__version__", "")
        raise InputError(
            f"{name} needs {_shown(full)}, which {_PIP.get(package, package)} {version} does not "
            "have. Use the version that saved the model, or save it again with this one."
        )
    if problem is not None:
        raise InputError(_unreadable(name, problem))
    return policy


def refusal(name: str, refused: Sequence[str]) -> str:
    """The message about names that are not on the list."""
    hostile = [full for full in refused if _is_hostile(full)]
    if hostile:
        return (
            f"{name} names {_listed(hostile)}, which can run code or touch files. "
            "It looks hostile: do not open it, ask its author for a .skops or .onnx file."
        )
    if any(full.startswith("cloudpickle.") for full in refused):
        return (
            f"{name} holds code of its own (saved by cloudpickle), which is not run. "
            "Move the code to a module and save the model with pickle, or as .skops or .onnx."
        )
    return (
        f"{name} needs names that are not on the allow-list: {_listed(refused)}. "
        f"If you trust this file, pass --trust {_shown(refused[0])} (repeat for each)."
    )


def _is_hostile(full: str) -> bool:
    first, *parts = full.split(".")
    if first in ("builtins", "__builtin__"):
        return bool(_HOSTILE_BUILTINS & set(parts))
    if first in _HOSTILE_MODULES or full.startswith(_HOSTILE_PREFIXES):
        return True
    return first in _OWN_PACKAGES and bool((_HOSTILE_MODULES | _INNER) & set(parts))


def _listed(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(_shown(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _shown(name: str) -> str:
    plain = name.encode("unicode_escape").decode("ascii")
    return plain if len(plain) <= 120 else plain[:117] + "..."


def check_trust(trust: Sequence[str]) -> tuple[str, ...]:
    """The names to trust, as given; patterns are refused."""
    names = (trust,) if isinstance(trust, str) else tuple(trust)
    for full in names:
        if "." not in full or not _MODULE.fullmatch(full):
            raise InputError(
                f"Only exact names can be trusted, such as package.module.Class. "
                f"Got {full!r} instead."
            )
    return names


def first_line(error: BaseException) -> str:
    """The first line of an error's message, without its full stop."""
    lines = str(error).strip().splitlines()
    return _shown_text(lines[0]) if lines else type(error).__name__


def _shown_text(text: str) -> str:
    plain = "".join(letter if letter.isprintable() else " " for letter in text).strip()
    return (plain if len(plain) <= 300 else plain[:297] + "...").rstrip(".")


def _unreadable(name: str, error: Exception) -> str:
    if isinstance(error, _Refused):
        return (
            f"{name} does what no saved model does, although with allowed names. "
            "It looks hostile or damaged: get the model from its author again."
        )
    if isinstance(error, (MemoryError, OverflowError)):
        why = "it asks for more memory than there is"
    elif isinstance(error, (EOFError, IndexError, KeyError)):
        why = "the file ends too early or is not a pickle"
    else:
        why = f"{type(error).__name__}: {first_line(error)}"
    return f"{name} cannot be read as a saved model: {why}. Save the model again."


# ---------------------------------------------------------------- compression

_LEAST = 64 * 2**20
_RATIO = 100


def largest_unpacked(size: int) -> int:
    """How many bytes a packed file of this size may unpack to."""
    return _LEAST + _RATIO * size


def _unpacked(data: bytes, name: str) -> bytes:
    starts: tuple[tuple[bytes, Callable[[], Any]], ...] = (
        (b"\x1f\x8b", lambda: zlib.decompressobj(31)),
        (b"BZ", bz2.BZ2Decompressor),
        (b"\xfd7zXZ", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ)),
        (b"\x5d\x00", lambda: lzma.LZMADecompressor(lzma.FORMAT_ALONE)),
        (b"\x78", lambda: zlib.decompressobj(15)),
    )
    if data[:4] == b"\x04\x22\x4d\x18" or data[:2] == b"ZF":
        kind = "lz4" if data[:2] != b"ZF" else "joblib before 0.10"
        raise InputError(f"{name} was packed by {kind}, which is not read. Save it uncompressed.")
    for start, opened in starts:
        if data.startswith(start):
            return _inflated(data, opened(), name)
    return data


def _inflated(data: bytes, unpacker: Any, name: str) -> bytes:
    most = largest_unpacked(len(data))
    try:
        out = unpacker.decompress(data, most + 1)
    except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError) as error:
        raise InputError(_unreadable(name, error)) from None
    if len(out) > most:
        raise InputError(
            f"{name} unpacks to more than {most // 2**20} MiB from {len(data):,} bytes. "
            "Save the model uncompressed if that is meant."
        )
    if not unpacker.eof:
        raise InputError(_unreadable(name, EOFError()))
    return out
