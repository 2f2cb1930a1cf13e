"""Torture of the sandbox: attacks of any code, layer by layer, and the corpus without allow-list.

python tests/hostile/confinement.py       # the table of layers in docs/reliability.md
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from attacks import FEATURES
from attacks_on_kernel import ATTACKS, BY_LIMITS, attack_file
from attacks_surface import ATTACKS as CORPUS
from models import files_of, show, write_attack
from test_confinement import LAYERS, SECONDS, SECRET, Canaries, attack, descendants
from unchecked import opener_of

from fairaudit.models.sandbox import Limits, client

__all__ = ["left_over", "torture"]

#: Column of the table → layers that are switched off.
COLUMNS = {
    "all": (),
    "namespaces and file system": ("landlock", "seccomp"),
    "Landlock": ("namespaces", "file system", "seccomp"),
    "seccomp": ("namespaces", "file system", "landlock"),
    "none": LAYERS,
}
_WITHOUT_CANARY = tuple(
    ATTACKS[name] for name in ("trace the caller", "raise the limits", "a new namespace")
)
STOPPED, FAILED, ANSWERED = (
    "stopped by the system",
    "failed in their own library",
    "answered and did no more",
)
GRACE = 10  # seconds for starting a process and ending all that it has started
TABLE = pd.DataFrame([[i % 7, i % 5, i % 3] for i in range(40)], columns=FEATURES, dtype=float)


def torture(seconds: float | None, part: slice = slice(None)) -> dict[str, int]:
    """Everything with all layers: counts by name, `wrong` being the bad one."""
    end = time.monotonic() + (seconds if seconds is not None else 1e9)
    counts = dict.fromkeys(
        (
            "attacks of any code",
            "corpus without allow-list",
            STOPPED,
            FAILED,
            ANSWERED,
            "left a mark where no layer holds files",
            "side effects",
            "wrong",
        ),
        0,
    )
    os.environ["FAIRAUDIT_SECRET"] = SECRET
    for name, code in list({**ATTACKS, **BY_LIMITS}.items())[part]:
        for predicting in (False, True):
            if time.monotonic() > end:
                return counts
            counts["attacks of any code"] += 1
            if found := _try(code, (), predicting=predicting):
                counts["side effects"] += 1
                counts["wrong"] += 1
                print(f"WRONG: {name}: {found}", file=sys.stderr)
    with Discard() as discard:
        for number, name in enumerate(list(CORPUS)[part]):
            if time.monotonic() > end:
                break
            show(f"without allow-list {number + 1} of {len(CORPUS)}: {name}")
            counts["corpus without allow-list"] += 1
            tried = _try_file(name, discard)
            counts[tried.how] += 1
            counts["left a mark where no layer holds files"] += bool(
                _try_file(name, discard, without=("file system", "landlock", "seccomp")).effects
            )
            if tried.effects:
                counts["side effects"] += 1
                counts["wrong"] += 1
                print(f"WRONG: {name} without allow-list: {tried}", file=sys.stderr)
    return counts


class Discard:
    """The port that the corpus calls; as an ordinary user nobody listens there."""

    def __enter__(self) -> Discard:
        self.sockets = []
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            listener = socket.socket(socket.AF_INET, kind)
            with contextlib.suppress(OSError):
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind(("127.0.0.1", 9))
                if kind == socket.SOCK_STREAM:
                    listener.listen()
                listener.setblocking(False)
                self.sockets.append(listener)
        return self

    def __exit__(self, *exception: object) -> None:
        for listener in self.sockets:
            listener.close()

    def heard(self) -> bool:
        some = False
        for listener in self.sockets:
            with contextlib.suppress(BlockingIOError):
                if listener.type == socket.SOCK_STREAM:
                    listener.accept()[0].close()
                else:
                    listener.recv(10)
                some = True
        return some


class Tried(NamedTuple):
    """How a file of the corpus ended, and what it has left or reached."""

    how: str
    effects: tuple[str, ...]
    said: str | None


def _try_file(name: str, discard: Discard, without: tuple[str, ...] = ()) -> Tried:
    """A hostile file, opened by its own library in the sandbox, and asked."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        file = write_attack(name, folder)
        before, started = files_of(folder), time.monotonic()
        said = attack(
            (folder / file).read_bytes(),
            without=without,
            limits=Limits(2 * 2**30, SECONDS),
            opener=opener_of(file),
            table=TABLE,
        )
        late = time.monotonic() - started > 2 * SECONDS + GRACE
        told = said or ""
        effects = {
            "files": files_of(folder) != before,
            "network": discard.heard(),
            "processes": bool(left_over()),
            "secret": SECRET in told or "root:x:" in told,
            "time": late,
        }
    how = ANSWERED if said is None else STOPPED if "was stopped" in said else FAILED
    return Tried(how, tuple(what for what, seen in effects.items() if seen), said)


def _try(code: str, without: tuple[str, ...], *, predicting: bool = True) -> str:
    """What the attack reached; nothing, as it should be."""
    with tempfile.TemporaryDirectory() as folder:
        canaries = Canaries(Path(folder))
        before = signal.signal(signal.SIGUSR1, lambda *_: canaries.signals.append(1))
        data = attack_file(canaries.fill(code), predicting=predicting)
        said = attack(data, without=without, limits=Limits(2 * 2**30, SECONDS))
        found = [*canaries.touched(), *(["secret"] if SECRET in (said or "") else [])]
        found += ["processes"] if left_over() else []
        if said is None and not found and code in _WITHOUT_CANARY:
            found.append("done")
        signal.signal(signal.SIGUSR1, before)
        canaries.close()
    return ", ".join(found)


def left_over() -> set[int]:
    end = time.monotonic() + 5
    while (left := descendants(client._server.process.pid)) and time.monotonic() < end:
        time.sleep(0.01)
    return left


def main() -> int:
    os.environ["FAIRAUDIT_SECRET"] = SECRET
    print("| attack |", " | ".join(COLUMNS), "|")
    print("|---|" + "---|" * len(COLUMNS))
    for name, code in {**ATTACKS, **BY_LIMITS}.items():
        reached = [_try(code, without) or "–" for without in COLUMNS.values()]
        print(f"| {name} |", " | ".join(reached), "|", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
