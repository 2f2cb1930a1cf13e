"""`fairaudit demo`: writes a model and a table, then runs `fairaudit test` on them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.shell_text import command_line

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out",
        default="fairaudit-demo",
        metavar="DIR",
        help="where model.pkl, train.csv (its rows), test.csv and the reports go (default: "
        "./fairaudit-demo)",
    )
    parser.add_argument(
        "--regression",
        action="store_true",
        help="a continuous outcome: scikit-learn's diabetes data, sex and age",
    )


def run(args: argparse.Namespace) -> int:
    import pickle

    from fairaudit.data.reading.write import check_writable, write_bytes, write_text
    from fairaudit_cli.main import main

    folder = Path(args.out)
    report = folder / "report.html"
    check_writable(report)  # before a model is trained
    model, train, test, sensitive = _diabetes() if args.regression else _lending()
    write_bytes(folder / "model.pkl", pickle.dumps(model))
    for name, rows in (("train.csv", train), ("test.csv", test)):
        write_text(folder / name, rows.to_csv(index=False))
    command = [
        "test",
        "--model",
        str(folder / "model.pkl"),
        "--data",
        str(folder / "test.csv"),
        "--sensitive",
        sensitive,
        "--report",
        str(report),
        "--report",
        str(folder / "audit.json"),
    ]
    print(f"$ {command_line(command)}\n", flush=True)
    status = main(command)
    if status not in (ExitCode.OK, ExitCode.VIOLATION, ExitCode.INCONCLUSIVE):
        return status
    print(f"\nThat command ends with exit status {int(status)}. Open {report} in a browser.")
    return ExitCode.OK


def _lending() -> tuple[Any, pd.DataFrame, pd.DataFrame, str]:
    from fairaudit.datasets import demo_model, load_demo

    frame = load_demo()
    half = len(frame) // 2
    return demo_model(frame[:half]), frame[:half], frame[half:], "race,sex,age"


def _diabetes() -> tuple[Any, pd.DataFrame, pd.DataFrame, str]:
    """Disease progression after a year, predicted from ten measurements."""
    from sklearn.datasets import load_diabetes
    from sklearn.linear_model import LinearRegression

    frame = load_diabetes(as_frame=True, scaled=False).frame.sample(frac=1, random_state=0)
    frame = frame.rename(columns={"target": "progression"})
    train, test = frame[:142], frame[142:]
    features = [name for name in frame.columns if name != "progression"]
    model = LinearRegression().fit(train[features], train["progression"])
    return model, train, test, "sex,age"
