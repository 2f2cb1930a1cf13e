"""Which packages the integrations were tested with: python tests/integrations/tested.py [PYTHON …].

Runs the contract test of every integration against the package that is installed, and writes the
table of docs/integrations/index.md. What is absent keeps no line of success: it says "not run".
Packages that hold one another's versions back live in environments of their own (nox -s mlflow
orchestrators airflow keras serving): name their interpreters; the first with the package is used.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "integrations" / "index.md"
BEGIN, END = "<!-- tested: begin -->\n", "<!-- tested: end -->\n"


PAGES, NETWORKS = "../docs/test_integration_pages.py", "../models/test_networks.py"
MODELS = "../models/test_models.py"


@dataclass(frozen=True)
class Integration:
    name: str
    page: str
    package: str  # "" for what needs none; "r:" before one of R
    tests: str  # file, and words of pytest's -k


INTEGRATIONS = (
    Integration(
        "MLflow: models, evaluator, logging", "mlflow.md", "mlflow-skinny", "test_mlflow.py"
    ),
    Integration("MLflow: its page", "mlflow.md", "mlflow-skinny", f"{PAGES}::test_page[mlflow]"),
    Integration("fairlearn", "fairlearn.md", "fairlearn", "test_tools_of_others.py fairlearn"),
    Integration(
        "scikit-learn", "scikit-learn.md", "scikit-learn", "test_tools_of_others.py scikit_learn"
    ),
    Integration(
        "Prometheus", "telemetry.md", "prometheus-client", "test_tools_of_others.py prometheus"
    ),
    Integration(
        "OpenTelemetry", "telemetry.md", "opentelemetry-sdk", "test_tools_of_others.py telemetry"
    ),
    Integration("Model cards", "../report.md", "skops", "../reports/test_model_card.py"),
    Integration("Notebooks: IPython", "notebooks.md", "ipython", "test_tools_of_others.py ipython"),
    Integration("Notebooks: marimo", "notebooks.md", "marimo", f"{PAGES}::test_page[notebooks]"),
    Integration("Dagster", "dagster.md", "dagster", f"{PAGES}::test_page[dagster]"),
    Integration("Airflow", "airflow.md", "apache-airflow", f"{PAGES}::test_page[airflow]"),
    Integration("Kedro", "kedro.md", "kedro", f"{PAGES}::test_page[kedro]"),
    Integration("DVC", "dvc.md", "dvc", f"{PAGES}::test_page[dvc]"),
    Integration("R by reticulate", "r.md", "r:reticulate", f"{PAGES}::test_page[r]"),
    Integration("xgboost files", "../howto/models.md", "xgboost-cpu", f"{MODELS} xgboost"),
    Integration("lightgbm files", "../howto/models.md", "lightgbm", f"{MODELS} lightgbm"),
    Integration("skops files", "../howto/models.md", "skops", f"{MODELS} skops"),
    Integration("ONNX files", "../howto/models.md", "onnxruntime", f"{MODELS} onnx"),
    Integration("Keras files", "../howto/models.md", "keras", f"{NETWORKS} keras"),
    Integration("torch.export files", "../howto/models.md", "torch", f"{NETWORKS} torch"),
    Integration("catboost files", "../howto/models.md", "catboost", "../models/test_catboost.py"),
    Integration(
        "Services over HTTP: failures, limits", "http.md", "", "../models/test_endpoint.py"
    ),
    Integration("Services: MLServer (KServe V2)", "http.md", "mlserver", "test_serving.py kserve"),
    Integration("Services: MLflow's server", "http.md", "mlflow", "test_serving.py mlflow_server"),
    Integration("pytest", "../ci.md", "pytest", "test_pytest_plugin.py"),
)


def version_in(python: str, package: str) -> str:
    """The version of a package in an environment, or of one of R; "" where it is absent."""
    if package.startswith("r:"):
        command = ["Rscript", "-e", f'cat(as.character(packageVersion("{package[2:]}")))']
    else:
        code = f"from importlib.metadata import version; print(version({package!r}))"
        command = [python, "-c", code]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def outcome_of(integration: Integration, python: str) -> str:
    """What pytest says about its tests: passed, failed or not run, with numbers."""
    file, *words = integration.tests.split()
    chosen = ["-k", words[0]] if words else []
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs", "-m", "", *chosen]
    file, mark, name = file.partition("::")
    test = str((ROOT / "tests" / "integrations" / file).resolve()) + mark + name
    path = os.pathsep.join([str(Path(python).parent), os.environ["PATH"]])
    done = subprocess.run(
        [*command, test], cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PATH": path}
    )
    counts = dict.fromkeys(("passed", "failed", "skipped", "error"), 0)
    for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", done.stdout):
        counts[word] = int(number)
    dots = sum(line.count(".") for line in re.findall(r"^([.sFE]+) ", done.stdout, re.M))
    passed = counts["passed"] or dots
    if done.returncode not in (0, 5) or counts["failed"] or counts["error"]:
        return "failed"
    if not passed or "SKIPPED" in done.stdout:
        return "not run: the package is absent"
    return f"passed ({passed})"


def row(integration: Integration, pythons: list[str]) -> str:
    package, python, tested = integration.package, pythons[0], "none needed"
    if package:
        found = {each: version_in(each, package) for each in pythons}
        python = next((each for each in pythons if found[each]), python)
        tested = f"{package.removeprefix('r:')} {found[python] or 'absent'}"
    day = datetime.now(timezone.utc).date().isoformat()
    outcome = outcome_of(integration, python)
    return f"| [{integration.name}]({integration.page}) | {tested} | {day} | {outcome} |"


def main() -> int:
    pythons = [sys.executable, *sys.argv[1:]]
    lines = ["| integration | package tested | date | result |", "|---|---|---|---|"]
    for integration in INTEGRATIONS:
        lines.append(row(integration, pythons))
        print(lines[-1], flush=True)
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    tail = rest.partition(END)[2]
    table = "\n".join(lines)
    PAGE.write_text(f"{head}{BEGIN}\n{table}\n\n{END}{tail}", encoding="utf-8")
    return int("| failed |" in table)


if __name__ == "__main__":
    sys.exit(main())
