"""What a model's process may use."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from fairaudit.errors import InputError

__all__ = ["Limits"]

_UNITS = {"MB": 2**20, "GB": 2**30, "s": 1, "min": 60}


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes of memory, and seconds for opening the model and for each question."""

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

    @property
    def size(self) -> str:
        return f"{self.memory / 2**30:.3g} GB"
