"""What a release consists of: the same bytes twice, nothing forgotten, recipes that agree."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.util import find_spec

import pytest
from documents import ROOT

from fairaudit.integrations.bill_of_materials import bill_of_materials

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    if find_spec("hatchling") is None:
        pytest.skip("hatchling, which builds the wheel, is not installed")
    folders = []
    for _ in range(2):
        folder = tmp_path_factory.mktemp("dist")
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
            cwd=ROOT,
            check=True,
            env={**os.environ, "SOURCE_DATE_EPOCH": "1763424000"},
            capture_output=True,
        )
        folders.append({path.name: path for path in folder.iterdir()})
    return folders


def test_wheel_and_sdist_have_the_same_bytes_twice(built):
    first, second = built
    assert sorted(name.rpartition(".")[2] for name in first) == ["gz", "whl"]
    for name, path in first.items():
        assert path.read_bytes() == second[name].read_bytes(), name


def test_the_wheel_has_the_packages_and_nothing_else(built):
    (wheel,) = (path for name, path in built[0].items() if name.endswith(".whl"))
    names = zipfile.ZipFile(wheel).namelist()
    roots = {name.partition("/")[0] for name in names}
    info = f"fairaudit_icp-{PROJECT['version']}.dist-info"
    assert roots == {"fairaudit", "fairaudit_cli", "fairaudit_reports", info}
    for folder in ("fairaudit", "cli/fairaudit_cli", "reports/fairaudit_reports"):
        inside = (ROOT / folder).rglob("*.py")
        source = (ROOT / folder).parent
        assert {path.relative_to(source).as_posix() for path in inside} <= set(names)
    points = zipfile.ZipFile(wheel).read(f"{info}/entry_points.txt").decode()
    assert "[pytest11]" in points and "fairaudit = fairaudit_cli.main:main" in points


def test_the_sdist_has_tests_docs_and_examples(built):
    (sdist,) = (path for name, path in built[0].items() if name.endswith(".gz"))
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "CITATION.cff", "mkdocs.yml", "docs/index.md"} <= names
    assert {"tests/docs/test_release.py", "examples/render.py", "paper/paper.md"} <= names
    assert not [name for name in names if re.match(r"(site|build|\.venv|dist)/", name)]


def test_the_recipe_of_conda_agrees_with_the_project():
    recipe = (ROOT / "conda" / "meta.yaml").read_text()
    assert f'version = "{PROJECT["version"]}"' in recipe
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    listed = {line.strip(" -").partition("  #")[0].replace(" ", "") for line in run.split("\n")}
    wanted = {line.partition(";")[0] for line in PROJECT["dependencies"]}
    assert listed == {*wanted, f"python{PROJECT['requires-python']}"}


def test_the_citation_agrees_with_the_project():
    text = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {PROJECT['version']}\n" in text and "\nlicense: Apache-2.0\n" in text


def test_every_citation_of_the_paper_is_in_its_bibliography():
    cited = set(re.findall(r"@([a-z]+\d{4}[a-z0-9]+)", (ROOT / "paper" / "paper.md").read_text()))
    listed = set(re.findall(r"@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text()))
    assert cited == listed and len(cited) >= 5


def test_a_bill_of_materials_names_what_is_required_and_repeats_itself():
    bill = bill_of_materials()
    assert bill == bill_of_materials()
    refs = {part["bom-ref"] for part in bill["components"]}
    refs.add(bill["metadata"]["component"]["bom-ref"])
    assert {entry["ref"] for entry in bill["dependencies"]} == refs
    assert all(set(entry["dependsOn"]) <= refs for entry in bill["dependencies"])
    names = {part["name"] for part in bill["components"]}
    required = (re.split(r"[<>=;\[ ]", line)[0] for line in PROJECT["dependencies"])
    assert {name for name in required if name != "tomli"} <= names
