"""With the allow-list switched off the kernel holds: no canary is touched, no process is left."""

import contextlib
import ctypes
import functools
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import pytest
from attacks_on_kernel import ATTACKS, BY_LIMITS, attack_file
from sklearn.linear_model import LogisticRegression

from fairaudit.errors import InputError
from fairaudit.models import loading
from fairaudit.models.sandbox import Limits, Model, SandboxedModel, client, describe_gaps, probe
from fairaudit_cli.main import main

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux confines processes"),
]

SECRET = "a secret of 31 letters or digits"
SECONDS = 3


class Canaries:
    """What the attacks try to touch."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "mark").write_text("untouched")
        os.chmod(folder / "mark", 0o640)
        (folder / "secret").write_text(SECRET)
        self.bytes = ctypes.create_string_buffer(b"original")
        self.heard, self.signals = [], []
        self.short = tempfile.mkdtemp(prefix="fa")  # names of sockets are short
        self.servers = [socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX)]
        self.port = self.servers[0].getsockname()[1]
        packets = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        packets.bind(("127.0.0.1", self.port))
        self.servers[1].bind(f"{self.short}/s")
        self.servers[1].listen()
        self.servers.append(packets)
        for server in self.servers:
            server.setblocking(False)
        self.before = self._marks()

    def _marks(self):
        if not (self.folder / "mark").exists():
            return None
        facts = os.stat(self.folder / "mark")
        return facts.st_mode, facts.st_mtime_ns, facts.st_size, sorted(os.listdir(self.folder))

    def fill(self, code):
        return code.format(
            canary=str(self.folder / "canary"),
            mark=str(self.folder / "mark"),
            secret=str(self.folder / "secret"),
            port=self.port,
            socket=f"{self.short}/s",
            pid=os.getpid(),
            address=ctypes.addressof(self.bytes),
            seconds=SECONDS,
            bytes=20 * 2**30,
        )

    def touched(self):
        """What was touched; nothing, as it should be."""
        found = [] if self._marks() == self.before else ["files"]
        found += ["memory"] if self.bytes.value != b"original" else []
        found += ["signals"] if self.signals else []
        for server in self.servers:
            with contextlib.suppress(BlockingIOError):
                server.accept() if server is not self.servers[2] else server.recv(10)
                found.append("network")
        return found

    def close(self):
        for server in self.servers:
            server.close()
        shutil.rmtree(self.short)


@pytest.fixture
def canaries(tmp_path, monkeypatch):
    folder = tmp_path / "canaries"
    folder.mkdir()
    monkeypatch.setenv("FAIRAUDIT_SECRET", SECRET)
    made = Canaries(folder)
    before = signal.signal(signal.SIGUSR1, lambda *_: made.signals.append(1))
    yield made
    signal.signal(signal.SIGUSR1, before)
    made.close()


def descendants(root):
    """Processes below this one, whatever their session."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError):
            facts = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            if facts[0] != "Z":
                parents[int(name)] = int(facts[1])
    below, grown = {root}, True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in below} - below
        below |= more
        grown = bool(more)
    return below - {root}


def attack(data, without=(), limits=None, opener="unchecked:open_pickle", table=None):
    """Open and ask the file with the sandbox alone; what was said, and whether it answered."""
    limits = limits or Limits(memory=2 * 2**30, seconds=60)
    model = Model(name="model.pkl", data=data, limits=limits, without=tuple(without), opener=opener)
    table = pd.DataFrame({"x": [1.0, 2.0]}) if table is None else table
    try:
        held = SandboxedModel(model)
        try:
            held.scores(table)
        finally:
            held.close()
    except InputError as error:
        return str(error)
    return None


def check(canaries, said):
    assert not canaries.touched()
    assert said is not None and SECRET not in said
    assert said.isprintable() and len(said) < 1500
    end = time.monotonic() + 5
    while descendants(client._server.process.pid) and time.monotonic() < end:
        time.sleep(0.01)
    assert not descendants(client._server.process.pid)


LAYERS = ("namespaces", "file system", "landlock", "seccomp")
#: Files, sockets, processes: what one layer alone holds when the others are switched off.
ALONE = {
    "file system": ("write a file", "read a file", "call a host", "call a Unix socket"),
    "landlock": ("write a file", "read a file", "call a host", "write to the memory of the caller"),
    "seccomp": (
        "write a file",
        "change a mode",
        "call a host",
        "call a Unix socket",
        "run a program",
    ),
}


@functools.cache
def missing():
    return {name: why for name, why in probe().items() if why is not None}


def skip_unless_whole():
    if missing():
        pytest.skip(f"this system lacks {missing()}")


@pytest.mark.parametrize("predicting", [False, True], ids=["load", "predict"])
@pytest.mark.parametrize("name", ATTACKS)
def test_the_kernel_refuses(canaries, name, predicting):
    skip_unless_whole()
    said = attack(attack_file(canaries.fill(ATTACKS[name]), predicting=predicting))
    check(canaries, said)


@pytest.mark.parametrize("name", BY_LIMITS)
def test_the_limits_end_it(canaries, name):
    skip_unless_whole()
    code = canaries.fill(BY_LIMITS[name])
    started = time.monotonic()
    said = attack(attack_file(code, predicting=True), limits=Limits(2 * 2**30, SECONDS))
    assert time.monotonic() - started < SECONDS + 20
    check(canaries, said)
    assert said.startswith("The model file model.pkl was stopped: ") or "cannot predict" in said


@pytest.mark.parametrize("layer, name", [(a, b) for a, names in ALONE.items() for b in names])
def test_one_layer_alone(canaries, layer, name):
    kept = {layer, "namespaces"} if layer == "file system" else {layer}
    if kept & set(missing()):
        pytest.skip(f"this system lacks {missing()}")
    data = attack_file(canaries.fill(ATTACKS[name]), predicting=True)
    check(canaries, attack(data, without=set(LAYERS) - kept))


@pytest.mark.parametrize("name", ["write a file", "read the environment", "run a program"])
def test_the_attacks_are_real(canaries, name):
    """With all layers switched off they do what they say, so that the tests above can fail."""
    data = attack_file(canaries.fill(ATTACKS[name]), predicting=True)
    said = attack(data, without=LAYERS)
    if name == "read the environment":  # which is clean all the same
        assert "nothing there" in said and not canaries.touched()
    else:
        assert said is None and canaries.touched() == ["files"]


def test_a_process_that_was_started_without_namespaces(canaries):
    """The keeper ends what a process leaves behind, whatever its session."""
    code = canaries.fill(BY_LIMITS["a process that outlives the limit"])
    data = attack_file(code, predicting=True)
    check(canaries, attack(data, without=LAYERS, limits=Limits(2 * 2**30, SECONDS)))
    time.sleep(4)
    assert not canaries.touched()


def test_a_refusal_may_be_swallowed(canaries):
    """An answer is an answer, and the canaries are as they were."""
    skip_unless_whole()
    code = f"try: {canaries.fill(ATTACKS['write a file'])}\nexcept OSError: pass"
    assert attack(attack_file(code, predicting=True)) is None
    assert not canaries.touched()


@pytest.mark.parametrize("predicting", [False, True])
def test_the_command_says_one_line(canaries, tmp_path, monkeypatch, capsys, predicting):
    skip_unless_whole()
    unchecked = functools.partial(Model, opener="unchecked:open_pickle")
    monkeypatch.setattr(loading, "Model", unchecked)
    monkeypatch.chdir(tmp_path)
    code = canaries.fill(ATTACKS["write a file"])
    (tmp_path / "m.pkl").write_bytes(attack_file(code, predicting=predicting))
    (tmp_path / "t.csv").write_text("x,sex,y\n" + "1,f,0\n2,m,1\n3,f,1\n4,m,0\n" * 9)
    given = ["--data", "t.csv", "--sensitive", "sex", "--outcome", "y"]
    assert main(["test", "--model", "m.pkl", *given]) == 2
    out, err = capsys.readouterr()
    assert not out and err.count("\n") == 1 and not canaries.touched()
    assert "The model file m.pkl was stopped: it tried what no model needs" in err


def test_what_is_missing_is_said():
    assert describe_gaps(dict.fromkeys(LAYERS)) is None
    gone = probe(without=LAYERS)
    assert set(gone.values()) == {"switched off"}
    said = describe_gaps(gone)
    for door in ("read your files", "write them", "use the network", "start programs"):
        assert door in said
    no_users = probe(without=("namespaces",))  # as in most containers
    if not missing():
        assert no_users["landlock"] is None and describe_gaps(no_users) is None
        assert no_users["namespaces"] == no_users["file system"] == "switched off"


def user_command():
    """How nobody runs a Python that has our packages; skips where there is no such Python."""
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("the tests do not run as root, or there is no setpriv")
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    packages = [path for path in sys.path if "/lib/python" not in path or "site-packages" in path]
    start = (
        "import os, sys; os.execv(sys.executable, [sys.executable, '-c', 'import sklearn.base'])"
    )
    number = f"{sys.version_info[0]}.{sys.version_info[1]}"
    for python in (sys.executable, f"/usr/bin/python{number}"):
        env = ["env", "-i", f"PYTHONPATH={os.pathsep.join(packages)}", python]
        done = subprocess.run([*nobody, *env, "-c", start], cwd="/", capture_output=True)
        if done.returncode == 0:
            return [*nobody, *env]
    pytest.skip("this Python lies where only root may read")


def test_as_a_normal_user(tmp_path):
    """All layers hold for a user too, and a model predicts."""
    skip_unless_whole()
    command = user_command()
    folder = Path(tempfile.mkdtemp(dir="/tmp"))  # tmp_path is root's own
    try:
        folder.chmod(0o755)
        model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
        (folder / "m.pkl").write_bytes(pickle.dumps(model))
        code = (
            "import pandas as pd\n"
            "from fairaudit.models import load_model\n"
            f"model = load_model({str(folder / 'm.pkl')!r})\n"
            "print(set(model.model.layers.values()), model.notes)\n"
            "print(model.predict(pd.DataFrame({'x': [2.0]}))['score'][0].hex())\n"
        )
        done = subprocess.run([*command, "-c", code], cwd="/", capture_output=True, text=True)
    finally:
        shutil.rmtree(folder)
    assert done.stdout.splitlines() == ["{None} ()", model.predict_proba([[2.0]])[0, 1].hex()], done


def test_it_ends_with_the_caller(tmp_path):
    """Killed as hard as can be, the caller leaves no process behind."""
    code = (
        "import sys, time, threading; sys.path[:0] = sys.argv[1:]\n"
        "from fairaudit.models.sandbox import Model, SandboxedModel\n"
        "from fairaudit.models.sandbox import client\n"
        "from attacks_on_kernel import attack_file\n"
        "data = attack_file('import time; time.sleep(600)', predicting=False)\n"
        "start = lambda: SandboxedModel(Model(name='m.pkl', data=data, "
        "opener='unchecked:open_pickle'))\n"
        "threading.Thread(target=start, daemon=True).start()\n"
        "while client._server is None: time.sleep(0.1)\n"
        "print(client._server.process.pid, flush=True); time.sleep(600)\n"
    )
    here = str(Path(__file__).parent)
    caller = subprocess.Popen([sys.executable, "-c", code, here], stdout=subprocess.PIPE, text=True)
    with caller:
        server = int(caller.stdout.readline())
        end = time.monotonic() + 30
        while len(left := {server, *descendants(server)}) < 3 and time.monotonic() < end:
            time.sleep(0.1)
        caller.kill()
    assert len(left) == 3  # the server, the keeper and the model's process
    end = time.monotonic() + 10
    while any(os.path.exists(f"/proc/{pid}") for pid in left) and time.monotonic() < end:
        time.sleep(0.05)
    assert not [pid for pid in left if os.path.exists(f"/proc/{pid}")]
