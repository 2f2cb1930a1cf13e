"""A model that answers over HTTP: the protocols of MLflow and of KServe (V2, also Triton's)."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Sequence
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit

import numpy as np

from fairaudit._types import Array
from fairaudit.errors import InputError
from fairaudit.models.predictor import Predictor

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TOKEN", "Endpoint", "is_endpoint", "open_endpoint"]

#: The environment variable with a bearer token; a token in a URL would end up in records.
TOKEN = "FAIRAUDIT_MODEL_TOKEN"  # noqa: S105
_V2 = re.compile(r"(.*/v2/models/[^/]+(?:/versions/[^/]+)?)/infer/?")
_PARTS = 10  # lists and objects of one row of an answer
_LONGEST = 10_000  # letters of a label
_AGAIN = (408, 429, 500, 502, 503, 504)


def _opener() -> Any:
    """What sends a request: to the address that was typed, and to no other."""
    from urllib.request import HTTPRedirectHandler, build_opener

    class NoRedirect(HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    return build_opener(NoRedirect)


class Endpoint:
    """A function of a table whose answers come from a service.

    Parameters
    ----------
    url : str
        ``…/invocations`` (MLflow) or ``…/v2/models/NAME/infer`` (KServe V2). Columns after a ``#``,
        as in ``http://host:5000/invocations#income,age``, are the features, and nothing else is
        sent; that part of a URL never leaves this machine. ``;output=NAME`` after them asks a
        service of KServe for one of several outputs, as ``#income,age;output=predict_proba``.
    batch : int
        Rows of one request.
    retries : int
        How often a request is repeated when the service is busy or cannot be reached.
    timeout : float
        Seconds for one request.
    most : int
        Bytes of an answer.
    wait : float
        Seconds before the first repetition; doubled each time.
    """

    def __init__(
        self,
        url: str,
        *,
        batch: int = 1000,
        retries: int = 3,
        timeout: float = 60.0,
        most: int = 64 * 2**20,
        wait: float = 0.5,
    ) -> None:
        parts = _parts_of(url)
        if not parts.path.rstrip("/").endswith("/invocations") and not _V2.fullmatch(parts.path):
            raise InputError(
                f"{_shown(url)} follows no protocol that is known here: …/invocations (MLflow) or "
                "…/v2/models/NAME/infer (KServe). Audit a column of predictions instead.",
                argument="model",
            )
        self.url = url.partition("#")[0]
        self.protocol = "kserve" if _V2.fullmatch(parts.path) else "mlflow"
        self.batch, self.retries, self.timeout = batch, retries, timeout
        self.most, self.wait = most, wait
        columns, _, output = parts.fragment.partition(";output=")
        self.output = unquote(output) or None
        if self.output is not None and self.protocol == "mlflow":
            raise InputError("Only services of KServe have outputs to choose.", argument="model")
        named = tuple(unquote(name) for name in columns.split(",") if name)
        self.inputs = self._inputs() if self.protocol == "kserve" else ()
        self.features = named or (self.inputs if len(self.inputs) > 1 else None)

    def __call__(self, table: pd.DataFrame) -> Array:
        """The answers for all rows: a number each, or one per class."""
        pieces = [
            self._ask(table.iloc[start : start + self.batch])
            for start in range(0, len(table), self.batch)
        ]
        shapes = {piece.shape[1:] for piece in pieces}
        if len(shapes) > 1:
            raise self._wrong("answers batches in different shapes")
        values = np.concatenate(pieces)
        if values.ndim == 2 and values.shape[1] == 2 and values.dtype.kind == "f":
            return values[:, 1]  # of two probabilities that of the second class
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values

    def _ask(self, rows: pd.DataFrame) -> Array:
        build, read = (
            (_mlflow_request, _mlflow_answer)
            if self.protocol == "mlflow"
            else (self._kserve_request, self._kserve_answer)
        )
        answer = self._send(json.dumps(build(rows)).encode())
        try:
            values = _as_array(read(answer))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise self._wrong(f"does not answer as {self.protocol} does ({error!r})") from error
        if values.ndim not in (1, 2) or values.dtype == object or len(values) != len(rows):
            raise self._wrong(f"gives {values.shape} values for {len(rows)} rows")
        return values

    def _kserve_request(self, rows: pd.DataFrame) -> dict[str, Any]:
        asked = {} if self.output is None else {"outputs": [{"name": self.output}]}
        if len(self.inputs) > 1:
            return {"inputs": [_tensor(name, rows[[name]]) for name in self.inputs], **asked}
        return {"inputs": [_tensor(self.inputs[0] if self.inputs else "input-0", rows)], **asked}

    def _kserve_answer(self, answer: Any) -> Any:
        outputs = {one["name"]: one for one in answer["outputs"]}
        wanted = ("predict_proba", "probabilities") if self.output is None else (self.output,)
        chosen = next((outputs[name] for name in wanted if name in outputs), None)
        if chosen is None and self.output is not None:
            raise LookupError(f"no output {self.output!r} among {sorted(outputs)}")
        chosen = answer["outputs"][0] if chosen is None else chosen
        return _as_array(chosen["data"]).reshape(chosen["shape"])

    def _inputs(self) -> tuple[str, ...]:
        """Names of inputs, where the service tells them."""
        told = self._send(None, re.sub(r"/infer/?$", "", self.url))
        listed = told.get("inputs") if isinstance(told, dict) else None
        listed = listed if isinstance(listed, list) else []
        names = [one.get("name") for one in listed if isinstance(one, dict)]
        return tuple(name for name in names if isinstance(name, str))

    def _send(self, body: bytes | None, url: str | None = None) -> Any:
        """Send a request, again where the service is busy, and parse the answer."""
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import Request

        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if token := os.environ.get(TOKEN):
            headers["Authorization"] = f"Bearer {token}"
        request = Request(url or self.url, data=body, headers=headers)  # noqa: S310 - http(s) only
        for attempt in range(self.retries + 1):
            try:
                data = _within(self.timeout, lambda: self._fetch(request))
                break
            except HTTPError as error:
                if error.code not in _AGAIN or attempt == self.retries:
                    what = f"answers with status {error.code}{self._why(error)}"
                    raise self._wrong(what) from error
            except (OSError, HTTPException, UnicodeError) as error:
                if attempt == self.retries:
                    raise self._wrong(f"cannot be reached: {error}") from error
            time.sleep(self.wait * 2**attempt)
        if len(data) > self.most:
            raise self._wrong(f"answers with more than {self.most:,} bytes")
        if data.count(b"[") + data.count(b"{") > _PARTS * (self.batch + _PARTS):
            raise self._wrong("answers with lists in lists that no rows have")
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self._wrong("answers with something that is not JSON") from error

    def _why(self, error: Any) -> str:
        """The first words of an answer that is an error, if they come in time."""
        try:
            words = _within(self.timeout, lambda: bytes(error.read(300)))
        except OSError:
            return ""
        return f": {' '.join(words.decode('utf-8', 'replace').split())}"

    def _fetch(self, request: Any) -> bytes:
        with _opener().open(request, timeout=self.timeout) as answer:
            return bytes(answer.read(self.most + 1))

    def _wrong(self, what: str) -> InputError:
        return InputError(f"The model at {_shown(self.url)} {what}.", argument="model")


def _within(seconds: float, fetch: Callable[[], bytes]) -> bytes:
    """What `fetch` returns, if it does in time: a service may send a byte now and then forever."""
    done: list[bytes] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            done.append(fetch())
        except Exception as error:  # raised again below
            failed.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not done:
        raise TimeoutError(f"no whole answer within {seconds:g} s")
    return done[0]


def _as_array(values: Any) -> Array:
    """As an array, in which each text takes as much room as the longest."""
    rows = values if isinstance(values, list) else []
    texts = [row for row in rows if isinstance(row, str)]
    texts += [x for row in rows if isinstance(row, list) for x in row if isinstance(x, str)]
    if max(map(len, texts), default=0) > _LONGEST:
        raise ValueError("a label of more letters than labels have")
    return np.asarray(values)


def _parts_of(url: str) -> SplitResult:
    """The parts of an address that may stand in a record, as that of a model does."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise InputError(f"{_shown(url)} is no URL: {error}.", argument="model") from None
    if parts.username is not None or parts.password is not None or parts.query:
        raise InputError(
            "The URL of a model may hold neither a password nor a query (?…): it would stand in "
            f"the record. Set {TOKEN} in the environment instead.",
            argument="model",
        )
    return parts


def _shown(url: str) -> str:
    return url.partition("?")[0]


def _mlflow_request(rows: pd.DataFrame) -> dict[str, Any]:
    return {"dataframe_split": {"columns": list(rows.columns), "data": _plain(rows)}}


def _mlflow_answer(answer: Any) -> Any:
    values = answer["predictions"]
    return [list(one.values()) for one in values] if isinstance(values[0], dict) else values


def _tensor(name: str, rows: pd.DataFrame) -> dict[str, Any]:
    values: Sequence[Any] = [value for row in _plain(rows) for value in row]
    number = all(value is None or isinstance(value, (int, float)) for value in values)
    return {
        "name": name,
        "shape": list(rows.shape),
        "datatype": "FP64" if number else "BYTES",
        "data": values if number else [str(value) for value in values],
    }


def _plain(rows: pd.DataFrame) -> list[list[Any]]:
    """Rows as JSON has them: what is missing is null."""
    table = rows.astype(object)
    return [
        [value.item() if hasattr(value, "item") else value for value in row]
        for row in table.where(rows.notna(), None).to_numpy().tolist()
    ]


def is_endpoint(source: str) -> bool:
    """Whether a model is named by the address of a service."""
    return source.startswith(("http://", "https://"))


def open_endpoint(url: str) -> Predictor:
    """A predictor that asks the service at `url`."""
    model = Endpoint(url)
    return Predictor(
        model=model,
        source=url,
        kind=f"endpoint ({model.protocol})",
        sha256=None,
        features=model.features,
        n_features=None if model.features is None else len(model.features),
        classes=None,
        notes=(
            "The model is a service: what it answers may change, and no digest vouches for it.",
        ),
    )
