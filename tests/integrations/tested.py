"""Which packages the integrations were tested with: python tests/integrations/tested.py.

Runs the contract test of every integration against the package that is installed, and writes the
table of docs/integrations/index.md. What is absent keeps no line of success: it says "not run".
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "integrations" / "index.md"
BEGIN, END = "<!-- tested: begin -->\n", "<!-- tested: end -->\n"


@dataclass(frozen=True)
class Integration:
    name: str
    page: str
    package: str  # "" for what needs none
    tests: str  # file, and words of pytest's -k


INTEGRATIONS = (
    Integration(
        "MLflow: models, evaluator, logging", "mlflow.md", "mlflow-skinny", "test_mlflow.py"
    ),
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
    Integration("Notebooks", "notebooks.md", "ipython", "test_tools_of_others.py ipython"),
    Integration(
        "Services over HTTP (MLflow and KServe V2 protocols)",
        "http.md",
        "",
        "../models/test_endpoint.py",
    ),
    Integration("pytest", "../ci.md", "pytest", "test_pytest_plugin.py"),
)


def outcome_of(integration: Integration) -> str:
    """What pytest says about its tests: passed, failed or not run, with numbers."""
    file, *words = integration.tests.split()
    chosen = ["-k", words[0]] if words else []
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs", *chosen]
    test = (ROOT / "tests" / "integrations" / file).resolve()
    done = subprocess.run([*command, str(test)], cwd=ROOT, capture_output=True, text=True)
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


def row(integration: Integration, outcome: str) -> str:
    try:
        package = integration.package
        tested = f"{package} {version(package)}" if package else "none needed"
    except PackageNotFoundError:
        tested = f"{integration.package}: absent"
    day = datetime.now(timezone.utc).date().isoformat()
    return f"| [{integration.name}]({integration.page}) | {tested} | {day} | {outcome} |"


def main() -> int:
    outcomes = [outcome_of(integration) for integration in INTEGRATIONS]
    lines = ["| integration | package tested | date | result |", "|---|---|---|---|"]
    lines += [row(*pair) for pair in zip(INTEGRATIONS, outcomes, strict=True)]
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    tail = rest.partition(END)[2]
    table = "\n".join(lines)
    PAGE.write_text(f"{head}{BEGIN}\n{table}\n\n{END}{tail}", encoding="utf-8")
    print(table)
    return int("failed" in outcomes)


if __name__ == "__main__":
    sys.exit(main())
