"""Files that run `fairaudit test` in CI, with the settings of the project."""

from __future__ import annotations

import json
from dataclasses import dataclass

__all__ = ["CI_FILES", "CIFile", "find_package"]

_FOLDER = "fairaudit-report"
_COMMAND = (
    f"fairaudit test --report {_FOLDER}/report.html --report {_FOLDER}/audit.json "
    f"--report {_FOLDER}/"
)

_GITHUB = f"""\
# Written by fairaudit init. The settings of the audit stand in [tool.fairaudit] of pyproject.toml,
# or in fairaudit.toml. The job fails on a violation (1), bad input (2) and no conclusion (3).
name: fairaudit
on: [push, pull_request]
permissions:
  contents: read
jobs:
  audit:
    runs-on: ubuntu-latest
    env:
      # what pip installs: a wheel, or an address such as git+https://host/group/fairaudit@v0.2.0
      FAIRAUDIT_PACKAGE: {{package}}
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.11"
      # packages that the model was made with belong here too, in the same versions
      - run: python -I -m pip install "${{FAIRAUDIT_PACKAGE:?say above what pip installs}}"
      - run: {_COMMAND}junit.xml
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: fairaudit-report
          path: {_FOLDER}/
"""

_GITLAB = f"""\
# Written by fairaudit init; include it from .gitlab-ci.yml:  include: fairaudit.gitlab-ci.yml
# The settings of the audit stand in [tool.fairaudit] of pyproject.toml, or in fairaudit.toml.
fairaudit:
  image: python:3.11-slim
  variables:
    # what pip installs: a wheel, or an address such as git+https://host/group/fairaudit@v0.2.0
    FAIRAUDIT_PACKAGE: {{package}}
  script:
    # packages that the model was made with belong here too, in the same versions
    - python -I -m pip install --quiet "${{FAIRAUDIT_PACKAGE:?say above what pip installs}}"
    - {_COMMAND}junit.xml
  allow_failure:
    exit_codes: 3 # inconclusive: shown as a warning; remove to make it fail
  artifacts:
    when: always
    paths: [{_FOLDER}/]
    reports:
      junit: {_FOLDER}/junit.xml
"""


@dataclass(frozen=True, slots=True)
class CIFile:
    """Where a file goes, and its text."""

    path: str
    text: str

    def make(self, package: str) -> str:
        return self.text.replace("{package}", json.dumps(package))


def find_package() -> str:
    """Where this installation came from, if that can be reached from elsewhere; else nothing."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        origin = json.loads(distribution("fairaudit-icp").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return ""
    url, version = origin.get("url", ""), origin.get("vcs_info", {})
    if version:
        return f"{version.get('vcs', 'git')}+{url}@{version.get('commit_id', 'main')}"
    return url if url.startswith("https://") else ""


CI_FILES = {
    "github": CIFile(".github/workflows/fairaudit.yml", _GITHUB),
    "gitlab": CIFile("fairaudit.gitlab-ci.yml", _GITLAB),
}
