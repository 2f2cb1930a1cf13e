"""A progress bar on stderr for work that takes longer than two seconds."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager
from typing import Any

from fairaudit._words import quiet

__all__ = ["ProgressBar"]

DELAY = 2.0


class ProgressBar(AbstractContextManager["ProgressBar"]):
    """Call it with (what, done, total); silent where stderr is not a terminal."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.bar: Any = None
        self.on = sys.stderr.isatty()

    def __call__(self, what: str, done: int, total: int) -> None:
        if not self.on or (self.bar is None and time.monotonic() - self.start < DELAY):
            return
        from rich.markup import escape

        what = escape(quiet(what))
        if self.bar is None:
            from rich.console import Console
            from rich.progress import Progress

            self.bar = Progress(console=Console(stderr=True), transient=True)
            self.bar.start()
            self.task = self.bar.add_task(what, total=total)
        self.bar.update(self.task, description=what, completed=done, total=total)

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()
