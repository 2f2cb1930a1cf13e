"""Progress on stderr: a bar on a terminal, elsewhere a line a minute."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager
from typing import Any

from fairaudit._words import quiet

__all__ = ["ProgressBar"]

DELAY = 2.0  # seconds before a bar is shown
EVERY = 60.0  # seconds between two lines


class ProgressBar(AbstractContextManager["ProgressBar"]):
    """Call it with (what, done, total). What is left is estimated from the phase at hand alone."""

    def __init__(self) -> None:
        self.start = self.began = self.told = time.monotonic()
        self.what, self.first = "", 0
        self.bar: Any = None
        self.terminal = sys.stderr.isatty()

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        new = what != self.what
        if new:
            self.what, self.began, self.first = what, now, done
        if self.terminal:
            self._draw(quiet(what), done, total, new=new)
        elif now - self.told >= EVERY:
            self.told = now
            each = (now - self.began) / max(done - self.first, 1)
            left = f", about {_words(each * (total - done))} left" if done > self.first else ""
            print(f"fairaudit: {quiet(what)}: {done:,} of {total:,}{left}", file=sys.stderr)

    def _draw(self, what: str, done: int, total: int, *, new: bool) -> None:
        if self.bar is None and time.monotonic() - self.start < DELAY:
            return
        from rich.markup import escape

        what = escape(what)
        if self.bar is None:
            from rich.console import Console
            from rich.progress import Progress

            self.bar = Progress(console=Console(stderr=True), transient=True)
            self.bar.start()
            self.task = self.bar.add_task(what, total=total)
        elif new:
            self.bar.reset(self.task, description=what, total=total)
        self.bar.update(self.task, description=what, completed=done, total=total)

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()


def _words(seconds: float) -> str:
    """A time for people.

    Examples
    --------
    >>> _words(40.2), _words(130), _words(4000)
    ('40 s', '2 min', '1.1 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
