"""Honest model files of several versions of scikit-learn, each opened where it was saved.

python tests/hostile/versions.py 1.4 1.7 --python python3.10

Makes an environment for each version (pip, a minute each), fits the models of `genuine.py` in it,
saves each in every form and loads it again. One line per version; exit status 1 if a file failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NEEDED = ["pandas", "statsmodels", "narwhals", "joblib", "rich", "skops", "tomli", "pytest"]


def run(version: str, python: str, folder: Path) -> int:
    home = folder / f"sklearn-{version}"
    subprocess.run([python, "-m", "venv", home], check=True)
    own = str(home / "bin" / "python")
    wanted = [f"scikit-learn=={version}.*", *NEEDED]
    subprocess.run([own, "-m", "pip", "install", "--quiet", *wanted], check=True)
    paths = os.pathsep.join(map(str, (ROOT, HERE)))
    environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    return subprocess.run([own, __file__, "--here"], env=environment, check=False).returncode


def check_all() -> int:
    """Every model in every form, in this environment."""
    import sklearn
    from genuine import MODELS
    from models import load_all

    counts = dict.fromkeys(
        ("models tried", "models right", "models that skops cannot save", "wrong"), 0
    )
    load_all(counts, end=float("inf"))
    python = ".".join(map(str, sys.version_info[:2]))
    told = ", ".join(f"{count} {what}" for what, count in counts.items())
    print(f"scikit-learn {sklearn.__version__}, Python {python}, {len(MODELS)} kinds: {told}")
    return 1 if counts["wrong"] else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("versions", nargs="*", metavar="MINOR", help="such as 1.4 1.7")
    parser.add_argument("--python", default=sys.executable, help="interpreter for all of them")
    parser.add_argument("--here", action="store_true", help="only this environment")
    args = parser.parse_args()
    if args.here:
        return check_all()
    with tempfile.TemporaryDirectory() as folder:
        return max(run(version, args.python, Path(folder)) for version in args.versions)


if __name__ == "__main__":
    sys.exit(main())
