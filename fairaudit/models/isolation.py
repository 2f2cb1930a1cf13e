"""A model that loads and predicts in a process of its own: no network, bounded memory and time.

Every question starts a new process, which reads the table from one file and writes its answer to
another; both are arrays and JSON, never pickles. A crash, a hang or a want of memory ends that
process, and is an `InputError` here. Nothing heavy is imported above: the process gives up the
network first, which Linux allows an ordinary user only while there is a single thread.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

from fairaudit.errors import FairAuditError, InputError, MissingDependencyError
from fairaudit.models.answers import Meaning, Scores

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.models import Predictor

__all__ = ["IsolatedModel", "Limits", "isolated_model"]

_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); " + (
    "from fairaudit.models.isolation import main; main()"
)
_UNITS = {"MB": 2**20, "GB": 2**30, "s": 1, "min": 60}
_NEW_NETWORK, _NEW_USER = 0x40000000, 0x10000000  # of <linux/sched.h>


@dataclass(frozen=True, slots=True)
class Limits:
    """What the process may use: bytes of memory, and seconds for each question."""

    memory: int = 8 * 2**30
    seconds: int = 300

    @classmethod
    def parse(cls, text: str) -> Limits:
        """Limits such as ``4GB,60s``; what is not named stays as it is.

        Examples
        --------
        >>> Limits.parse("500MB")
        Limits(memory=524288000, seconds=300)
        """
        limits = cls()
        for part in filter(None, text.split(",")):
            limit = re.fullmatch(r"\s*([1-9]\d{0,9})\s*(MB|GB|s|min)\s*", part)
            if limit is None:
                raise InputError(
                    f"'isolate' {text!r} is not a limit. Write it as in 4GB,300s.",
                    argument="isolate",
                )
            amount = int(limit[1]) * _UNITS[limit[2]]
            what = "memory" if limit[2] in ("MB", "GB") else "seconds"
            limits = replace(limits, **{what: amount})
        return limits


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolatedModel:
    """Stands for a model in the other process; asked like any other kind of model."""

    source: str
    trust: tuple[str, ...]
    limits: Limits
    kind: str
    sha256: str | None
    features: tuple[str, ...] | None
    n_features: int | None
    classes: Any = None
    wants: None = None

    def scores(self, rows: pd.DataFrame) -> Scores:
        return self._ask(rows, "scores")

    def labels(self, rows: pd.DataFrame) -> Any:
        return self._ask(rows, "labels").values

    def _ask(self, rows: pd.DataFrame, on: str) -> Scores:
        reply, table = _ask(self.source, self.trust, self.limits, rows, on)
        if reply["sha256"] != self.sha256 or table is None:
            raise InputError(f"{self.source!r} changed while it was audited. Run the audit again.")
        known = [meaning for meaning in Meaning if meaning == reply.get("meaning")]
        names = [str(name) for name in table.columns]
        return Scores(table.to_numpy(), names, known[0] if known else Meaning.UNKNOWN)


def isolated_model(
    source: str, *, trust: Sequence[str] = (), limits: Limits | None = None
) -> Predictor:
    """As `fairaudit.models.load_model`, with the model in a process of its own.

    Parameters
    ----------
    source : str
        A model file or ``package.module:function``.
    trust : sequence of str
        As for `load_model`.
    limits : Limits, optional
    """
    import numpy as np

    from fairaudit.models import Predictor

    limits = limits or Limits()
    facts, _ = _ask(source, tuple(trust), limits)
    features = None if facts["features"] is None else tuple(facts["features"])
    classes = None if facts["classes"] is None else np.asarray(facts["classes"])
    known: dict[str, Any] = {
        "kind": facts["kind"],
        "sha256": facts["sha256"],
        "features": features,
        "n_features": facts["n_features"],
        "classes": classes,
    }
    model = IsolatedModel(source=source, trust=tuple(trust), limits=limits, **known)
    return Predictor(model=model, source=source, notes=tuple(facts["notes"]), **known)


# ---------------------------------------------------------------- this side


def _ask(
    source: str,
    trust: tuple[str, ...],
    limits: Limits,
    rows: pd.DataFrame | None = None,
    on: str | None = None,
) -> tuple[dict[str, Any], pd.DataFrame | None]:
    if os.name != "posix":
        raise InputError(
            "'isolate' needs Linux or macOS. Audit predictions instead of the model.",
            argument="isolate",
        )
    request = {"source": source, "trust": trust, "on": on}
    command = [sys.executable, "-c", _START, json.dumps(sys.path)]
    command += [str(limits.memory), str(limits.seconds)]
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as answer:
        _write(given, request, rows)
        given.seek(0)
        child = subprocess.Popen(  # noqa: S603  no shell, and only our own arguments
            command, stdin=given, stdout=answer, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            status: int | None = child.wait(limits.seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)  # it, and whatever it has started
            child.wait()
        if status != 0 or answer.seek(0, os.SEEK_END) == 0:  # or sys.exit() in the model
            raise InputError(_explain_ending(source, status, limits), argument="isolate")
        answer.seek(0)
        reply, table = _read(answer)
    if "error" in reply:
        if reply["missing"]:
            raise MissingDependencyError(str(reply["error"]))
        named = reply.get("argument")  # said by a process that ran the model
        argument = tuple(map(str, named)) if isinstance(named, list) else None
        raise InputError(str(reply["error"]), argument=argument)
    return reply, table


def _explain_ending(source: str, status: int | None, limits: Limits) -> str:
    size = f"{limits.memory / 2**30:.3g} GB"
    if status is None:
        why = f"did not answer within {limits.seconds} s"
        hint = f"Raise the limit ('isolate' {size.replace(' ', '')},{10 * limits.seconds}s)"
    elif status in (-signal.SIGKILL, -signal.SIGXFSZ, -signal.SIGABRT) or status >= 0:
        why = f"ended without an answer (status {status}), perhaps for want of memory ({size})"
        hint = "Raise the limit, as in 'isolate' 16GB"
    else:
        why = f"crashed ({signal.Signals(-status).name})"
        hint = "Correct the model, or audit predictions"
    return f"The model {source!r} {why} in its process. {hint}."


# ---------------------------------------------------------------- the other side


def main() -> None:
    """Answer one question: standard input to standard output."""
    memory, seconds = map(int, sys.argv[2:4])
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the model prints is no answer
    online = _give_up_network()
    _limit(memory, seconds)
    try:
        reply, table = _answer(*_read(sys.stdin.buffer))
        if online:
            reply["notes"] = [*reply["notes"], f"The network could not be cut off: {online}."]
    except FairAuditError as error:
        reply = {"error": str(error), "missing": isinstance(error, MissingDependencyError)}
        named = getattr(error, "argument", None) or ()
        reply["argument"] = [named] if isinstance(named, str) else list(named)
        table = None
    except MemoryError:
        reply = {"error": _explain_ending("", 1, Limits(memory, seconds)), "missing": False}
        reply["argument"], table = ["isolate"], None
    _write(answer, reply, table)
    answer.close()
    os._exit(0)  # threads and exit handlers of the model do not matter any more


def _answer(
    request: dict[str, Any], rows: pd.DataFrame | None
) -> tuple[dict[str, Any], pd.DataFrame | None]:
    from fairaudit.models import load_model

    predictor = load_model(request["source"], trust=tuple(request["trust"]))
    answer = None if rows is None else predictor.answer(rows, on=request["on"])
    classes = None if predictor.classes is None else predictor.classes.tolist()
    reply = {
        "kind": predictor.kind,
        "sha256": predictor.sha256,
        "features": predictor.features,
        "n_features": predictor.n_features,
        "classes": classes,
        "notes": list(predictor.notes),
        "meaning": None if answer is None else answer.meaning.value,
    }
    return reply, None if answer is None else answer.table


def _give_up_network() -> str | None:
    """Move to a network of one's own with nothing in it; why not, if that fails."""
    try:
        unshare = ctypes.CDLL(None, use_errno=True).unshare
    except AttributeError:
        return "only Linux has a way to do so"
    if unshare(_NEW_NETWORK) == 0 or unshare(_NEW_USER | _NEW_NETWORK) == 0:
        return None
    return os.strerror(ctypes.get_errno())


def _limit(memory: int, seconds: int) -> None:
    import resource

    for what, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, memory),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with suppress(ValueError, OSError):  # macOS has no limit of addresses
            resource.setrlimit(what, (most, most))


# ---------------------------------------------------------------- between them


def _write(file: IO[bytes], message: dict[str, Any], table: pd.DataFrame | None) -> None:
    """Arrays of numbers as they are, other columns as JSON."""
    import numpy as np

    arrays: dict[str, Any] = {}
    columns = None
    if table is not None:
        columns = [_pack_column(table.iloc[:, j], f"c{j}", arrays) for j in range(table.shape[1])]
    header = json.dumps({"message": message, "columns": columns}).encode()
    np.savez(file, header=np.frombuffer(header, np.uint8), **arrays)


def _pack_column(column: pd.Series[Any], key: str, arrays: dict[str, Any]) -> dict[str, Any]:
    import numpy as np
    import pandas as pd

    packed: dict[str, Any] = {"name": str(column.name), "key": key, "dtype": str(column.dtype)}
    if isinstance(column.dtype, pd.CategoricalDtype):
        arrays[key] = np.asarray(column.cat.codes)
        levels = column.cat.categories.to_series()
        packed["levels"] = _pack_column(levels, f"{key}_levels", arrays)
        packed["ordered"] = bool(column.cat.ordered)
    elif isinstance(column.dtype, np.dtype) and column.dtype.kind in "biufMm":
        arrays[key] = column.to_numpy()
    else:
        values = column.astype(object).to_numpy()
        packed["values"] = [None if pd.isna(value) else _plain(value) for value in values]
    return packed


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def _read(file: IO[bytes]) -> tuple[dict[str, Any], pd.DataFrame | None]:
    import numpy as np
    import pandas as pd

    with np.load(file, allow_pickle=False) as arrays:
        header = json.loads(arrays["header"].tobytes())
        columns = header["columns"]
        if columns is None:
            return header["message"], None
        series = [_unpack_column(column, arrays) for column in columns]
    table = pd.concat(series, axis=1) if series else pd.DataFrame()
    return header["message"], table.set_axis([column["name"] for column in columns], axis=1)


def _unpack_column(packed: dict[str, Any], arrays: Any) -> pd.Series[Any]:
    import pandas as pd

    if "levels" in packed:
        levels = pd.Index(_unpack_column(packed["levels"], arrays))
        codes = arrays[packed["key"]]
        return pd.Series(pd.Categorical.from_codes(codes, levels, ordered=packed["ordered"]))
    if "values" in packed:
        return pd.Series(packed["values"], dtype=packed["dtype"])
    return pd.Series(arrays[packed["key"]])
