"""A newcomer's first hour, end to end: a wheel in an environment of its own, an empty folder.

    python tests/docs/newcomer.py        # minutes; `make newcomer`

1. The wheel is built and installed into a new environment; packages that it depends on are those
   of this one.
2. Every command and block of README runs exactly as it is printed, the slow ones too.
3. Own models (scikit-learn, xgboost, numbers, three classes) are trained, saved and audited;
   `init` writes settings and a CI file, a bare `fairaudit test` runs the gate, `explain` explains;
   a remedy is trained and audited again; all reports that can be made are made.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
VERDICTS = (0, 1, 3)

TRAIN = """
import joblib, numpy as np, pandas as pd
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

rng = np.random.default_rng(3)
n = 1600
frame = pd.DataFrame({
    "race": rng.choice(["a", "b", "c"], n), "sex": rng.choice(["f", "m"], n),
    "age": rng.integers(18, 80, n), "income": rng.normal(3, 1, n), "debt": rng.normal(1, 1, n),
})
frame["income"] += 0.6 * (frame["sex"] == "m")
score = frame["income"] - frame["debt"] + rng.normal(size=n)
frame["repaid"] = (score > 2).astype(int)
frame["amount"] = (10 * score + rng.normal(size=n)).round(3)
frame["grade"] = pd.cut(score, [-np.inf, 1, 3, np.inf], labels=["low", "mid", "high"])
train, test = frame[:800], frame[800:]
features = ["income", "debt"]

def save(name, model, outcome, **more):
    joblib.dump(model.fit(train[features], train[outcome]), f"{name}.pkl")
    columns = ["race", "sex", "age", *features, outcome]
    test[columns].to_csv(f"{name}.csv", index=False)
    train[columns].to_csv(f"{name}_train.csv", index=False)

save("own", make_pipeline(StandardScaler(), LogisticRegression()), "repaid")
save("numbers", HistGradientBoostingRegressor(max_iter=30), "amount")
save("classes", GradientBoostingClassifier(n_estimators=20), "grade")
try:
    from xgboost import XGBClassifier
except ImportError:
    pass
else:
    save("boosted", XGBClassifier(n_estimators=20, n_jobs=1), "repaid")
"""

_COLUMNS = "--sensitive race,sex,age"
COMMANDS = (
    "fairaudit doctor",
    f"fairaudit test --model own.pkl --data own.csv {_COLUMNS} --report own.html --report own.json",
    "fairaudit explain own.json",
    "fairaudit explain kpc",
    "fairaudit report own.json --to md,xml,sarif",
    "fairaudit verify own.json --model own.pkl --data own.csv",
    f"fairaudit test --model numbers.pkl --data numbers.csv {_COLUMNS} --report numbers.html",
    f"fairaudit test --model classes.pkl --data classes.csv {_COLUMNS} --report classes.html",
    "fairaudit remedy --model own.pkl --data own_train.csv --sensitive sex --outcome repaid "
    "--method derived --out fair.pkl --force --report remedy.html",
    "fairaudit test --model fair.pkl --data own.csv --sensitive sex --outcome repaid "
    "--report after.html",
    "fairaudit compare --models own.pkl fair.pkl --data own.csv --sensitive sex --outcome repaid",
    "fairaudit init --model own.pkl --data own.csv --ci github",
    "fairaudit test",
)
BOOSTED = f"fairaudit test --model boosted.pkl --data boosted.csv {_COLUMNS} --report xgb.html"
MADE = (
    *("own.html", "own.json", "own.md", "own.xml", "own.sarif", "numbers.html", "classes.html"),
    *("fair.pkl", "remedy.html", "after.html", "fairaudit.toml"),
    *("fairaudit-report/report.html", ".github/workflows/fairaudit.yml"),
)


def make_environment(folder: Path) -> Path:
    """The `bin` of an environment in which the wheel is installed, and nothing of the checkout."""
    wheels, environment = folder / "wheels", folder / "environment"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(wheels), str(ROOT)], check=True
    )
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = environment / "bin" / "python"
    own = subprocess.run(
        [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    # a path in a .pth file is searched, and the .pth files in it are not read: no checkout
    packages = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    Path(own, "dependencies.pth").write_text("\n".join(packages) + "\n")
    (wheel,) = wheels.glob("*.whl")
    subprocess.run(
        [
            *pip,
            "--python",
            str(python),
            "install",
            "--quiet",
            "--no-deps",
            "--force-reinstall",
            "--no-index",
            str(wheel),
        ],
        check=True,
    )
    return environment / "bin"


def run(command: str, folder: Path, binaries: Path) -> str:
    """Run one line as a person types it; a verdict is no failure."""
    path = os.pathsep.join([str(binaries), os.environ["PATH"]])
    print(f"$ {command}", flush=True)
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": "", "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode not in VERDICTS or "Traceback" in done.stderr:
        raise AssertionError(f"{command}: exit status {done.returncode}\n{done.stderr[-3000:]}")
    return done.stdout


def audit_own_models(folder: Path, binaries: Path) -> None:
    (folder / "train.py").write_text(TRAIN)
    run("python train.py", folder, binaries)
    formats = "import fairaudit.results as r; print(' '.join(r._renderers()))"
    known = run(f'python -c "{formats}"', folder, binaries).split()
    commands, made = list(COMMANDS), list(MADE)
    if (folder / "boosted.pkl").exists():
        commands.append(BOOSTED)
    if "pdf" in known:
        commands.append("fairaudit report own.json --to pdf --title Audit --auditor Me")
        commands.append(
            "fairaudit compare --baseline own.pkl --candidate fair.pkl --data own.csv "
            "--sensitive sex --outcome repaid --report compare.pdf"
        )
        made += ["own.pdf", "compare.pdf"]
    for command in commands:
        run(command, folder, binaries)
    missing = [name for name in made if not (folder / name).is_file()]
    if missing:
        raise AssertionError(f"not made: {', '.join(missing)}")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        binaries = make_environment(folder)
        place = run('python -c "import fairaudit; print(fairaudit.__file__)"', folder, binaries)
        if str(ROOT) in place:
            raise AssertionError(f"fairaudit comes from the checkout: {place}")
        empty = folder / "empty"
        empty.mkdir()
        audit_own_models(empty, binaries)
        print(run(f"python {ROOT / 'tests/docs/documents.py'} README.md", folder, binaries))


if __name__ == "__main__":
    main()
