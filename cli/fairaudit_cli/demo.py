"""`fairaudit demo`: a lending table, a model, and a report on the model's predictions."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.metrics import CAUTION, as_text, read_table
from fairaudit_cli.metrics import measure as measure_table
from fairaudit_reports.text import Measurements

if TYPE_CHECKING:
    from fairaudit.table import AuditTable

__all__ = ["add_arguments", "measure", "run"]

OUTCOME, SCORE, SENSITIVE = "repaid", "score", "race,sex,age"
TESTED = (
    "The p-values test equalized odds by permuting the attributes among people with the same "
    "outcome; the one for all attributes together decides."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out",
        default="fairaudit-demo",
        metavar="DIR",
        help="where train.csv, test.csv and report.md go (default: ./fairaudit-demo)",
    )


def run(args: argparse.Namespace) -> int:
    folder = Path(args.out)
    test = _write_tables(folder)
    table = read_table(str(test), SCORE, OUTCOME, [SENSITIVE])
    result = measure(table)
    report = folder / "report.md"
    _write(report, _as_markdown(table, result, test))
    print(as_text(table, result))
    print(f"\n{report}")
    return ExitCode.OK


def measure(table: AuditTable) -> Measurements:
    """What the demo finds out about its model; the report and the terminal show the same."""
    from dataclasses import replace

    import fairaudit as fa
    from fairaudit_reports.text import Line

    sizes = measure_table(table)
    lines = []
    for attributes in (table.attributes, *((column,) for column in table.attributes)):
        test = fa.equalized_odds_test(table.prediction.columns, table.outcome, attributes)
        names = tuple(column.name for column in attributes)
        lines.append(Line("p-value", test.p_value, names, f"{len(test.null)} exact copies"))
    return replace(sizes, lines=(*lines, *sizes.lines), notes=(TESTED, *sizes.notes))


def _write_tables(folder: Path) -> Path:
    """Write train.csv and test.csv, the latter with the model's score; give the path of it."""
    from fairaudit.datasets import DEMO_FEATURES, demo_model, load_demo

    frame = load_demo()
    train, test = frame[: len(frame) // 2], frame[len(frame) // 2 :]
    model = demo_model(train)
    score = model.predict_proba(test[list(DEMO_FEATURES)])[:, 1]
    _write(folder / "train.csv", train.to_csv(index=False))
    _write(folder / "test.csv", test.assign(**{SCORE: score.round(6)}).to_csv(index=False))
    return folder / "test.csv"


def _write(path: Path, text: str) -> None:
    """Write all of the file or nothing, also when interrupted."""
    import os
    import tempfile

    from fairaudit.errors import InputError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            os.chmod(name, 0o644)  # a temporary file is its owner's alone
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"Cannot write {str(path)!r}: {why}. Pass another --out.") from None


def _as_markdown(table: AuditTable, result: Measurements, test: Path) -> str:
    from fairaudit_reports.text import cells_rows, markdown_table, measures_rows

    parts = [
        "# Equalized odds of the demo model",
        "Does the score carry information about race, sex and age that repayment does not "
        "explain? The model sees none of the three. One of its features stands in for sex and "
        "age together, and for neither alone.",
        f"```text\n{table.describe()}\n```",
        "## Measures",
        markdown_table(measures_rows(result)),
        "\n".join(f"- {note}" for note in (*result.notes, CAUTION)),
    ]
    if result.cells is not None:
        parts += [
            "## Groups",
            "Rates with 95 % intervals.",
            markdown_table(cells_rows(result.cells)),
        ]
    parts += [
        "## Repeat it",
        f"```sh\nfairaudit metrics --data {test.name} --predictions {SCORE} --outcome {OUTCOME} "
        f"--sensitive {SENSITIVE}\n```",
    ]
    return "\n\n".join(parts) + "\n"
