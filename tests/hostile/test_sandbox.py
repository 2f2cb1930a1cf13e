"""With the allow-list switched off the kernel holds: no canary is touched, no process is left."""

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path

import pytest
from attacks_on_kernel import ATTACKS, BY_LIMITS, attack_file

from fairaudit.errors import InputError
from fairaudit.models.sandbox import Limits, Model, SandboxedModel, client, probe

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux confines processes")

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


def attack(data, without=(), limits=None):
    """Open and ask the file with the sandbox alone; what was said, and whether it answered."""
    import pandas as pd

    limits = limits or Limits(memory=2 * 2**30, seconds=60)
    model = Model(
        name="model.pkl",
        data=data,
        limits=limits,
        without=tuple(without),
        opener="unchecked:open_pickle",
    )
    try:
        held = SandboxedModel(model)
        try:
            held.scores(pd.DataFrame({"x": [1.0, 2.0]}))
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


LAYERS = (
    {name: why for name, why in probe().items() if why is not None}
    if sys.platform == "linux"
    else {}
)


@pytest.mark.parametrize("predicting", [False, True], ids=["load", "predict"])
@pytest.mark.parametrize("name", ATTACKS)
def test_the_kernel_refuses(canaries, name, predicting):
    if LAYERS:
        pytest.skip(f"this system lacks {LAYERS}")
    said = attack(attack_file(canaries.fill(ATTACKS[name]), predicting=predicting))
    check(canaries, said)


@pytest.mark.parametrize("name", BY_LIMITS)
def test_the_limits_end_it(canaries, name):
    if LAYERS:
        pytest.skip(f"this system lacks {LAYERS}")
    code = canaries.fill(BY_LIMITS[name])
    started = time.monotonic()
    said = attack(attack_file(code, predicting=True), limits=Limits(2 * 2**30, SECONDS))
    assert time.monotonic() - started < SECONDS + 20
    check(canaries, said)
    assert said.startswith("The model file model.pkl was stopped: ") or "cannot predict" in said
