"""What is said about files that are refused or cannot be read."""

from __future__ import annotations

from collections.abc import Sequence

from fairaudit.models.safe_pickle.grants import Refused

# Names that no model needs and that run code, read or write files.
_HOSTILE_MODULES = {
    "_frozen_importlib",
    "_frozen_importlib_external",
    "_operator",
    "_pickle",
    "_posixsubprocess",
    "_thread",
    "asyncio",
    "bdb",
    "cProfile",
    "codecs",
    "commands",
    "ctypes",
    "dill",
    "distutils",
    "doctest",
    "ftplib",
    "imp",
    "importlib",
    "linecache",
    "logging",
    "marshal",
    "multiprocessing",
    "nt",
    "operator",
    "os",
    "pathlib",
    "pdb",
    "pickle",
    "pip",
    "pkgutil",
    "popen2",
    "posix",
    "profile",
    "pty",
    "pydoc",
    "runpy",
    "shutil",
    "site",
    "smtplib",
    "socket",
    "sqlite3",
    "subprocess",
    "sys",
    "tempfile",
    "timeit",
    "trace",
    "urllib",
    "urllib2",
    "webbrowser",
    "xmlrpc",
    "zipimport",
}
_HOSTILE_BUILTINS = {
    "__build_class__",
    "__import__",
    "apply",
    "breakpoint",
    "compile",
    "delattr",
    "eval",
    "exec",
    "execfile",
    "file",
    "getattr",
    "globals",
    "input",
    "locals",
    "open",
    "setattr",
    "type",
    "vars",
}
_HOSTILE_PREFIXES = (
    "_io.",
    "code.Interactive",
    "code.interact",
    "copyreg.add_extension",
    "functools.reduce",
    "io.open",
    "io.FileIO",
    "joblib.dump",
    "joblib.externals.",
    "joblib.load",
    "joblib.memory.",
    "joblib.numpy_pickle.",
    "numpy._core._ufunc_reconstruct",
    "numpy.core._ufunc_reconstruct",
    "numpy.ctypeslib.",
    "numpy.distutils.",
    "numpy.f2py.",
    "numpy.fromfile",
    "numpy.frompyfunc",
    "numpy.genfromtxt",
    "numpy.lib._npyio_impl.",
    "numpy.lib.format.",
    "numpy.lib.npyio.",
    "numpy.load",
    "numpy.memmap",
    "numpy.save",
    "numpy.testing.",
    "pandas.compat.pickle_compat.",
    "pandas.core.computation.",
    "pandas.eval",
    "pandas.io.",
    "pandas.read_",
    "scipy._lib._ccallback.",
    "scipy.io.",
    "sklearn.datasets.",
    "sklearn.externals.",
    "torch.fx.",
    "torch.hub.",
    "torch.jit.",
    "torch.load",
    "torch.package.",
    "torch.serialization.",
    "torch.utils.cpp_extension.",
    "types.CodeType",
    "types.FunctionType",
)
_OWN_PACKAGES = {
    "catboost",
    "fairaudit",
    "lightgbm",
    "numpy",
    "pandas",
    "scipy",
    "sklearn",
    "xgboost",
}
# Libraries whose pickles need the library itself to run code while they open.
_FRAMEWORKS = ("torch", "tensorflow", "keras", "jax", "flax", "transformers")
OTHER_WAYS = (
    "Export the model as .onnx, or add its predictions to the table as a column and audit "
    "those ('predictions')."
)
_INNER = {"__builtins__", "__class__", "__globals__", "__subclasses__", "popen", "system"}


def refusal(name: str, refused: Sequence[str]) -> str:
    """The message about names that are not on the list."""
    hostile = [full for full in refused if is_hostile(full)]
    if hostile:
        return (
            f"{name} names {_list(hostile)}, which can run code or touch files. "
            "It looks hostile: do not open it, ask its author for a .skops or .onnx file."
        )
    packages = [full.partition(".")[0] for full in refused]
    framework = next((package for package in _FRAMEWORKS if package in packages), None)
    if framework is not None:
        return (
            f"{name} was written by {framework} (it names {_list(refused, most=3)}), and opening "
            f"such a pickle can run any code. {OTHER_WAYS}"
        )
    if "cloudpickle" in packages:
        return (
            f"{name} holds code of its own (saved by cloudpickle), which is not run. "
            "Move the code to a module and save the model with pickle, or as .skops or .onnx."
        )
    return (
        f"{name} holds {_describe(refused[0])} and needs names that are not on the allow-list: "
        f"{_list(refused)}. If you trust this file, pass 'trust' {quoted(refused[0])} (repeat "
        f"for each). {OTHER_WAYS}"
    )


def _describe(full: str) -> str:
    """What the name that was refused first is; in a pickle that is mostly the model itself."""
    module, _, last = full.rpartition(".")
    package = module.partition(".")[0]
    if package == "__main__":
        return f"{quoted(last)}, defined in a script or notebook,"
    if package in _OWN_PACKAGES:
        return f"{quoted(last)} of {package}, which no saved model holds,"
    return f"{quoted(last)} of {quoted(package)}, a package that fairaudit does not know,"


def is_hostile(full: str) -> bool:
    first, *parts = full.split(".")
    if first in ("builtins", "__builtin__"):
        return bool(_HOSTILE_BUILTINS & set(parts))
    if first in _HOSTILE_MODULES or full.startswith(_HOSTILE_PREFIXES):
        return True
    return first in _OWN_PACKAGES and bool((_HOSTILE_MODULES | _INNER) & set(parts))


def _list(names: Sequence[str], most: int = 8) -> str:
    text = ", ".join(quoted(name) for name in names[:most])
    return text if len(names) <= most else f"{text} and {len(names) - most} more"


def quoted(name: str) -> str:
    plain = name.encode("unicode_escape").decode("ascii")
    return plain if len(plain) <= 120 else plain[:117] + "..."


def first_line(error: BaseException) -> str:
    """The first line of an error's message, without its full stop."""
    lines = str(error).strip().splitlines()
    return _shown_text(lines[0]) if lines else type(error).__name__


def _shown_text(text: str) -> str:
    plain = "".join(letter if letter.isprintable() else " " for letter in text).strip()
    return (plain if len(plain) <= 300 else plain[:297] + "...").rstrip(".")


def unreadable(name: str, error: Exception) -> str:
    if isinstance(error, Refused):
        return (
            f"{name} does what no saved model does, although with allowed names: "
            f"it {first_line(error)}. "
            "It looks hostile or damaged: get the model from its author again."
        )
    if isinstance(error, (MemoryError, OverflowError)):
        why = "it asks for more memory than there is"
    elif isinstance(error, (EOFError, IndexError, KeyError)):
        why = "the file ends too early or is not a pickle"
    else:
        why = f"{type(error).__name__}: {first_line(error)}"
    return f"{name} cannot be read as a saved model: {why}. Save the model again."
