"""Machines that offer less: honest models work all the same, and `doctor` says what is missing."""

import json
import os
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from attacks_on_kernel import ATTACKS
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from test_confinement import missing, user_command

from fairaudit.models.sandbox import Model, SandboxedModel

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux confines processes"),
]
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.normal(size=(40, 3)), columns=["a", "b", "c"])
Y = (TABLE.a > 0).astype(int)
MODELS = (LogisticRegression(), RandomForestClassifier(5, n_jobs=2), SVC())
DOCTOR = "import sys; from fairaudit_cli.main import main; sys.exit(main(['doctor', '--json']))"


@pytest.mark.parametrize(
    "without", [("namespaces",), ("landlock",), ("seccomp",), ("namespaces", "landlock")]
)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_honest_models_work_with_any_layer_missing(model, without):
    """Landlock alone refused what joblib reads of the system, and the model looked hostile."""
    model.fit(TABLE, Y)
    held = SandboxedModel(Model(name="m.pkl", data=pickle.dumps(model), without=without))
    np.testing.assert_array_equal(np.ravel(held.labels(TABLE)), model.predict(TABLE))
    held.close()


def container():
    """How a process runs that may make no namespaces, as in most containers."""
    for tool in ("unshare", "setpriv"):
        if shutil.which(tool) is None:
            pytest.skip(f"there is no {tool}")
    nothing = "echo 0 > /proc/sys/user/max_user_namespaces"
    no_rights = "setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all --no-new-privs"
    command = ["unshare", "-Ur", "sh", "-c", f'{nothing} && exec {no_rights} "$@"', "sh"]
    done = subprocess.run([*command, "true"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no such container can be made here: {done.stderr.strip()}")
    return command


def layers_by(command, **more):
    done = subprocess.run([*command, "-c", DOCTOR], capture_output=True, text=True, **more)
    assert done.stdout, done.stderr
    return {layer["name"]: layer["problem"] for layer in json.loads(done.stdout)["sandbox"]}


def test_doctor_tells_the_truth_as_root():
    found = layers_by([sys.executable])
    assert {name for name, problem in found.items() if problem} == set(missing())


def test_doctor_tells_the_truth_as_a_normal_user():
    """A file system that hides the packages from users is skipped by `user_command`."""
    command = user_command()
    found = layers_by(command, cwd="/")
    assert {name for name, problem in found.items() if problem} == set(missing())


def test_a_container_without_namespaces(tmp_path):
    command = [*container(), sys.executable]
    found = layers_by(command)
    assert found["namespaces"] and found["file system"]
    assert {name: found[name] for name in ("landlock", "seccomp")} == {
        name: missing().get(name) for name in ("landlock", "seccomp")
    }
    model = LogisticRegression().fit(TABLE, Y)
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(model))
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    code = (
        "import pandas as pd\n"
        "from fairaudit.models import load_model\n"
        "model = load_model('m.pkl')\n"
        "print(sorted(name for name, why in model.model.layers.items() if why))\n"
        "print(model.predict(pd.read_csv('t.csv'))['score'][0].hex())\n"
    )
    done = subprocess.run([*command, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    own = model.predict_proba(pd.read_csv(tmp_path / "t.csv"))[0, 1].hex()
    expected = sorted({"namespaces", "file system", *missing()})
    assert done.stdout.splitlines() == [str(expected), own], done.stderr


@pytest.mark.parametrize("who", ["a container without namespaces", "a normal user"])
def test_attacks_on_such_a_machine(who):
    """In the container Landlock and seccomp hold the designed attacks by themselves."""
    if missing():
        pytest.skip(f"this system lacks {missing()}")
    here = os.path.dirname(os.path.abspath(__file__))
    command = user_command() if who == "a normal user" else [*container(), sys.executable]
    code = (
        f"import os, sys; sys.path.insert(0, {here!r})\n"
        "os.environ['FAIRAUDIT_SECRET'] = 'x'\n"
        "from confinement import ATTACKS, _try\n"
        "found = {name: _try(code, ()) for name, code in ATTACKS.items()}\n"
        "print(len(found), {name: how for name, how in found.items() if how})\n"
    )
    done = subprocess.run(
        [*command, "-W", "ignore", "-c", code], cwd="/", capture_output=True, text=True
    )
    assert done.stdout == f"{len(ATTACKS)} {{}}\n", (done.stdout, done.stderr[-500:])
