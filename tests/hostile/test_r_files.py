"""R runs no code that lies in the working folder, which may be a stranger's repository."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from fairaudit_cli.main import main

pytestmark = pytest.mark.skipif(shutil.which("Rscript") is None, reason="there is no R here")

_CALL = """
from fairaudit.metrics._r_session import call
print(call("function(a) { set.seed(1); a }", 2.0))
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder whose files of R leave a mark when R reads them."""
    mark = "file.create('{}')".format
    (tmp_path / ".Rprofile").write_text(mark("profile") + "\n")
    (tmp_path / "other.R").write_text(mark("environ") + "\n")
    (tmp_path / ".Renviron").write_text("R_PROFILE=other.R\n")
    code = f"set.seed <- function(...) {mark('data')}; save(set.seed, file = '.RData')"
    subprocess.run(["Rscript", "--vanilla", "-e", code], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    for name in ("R_PROFILE_USER", "R_ENVIRON_USER", "R_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def marks(folder):
    return {path.name for path in folder.iterdir()} & {"profile", "environ", "data"}


def test_the_files_are_an_attack(project):
    subprocess.run(["R", "--no-save", "--quiet"], input=b"set.seed(1)\n", check=True)
    assert marks(project) == {"profile", "environ", "data"}


def test_doctor_asks_r_without_files_of_the_folder(project, capsys):
    """It ran `.Rprofile` and what `.Renviron` names."""
    assert main(["doctor"]) == 0
    assert "R  " in capsys.readouterr().out
    assert not marks(project)


@pytest.mark.skipif(find_spec("rpy2") is None, reason="there is no rpy2 here")
def test_r_in_this_process_reads_no_files_of_the_folder(project):
    """It ran `.Rprofile`, and objects of `.RData` replaced R's own functions."""
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-c", _CALL],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "2.0\n", done.stderr
    assert not marks(project)


def test_settings_of_the_user_are_read(project, tmp_path_factory, monkeypatch):
    """Where the packages lie is often said there."""
    from fairaudit.metrics import _r_bridge

    home = tmp_path_factory.mktemp("home")
    (home / ".Rprofile").write_text(f"file.create('{home}/read')\n")
    monkeypatch.setenv("HOME", str(home))
    assert _r_bridge._versions_in_r()[0]
    assert Path(home, "read").exists() and not marks(project)
