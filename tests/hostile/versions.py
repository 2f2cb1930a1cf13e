"""Honest model files of other versions, made in environments of their own.

python tests/hostile/versions.py scikit-learn==1.4 lightgbm==4.1,scikit-learn==1.4

Makes an environment for each word (pip, a minute each). In one of scikit-learn the models of
`genuine.py` are saved in every form and opened again. Files of xgboost, lightgbm and catboost
(`booster_files.py`) are opened in their environment and then by the Python that runs this script,
with its own version of the booster. One line per word; exit status 1 if a file failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NEEDED = ["pandas", "narwhals", "joblib", "rich", "skops", "tomli", "pytest"]


def run(word: str, python: str, folder: Path) -> int:
    """The files of one environment, opened in it and, of boosters, here."""
    home = folder / word
    own = str(home / "bin" / "python")
    if not home.exists():
        subprocess.run([python, "-m", "venv", home], check=True)
        wanted = [
            requirement if "==" not in requirement else f"{requirement}.*"
            for requirement in word.split(",")
        ]
        install = [own, "-m", "pip", "install", "--quiet", "--no-compile"]
        subprocess.run([*install, *wanted, *NEEDED], check=True)
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "cli", ROOT / "reports", HERE)))
    environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    package = word.partition("=")[0].removesuffix("-cpu")
    if package == "scikit-learn":
        steps = [[own, __file__, "--here"]]
    else:
        files = folder / f"files of {word}"
        files.mkdir(exist_ok=True)
        steps = [
            [own, __file__, "--make", package, "--files", str(files)],
            [sys.executable, __file__, "--open", package, "--files", str(files)],
        ]
    return max(subprocess.run(step, env=environment, check=False).returncode for step in steps)


def check_scikit_learn() -> int:
    """Every model in every form, in this environment."""
    from genuine import MODELS
    from models import load_all
    from torture import import_once

    import_once()
    counts: dict[str, int] = defaultdict(int, wrong=0)
    load_all(counts, end=float("inf"))
    told = ", ".join(f"{count} {what}" for what, count in counts.items())
    print(f"scikit-learn {version('scikit-learn')}, {_python()}, {len(MODELS)} kinds: {told}")
    return 1 if counts["wrong"] else 0


def check_boosters(package: str, folder: Path, *, make: bool) -> int:
    from booster_files import make_files, open_files

    if make:
        make_files(package, folder)
    tried, wrong = open_files(folder, at_home=make)
    now = f"{package} {__import__(package).__version__}, {_python()}"
    print(f"{'made and ' if make else ''}opened by {now}: {tried} files, {len(wrong)} wrong")
    print("".join(f"WRONG: {line}\n" for line in wrong), end="", file=sys.stderr)
    return 1 if wrong else 0


def _python() -> str:
    return f"Python {sys.version_info.major}.{sys.version_info.minor}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="PACKAGE==MINOR", help="joined by commas")
    parser.add_argument("--python", default=sys.executable, help="interpreter for all of them")
    parser.add_argument("--folder", type=Path, help="keep the environments there, or use them")
    parser.add_argument("--here", action="store_true", help="only this environment")
    for flag in ("--make", "--open"):
        parser.add_argument(
            flag, choices=("xgboost", "lightgbm", "catboost"), help=argparse.SUPPRESS
        )
    parser.add_argument("--files", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.here:
        return check_scikit_learn()
    if args.make or args.open:
        return check_boosters(args.make or args.open, args.files, make=bool(args.make))
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        return max(run(word, args.python, folder) for word in args.words)


if __name__ == "__main__":
    sys.exit(main())
