"""Files of skops, under the same allow-list as pickles."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from fairaudit.errors import FairAuditError, InputError, MissingDependencyError
from fairaudit.models.answers import library
from fairaudit.models.guard import no_side_effects
from fairaudit.models.safe_pickle import (
    OTHER_MODULES,
    Refused,
    add_working_directory,
    check_made,
    first_line,
    is_allowed,
    refusal,
    unreadable,
)
from fairaudit.models.skops_nodes import check_nodes
from fairaudit.models.zip_members import check_members

__all__ = ["open_skops"]


_ALSO = ("numpy.dtype",)  # skops takes it from an array, never from a state


def open_skops(data: bytes, name: str, trust: tuple[str, ...]) -> Any:
    skops_io = library("skops.io", name)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_members(archive.infolist(), len(data), name)
            schema = json.loads(archive.read("schema.json"))
        needed = [str(full) for full in skops_io.get_untrusted_types(data=data)]
    except FairAuditError:
        raise
    except Exception as error:  # of a file that skops cannot parse
        raise _unreadable(name, error) from error
    try:
        known = {*trust, *_ALSO}
        refused = [full for full in needed if full not in known and not is_allowed(full)]
    except MissingDependencyError as error:
        raise MissingDependencyError(f"{name}: {error}") from None
    if refused:
        raise InputError(refusal(name, refused), argument=("trust", "predictions"))
    try:
        check_nodes(schema, trust)
    except Refused as error:
        raise InputError(unreadable(name, error)) from None
    except Exception as error:  # of a schema that has another form
        raise _unreadable(name, error) from error
    if trust:
        add_working_directory()
    try:
        with no_side_effects(not trust), _other_modules():
            model = skops_io.loads(data, trusted=needed)
    except FairAuditError:
        raise
    except Exception as error:  # of the classes that are filled
        raise _unreadable(name, error) from error
    check_made(model, name)
    return model


@contextmanager
def _other_modules() -> Iterator[None]:
    """Modules under the names of other versions; a file of such a name beside is not imported."""
    before = {name: sys.modules.get(name) for name in OTHER_MODULES}
    for name, module in OTHER_MODULES.items():
        sys.modules[name] = import_module(module)
    try:
        yield
    finally:
        for name, own in before.items():
            if own is None:
                del sys.modules[name]
            else:
                sys.modules[name] = own


def _unreadable(name: str, error: Exception) -> InputError:
    return InputError(
        f"{name} cannot be read as a skops file: {first_line(error)}. Save the model again."
    )
