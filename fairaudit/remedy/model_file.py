"""The model of a repair as a file, which is written only if it is a repair."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairaudit.data.facts import Source
from fairaudit.models import predictor_of
from fairaudit.remedy.rows import Audited

__all__ = ["ModelFile", "without_file"]


@dataclass(frozen=True, slots=True)
class ModelFile:
    """The model as a pickle: its source (with a path, where it is to be written) and the bytes."""

    source: Source
    content: bytes = field(repr=False)

    @classmethod
    def of(cls, model: Any, out: str | Path | None) -> ModelFile:
        import hashlib
        import pickle

        content = pickle.dumps(model)
        path = None if out is None else str(out)
        digest = hashlib.sha256(content).hexdigest()
        return cls(Source(path, predictor_of(model).kind, digest), content)

    def write(self) -> str | None:
        """Where it is now, if anywhere."""
        from fairaudit.data.reading.write import write_bytes

        if self.source.path is not None:
            write_bytes(self.source.path, self.content)
        return self.source.path

    def unwritten(self) -> ModelFile:
        return replace(self, source=replace(self.source, path=None))


def without_file(audited: Audited) -> Audited:
    """The record of an audit whose model was not written."""
    result = audited.result
    source = result.capsule.model
    if source is None:
        return audited
    capsule = replace(result.capsule, model=replace(source, path=None))
    return replace(audited, result=replace(result, capsule=capsule))
