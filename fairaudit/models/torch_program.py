"""Programs that torch has exported: in memory, and files of its own (``.pt2``)."""

from __future__ import annotations

import io
import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairaudit.errors import InputError
from fairaudit.models.answers import Meaning, Scores, as_table, library, several_outcomes
from fairaudit.models.safe_pickle import OTHER_WAYS
from fairaudit.models.torch_archive import reduced_program, unreadable

__all__ = ["TorchProgram", "open_torch"]


class TorchProgram:
    """A `torch.export.ExportedProgram`: one matrix of features, or an input for each feature."""

    kind = "torch.export"
    classes: NDArray[Any] | None = None

    def __init__(self, program: Any) -> None:
        self.program = program
        wanted = set(program.graph_signature.user_inputs)
        placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
        self.inputs = [node for node in placeholders if node.name in wanted]

    @property
    def features(self) -> tuple[str, ...] | None:
        return tuple(node.name for node in self.inputs) if len(self.inputs) > 1 else None

    @property
    def n_features(self) -> int | None:
        if len(self.inputs) > 1:
            return len(self.inputs)
        shape: Any = self.inputs[0].meta["val"].shape if self.inputs else ()
        return int(shape[1]) if len(shape) == 2 else None

    @property
    def wants(self) -> tuple[str, ...] | type | None:
        return self.features

    def scores(self, rows: Any) -> Scores:
        return as_table(self._run(rows), "prediction", Meaning.UNKNOWN)

    def labels(self, rows: Any) -> Any:
        return self._run(rows)

    def _run(self, rows: Any) -> NDArray[Any]:
        import torch

        columns = [rows] if self.features is None else [rows[name] for name in self.features]
        given = [self._tensor(*pair) for pair in zip(self.inputs, columns, strict=True)]
        with torch.no_grad():
            made = self.program.module(check_guards=False)(*given)
        if isinstance(made, (dict, list, tuple)):
            if len(made) != 1:
                raise several_outcomes(len(made))
            made = next(iter(made.values() if isinstance(made, dict) else made))
        return np.asarray(made.detach().numpy())

    def _tensor(self, node: Any, values: Any) -> Any:
        import torch

        wanted = node.meta["val"]
        if isinstance(wanted.shape[0], int) and wanted.shape[0] != len(values):
            raise InputError(
                f"The torch program was exported for {wanted.shape[0]} rows at once, and there are "
                f"{len(values)}. Export it with dynamic_shapes=({{0: torch.export.Dim.DYNAMIC}},)."
            )
        try:
            numbers = values.to_numpy().astype(np.float64)
        except (TypeError, ValueError):
            raise InputError(
                "The torch program wants numbers, and the table holds text. "
                "Encode it as in the fit."
            ) from None
        tensor = torch.from_numpy(numbers).to(wanted.dtype)
        return tensor[:, None] if tensor.ndim < len(wanted.shape) else tensor


def open_torch(data: bytes, name: str, trust: tuple[str, ...]) -> Any:
    reduced = reduced_program(data, name)
    torch = library("torch", name)
    said = logging.getLogger("torch.export")
    before, said.disabled = said.disabled, True  # what goes wrong is raised
    try:
        program = torch.export.load(io.BytesIO(reduced))
    except Exception as error:  # torch raises whatever its parts raise
        raise unreadable(name, error) from error
    finally:
        said.disabled = before
    if not program.graph_signature.user_inputs:
        raise InputError(f"{name} takes no table. {OTHER_WAYS}", argument="predictions")
    return program
