"""Stands for a model in a confined process; asked like any other kind of model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairaudit.errors import InputError, MissingDependencyError
from fairaudit.models.answers import Meaning, Scores
from fairaudit.models.sandbox.client import Ended, Model, Process, explain
from fairaudit.models.sandbox.process_limits import Limits
from fairaudit.models.sandbox.wire import Broken, Message
from fairaudit.models.sandbox.wire_tables import is_short, pack_table, unpack_table

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["SandboxedModel"]

_LETTERS = 2000  # of a message
_COUNT = 10**6  # of names
_LETTERS_OF_CLASSES = 10**7
_ARGUMENTS = ("isolate", "on", "predictions", "sandbox", "trust")  # that an error may be about


class SandboxedModel:
    """A model that is opened and asked in a process of its own.

    It can be copied to another process, where it starts anew.
    """

    wants = None

    def __init__(self, model: Model) -> None:
        self._model = model
        self._process: Process | None = None
        self.layers: dict[str, str | None] = {}
        self._open()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_process": None}

    def _open(self) -> Process:
        if self._process is not None and self._process.alive:
            return self._process
        import pandas  # noqa: F401  while the other process starts

        try:
            process = Process(self._model)
            content = process.open()
        except Ended as ended:
            raise explain(ended, self._model.name, self._model.limits) from None
        facts = self._checked(content).get("facts")
        try:
            if not isinstance(facts, dict):
                raise Broken("facts")
            self._take(facts)
        except (Broken, KeyError, TypeError, ValueError, OverflowError):
            raise self._nonsense(process) from None
        self.layers = process.layers
        self._process = process
        return process

    def _take(self, facts: dict[str, Any]) -> None:
        features, count = facts["features"], facts["n_features"]
        if count is not None and not (type(count) is int and 0 <= count < 2**31):
            raise Broken("n_features")
        self.kind = _text(facts["kind"], 300)
        self.features = None if features is None else tuple(_texts(features))
        self.n_features = count
        self.classes = _classes(facts["classes"])
        self.notes = tuple(_text(note, 500) for note in _texts(facts["notes"])[:50])

    def scores(self, rows: pd.DataFrame) -> Scores:
        return self._ask(rows, "scores")

    def labels(self, rows: pd.DataFrame) -> Any:
        return self._ask(rows, "labels").values

    @property
    def limits(self) -> Limits:
        return self._model.limits

    @property
    def data(self) -> bytes | None:
        return self._model.data

    @property
    def trust(self) -> tuple[str, ...]:
        return self._model.trust

    def close(self) -> None:
        if self._process is not None:
            self._process.close()

    def _ask(self, rows: pd.DataFrame, on: str) -> Scores:
        process = self._open()
        packed = pack_table(rows)
        limits = self._model.limits
        most = min(2**26 + 2**14 * len(rows), limits.memory)
        question = Message({**packed.content, "on": on}, packed.arrays)
        try:
            message = process.ask(question, most)
        except Ended as ended:
            raise explain(ended, self._model.name, limits) from None
        content = self._checked(message.content)
        try:
            table = unpack_table(message, rows=len(rows))
            self.classes = _classes(content["classes"])
            meaning = Meaning(content["meaning"])
        except (Broken, KeyError, TypeError, ValueError, OverflowError):
            raise self._nonsense(process) from None
        return Scores(table.to_numpy(), [_line(name) for name in table.columns], meaning)

    def _nonsense(self, process: Process) -> InputError:
        process.close()
        return explain(Ended("broken"), self._model.name, self._model.limits)

    def _checked(self, content: dict[str, Any]) -> dict[str, Any]:
        """What the process says, unless that is an error."""
        name, limits = self._model.name, self._model.limits
        if "memory" in content:
            raise explain(Ended("memory"), name, limits)
        if "refused" in content:
            raise InputError(
                f"The model file {name} was stopped: it tried what no model needs, and the "
                f"system refused it ({_text(content['refused'], 200)}). It looks hostile: get the "
                "model from its author again, or pass predictions instead of the model.",
                argument="predictions",
            )
        if "error" not in content:
            return content
        text = _text(content["error"], _LETTERS)
        if content.get("missing") is True:
            raise MissingDependencyError(text)
        named = content.get("argument")
        known = [word for word in named if word in _ARGUMENTS] if isinstance(named, list) else []
        raise InputError(text, argument=tuple(known) or None)


def _line(text: Any) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in str(text))


def _text(text: Any, most: int) -> str:
    return _line(text[:most]) if isinstance(text, str) else "an error without words"


def _texts(values: Any) -> list[str]:
    if not isinstance(values, list) or len(values) > _COUNT:
        raise Broken("names")
    if not all(isinstance(value, str) and len(value) <= 10_000 for value in values):
        raise Broken("names")
    return values


def _classes(values: Any) -> NDArray[Any] | None:
    import numpy as np

    if values is None:
        return None
    if not isinstance(values, list) or len(values) > _COUNT:
        raise Broken("classes")
    if not all(isinstance(value, (bool, int, float, str)) and is_short(value) for value in values):
        raise Broken("classes")
    longest = max((len(value) for value in values if isinstance(value, str)), default=0)
    if len(values) * longest > _LETTERS_OF_CLASSES:  # each takes as much room as the longest
        raise Broken("classes")
    return np.asarray(values)
