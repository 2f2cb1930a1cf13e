"""Downloads from a server on this machine: checksums, broken connections, retries, progress."""

import contextlib
import hashlib
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import fairaudit as fa
from fairaudit.datasets import _download
from fairaudit.datasets._download import RemoteFile, data_folder, local_copy

BODY = b"a,b\n" + b"1,2\n" * 200_000
KNOWN = hashlib.sha256(BODY).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Answers by the first part of the path; counts what it was asked."""

    def do_GET(self):
        asked = self.server.asked
        asked.append(self.path)
        kind = self.path.split("/")[1]
        if kind == "busy" and len(asked) < 3:
            return self.send_error(503)
        if kind == "missing":
            return self.send_error(404)
        self.send_response(200)
        if kind != "unsized":
            self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        broken = kind == "truncated" or (kind == "once" and len(asked) == 1)
        with contextlib.suppress(OSError):  # the client may go away
            self.wfile.write(BODY[: len(BODY) // 2] if broken else BODY)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(_download, "WAIT", 0.0)
    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.asked = []
    thread = threading.Thread(target=running.serve_forever, args=(0.01,))
    thread.start()
    running.address = f"http://127.0.0.1:{running.server_port}"
    yield running
    running.shutdown()
    running.server_close()
    thread.join()


def remote(server, kind="plain", sha256=KNOWN, **more):
    return RemoteFile("table.csv", f"{server.address}/{kind}/table.csv", sha256, **more)


@pytest.mark.parametrize("kind", ["plain", "unsized"])
def test_downloaded_once_then_read(server, tmp_path, kind):
    file = remote(server, kind)
    home = tmp_path / "not" / "yet"
    path = local_copy(file, home)
    assert path == home / "table.csv" and path.read_bytes() == BODY
    assert local_copy(file, home) == path and len(server.asked) == 1
    assert [p.name for p in home.iterdir()] == ["table.csv"]


def test_wrong_checksum_saves_nothing(server, tmp_path):
    with pytest.raises(fa.InputError, match=r"/plain/table.csv sends is not .* should be 00000"):
        local_copy(remote(server, sha256="0" * 64), tmp_path)
    assert not list(tmp_path.iterdir()) and len(server.asked) == 1


def test_a_changed_local_file_is_refused(server, tmp_path):
    file = remote(server)
    (tmp_path / "table.csv").write_bytes(BODY + b"3,4\n")
    with pytest.raises(fa.InputError, match=r"SHA-256 is .* Delete it, and the file is downloaded"):
        local_copy(file, tmp_path)
    assert not server.asked


def test_truncated_every_time(server, tmp_path):
    half = f"broke after {len(BODY) // 2:,} of {len(BODY):,} bytes"
    with pytest.raises(fa.InputError, match=half):
        local_copy(remote(server, "truncated"), tmp_path)
    assert not list(tmp_path.iterdir()) and len(server.asked) == _download.TRIES


@pytest.mark.parametrize(("kind", "asked"), [("once", 2), ("busy", 3)])
def test_passing_trouble_is_tried_again(server, tmp_path, kind, asked):
    assert local_copy(remote(server, kind), tmp_path).read_bytes() == BODY
    assert len(server.asked) == asked


def test_a_missing_page_is_not_tried_again(server, tmp_path):
    with pytest.raises(fa.InputError, match="it answers 404 Not Found"):
        local_copy(remote(server, "missing"), tmp_path)
    assert len(server.asked) == 1


def test_interrupted_leaves_no_file(server, tmp_path):
    def stop(name, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        local_copy(remote(server), tmp_path, stop)
    assert not list(tmp_path.iterdir())


def test_progress(server, tmp_path):
    seen = []
    local_copy(remote(server), tmp_path, lambda *step: seen.append(step))
    names, done, total = zip(*seen, strict=True)
    assert set(names) == {"table.csv"} and set(total) == {len(BODY)}
    assert len(done) > 2 and list(done) == sorted(set(done)) and done[-1] == len(BODY)


def test_progress_of_unknown_size(server, tmp_path):
    seen = []
    local_copy(remote(server, "unsized"), tmp_path, lambda *step: seen.append(step))
    assert seen[-1] == ("table.csv", len(BODY), 0)


def test_nothing_is_printed_where_nobody_looks(server, tmp_path, capfd):
    local_copy(remote(server), tmp_path)
    assert capfd.readouterr() == ("", "")


def test_a_bar_on_a_terminal(server, tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes any stream for a terminal
    local_copy(remote(server), tmp_path)
    out, err = capfd.readouterr()
    assert not out and "downloading table.csv" in err


def test_offline(server, tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRAUDIT_DATA", str(tmp_path))
    file = remote(server)
    server.server_close()  # nobody listens there any more
    with pytest.raises(fa.InputError) as error:
        local_copy(file)
    text = str(error.value)
    assert file.url in text and str(tmp_path) in text and "\n" not in text
    assert "refused" in text and "data_home" in text and "FAIRAUDIT_DATA" in text
    assert not list(tmp_path.iterdir())


def test_first_checksum_is_kept(server, tmp_path):
    file = remote(server, sha256=None)
    path = local_copy(file, tmp_path)
    record = tmp_path / "table.csv.sha256"
    assert record.read_text() == f"{KNOWN}  table.csv\n"
    assert local_copy(file, tmp_path) == path

    path.write_bytes(b"changed here")
    with pytest.raises(fa.InputError, match=r"should be .* Delete it") as here:
        local_copy(file, tmp_path)
    assert str(record) in str(here.value)

    path.unlink()
    record.write_text("0" * 64 + "  table.csv\n")  # as if the public file had changed
    with pytest.raises(fa.InputError, match=r"sends is not the table\.csv that is known") as there:
        local_copy(file, tmp_path)
    assert str(record) in str(there.value) and not path.exists()


def test_a_file_put_there_by_hand_needs_no_record(server, tmp_path):
    (tmp_path / "table.csv").write_bytes(b"mine")
    assert local_copy(remote(server, sha256=None), tmp_path).read_bytes() == b"mine"
    assert not server.asked and len(list(tmp_path.iterdir())) == 1


def test_the_page_of_a_proxy_is_not_data(server, tmp_path):
    with pytest.raises(fa.InputError, match="a proxy may have answered"):
        local_copy(remote(server, sha256=None, start=b"PK"), tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_folder_without_permission(server, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(fa.InputError, match=r"table.csv is not in .* no permission to write"):
        local_copy(remote(server), tmp_path)
    assert not server.asked


def test_folder_that_is_a_file(server, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(fa.InputError, match="is not a directory"):
        local_copy(remote(server), tmp_path / "file")
    assert not server.asked


def test_which_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRAUDIT_DATA", str(tmp_path / "env"))
    assert data_folder(tmp_path) == tmp_path
    assert data_folder(None) == tmp_path / "env"
    monkeypatch.delenv("FAIRAUDIT_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_folder(None) == tmp_path / "cache" / "fairaudit"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_folder(None) == tmp_path / ".cache" / "fairaudit"
    assert data_folder("~/data") == tmp_path / "data"
