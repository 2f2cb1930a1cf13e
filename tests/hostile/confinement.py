"""Torture of the sandbox: attacks of any code, layer by layer, and the corpus without allow-list.

python tests/hostile/confinement.py       # the table of layers in docs/reliability.md
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from attacks import make
from attacks_inside import ATTACKS as CORPUS
from attacks_on_kernel import ATTACKS, BY_LIMITS, attack_file
from test_confinement import LAYERS, SECONDS, SECRET, Canaries, attack, descendants

from fairaudit.models.sandbox import Limits, client

__all__ = ["torture"]

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
_PICKLES = (".pkl", ".pickle", ".joblib")


def torture(seconds: float | None) -> dict[str, int]:
    """Everything with all layers: counts by name, `wrong` being the bad one."""
    end = time.monotonic() + (seconds if seconds is not None else 1e9)
    counts = dict.fromkeys(("attacks of any code", "corpus without allow-list", "wrong"), 0)
    os.environ["FAIRAUDIT_SECRET"] = SECRET
    for name, code in {**ATTACKS, **BY_LIMITS}.items():
        for predicting in (False, True):
            if time.monotonic() > end:
                return counts
            counts["attacks of any code"] += 1
            if found := _try(code, (), predicting=predicting):
                counts["wrong"] += 1
                print(f"WRONG: {name}: {found}", file=sys.stderr)
    for name in CORPUS:
        with tempfile.TemporaryDirectory() as folder:
            hostile = make(name, Path(folder) / "canary")
            if time.monotonic() > end or not hostile.name.endswith(_PICKLES):
                continue
            counts["corpus without allow-list"] += 1
            attack(hostile.data, limits=Limits(2 * 2**30, 20))
            if os.listdir(folder) or _left():
                counts["wrong"] += 1
                print(f"WRONG: {name} without allow-list", file=sys.stderr)
    return counts


def _try(code: str, without: tuple[str, ...], *, predicting: bool = True) -> str:
    """What the attack reached; nothing, as it should be."""
    with tempfile.TemporaryDirectory() as folder:
        canaries = Canaries(Path(folder))
        before = signal.signal(signal.SIGUSR1, lambda *_: canaries.signals.append(1))
        data = attack_file(canaries.fill(code), predicting=predicting)
        said = attack(data, without=without, limits=Limits(2 * 2**30, SECONDS))
        found = [*canaries.touched(), *(["secret"] if SECRET in (said or "") else [])]
        found += ["processes"] if _left() else []
        if said is None and not found and code in _WITHOUT_CANARY:
            found.append("done")
        signal.signal(signal.SIGUSR1, before)
        canaries.close()
    return ", ".join(found)


def _left() -> set[int]:
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
