"""Pickle and joblib files of models, opened through an allow-list.

What is promised. Opening a file imports, calls and creates only what is listed here: estimators of
scikit-learn, xgboost, lightgbm, catboost and fairaudit, their parts, and the few
functions that put arrays, numbers and containers back together. All names are read from the file
before anything is made of it; one that is not on the list stops it. Estimators are filled with
their saved state and never called; the functions run with checked arguments, most of them as a
version of their own (numpy would take bytes for pointers if the file said so; here the types of
arrays are built anew). Names that the caller trusts are exempt, one by one.

When all is read, the objects are walked: settings that would do harm when the model predicts, trees
and matrices that point outside of themselves, and lists without end are refused.

What is not. This reduces what a hostile file can do and does not prevent everything: the numbers of
nearest neighbors, support vectors and boosters are not checked, and their compiled parts believe
them, so that a crafted file can crash the process, or worse. The time and memory of predicting are
not bounded either. All of it therefore happens in `fairaudit.models.sandbox` unless the caller
says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from fairaudit.errors import FairAuditError, InputError, MissingDependencyError
from fairaudit.models.guard import no_side_effects
from fairaudit.models.safe_pickle.allow_list import (
    OTHER_MODULES,
    Policy,
    check_trust,
    is_allowed,
    is_compiled_number,
    is_distribution,
)
from fairaudit.models.safe_pickle.grants import PIP, Absent, Refused, add_working_directory
from fairaudit.models.safe_pickle.hashing import keys_of
from fairaudit.models.safe_pickle.machine import File, Machine
from fairaudit.models.safe_pickle.messages import (
    OTHER_WAYS,
    first_line,
    is_hostile,
    quoted,
    refusal,
    unreadable,
)
from fairaudit.models.safe_pickle.scanner import Scanner
from fairaudit.models.safe_pickle.soundness import check_attributes, check_objects
from fairaudit.models.safe_pickle.unpack import largest_unpacked, unpacked

__all__ = [
    "OTHER_MODULES",
    "OTHER_WAYS",
    "Refused",
    "add_working_directory",
    "check_attributes",
    "check_made",
    "check_trust",
    "first_line",
    "is_allowed",
    "is_compiled_number",
    "keys_of",
    "largest_unpacked",
    "load_pickle",
    "refusal",
    "unreadable",
]


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
    >>> import pickle
    >>> load_pickle(pickle.dumps({"C": 1.0}), name="model.pkl")
    {'C': 1.0}
    >>> load_pickle(b"cos\\nsystem\\n(S'id'\\ntR.", name="model.pkl")
    Traceback (most recent call last):
    ...
    fairaudit.errors.InputError: model.pkl names os.system, which can run code or touch files. ...
    """
    trusted = check_trust(trust)
    data = unpacked(data, name)
    if not data:
        raise InputError(f"{name} is empty. Save the model again.")
    policy = _examine(data, name, trusted)
    try:
        with no_side_effects(not trusted):
            made = Machine(File(data), policy).load()
    except FairAuditError:
        raise
    except Exception as error:  # classes that are filled may raise anything
        raise InputError(unreadable(name, error)) from error
    check_made(made, name)
    return made


def check_made(made: Any, name: str) -> None:
    """Refuse objects of a file that would do harm when asked to predict."""
    try:
        check_objects(made)
    except Exception as error:  # reading attributes of classes that are filled may raise anything
        raise InputError(unreadable(name, error)) from error


def _examine(data: bytes, name: str, trust: tuple[str, ...]) -> Policy:
    """Read every name of the file, and the policy that allows them all."""
    names: dict[tuple[str, str], None] = {}
    problem: Exception | None = None
    try:
        Scanner(File(data), Policy(trust), names).load()
    except Exception as error:  # told below, after the names that were found
        problem = error
    searched = any(is_distribution(module, last) for module, last in names)
    policy = Policy(trust, searched=searched)
    refused, absent = [], []
    for module, last in names:
        if f"{module}.{last}" in policy.trust:
            continue
        try:
            policy.grant(module, last)
        except Refused:
            refused.append(f"{module}.{last}")
        except Absent as error:
            if is_hostile(f"{module}.{last}"):
                refused.append(f"{module}.{last}")
            absent.append((f"{module}.{last}", str(error)))
        except MissingDependencyError as error:
            raise MissingDependencyError(f"{name}: {error}") from None
    if refused:
        raise InputError(refusal(name, refused), argument=("trust", "predictions"))
    if absent:
        full, package = absent[0]
        version = getattr(import_module(package), "__version__", "")
        raise InputError(
            f"{name} needs {quoted(full)}, which {PIP.get(package, package)} {version} does not "
            "have. Use the version that saved the model, or save it again with this one."
        )
    if problem is not None:
        raise InputError(unreadable(name, problem)) from problem
    return policy
