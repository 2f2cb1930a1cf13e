"""Records that cannot lie: digests, signatures, statements, and what `verify` and `report` say."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.records.canonical import canonical_json, digest_of, is_unchanged
from fairaudit_cli import main as cli
from fairaudit_cli.verify import differences

ASKED = "--data people.csv --predictions score --sensitive sex --outcome y --permutations 199"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record, the table, and two keys."""
    folder = tmp_path_factory.mktemp("seals")
    rng = np.random.default_rng(0)
    y, sex = rng.integers(0, 2, (2, 300))
    frame = pd.DataFrame({"score": y + 0.4 * sex + rng.normal(size=300), "y": y, "sex": sex})
    frame.round(4).to_csv(folder / "people.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        reports = ["--report", "audit.json", "--no-power", "--alpha", "0.01"]
        assert cli.main(["test", *ASKED.split(), *reports]) in (0, 1)
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("audit.json", "people.csv"):
        shutil.copy(made / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def keys(here: Path) -> None:
    pytest.importorskip("cryptography")
    from cryptography.hazmat.primitives import serialization as s
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    for name in ("key", "other"):
        key = Ed25519PrivateKey.generate()
        pem = key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
        Path(f"{name}.pem").write_bytes(pem)
        public = key.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo)
        Path(f"{name}.pub").write_bytes(public)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    capsys.readouterr()
    status = cli.main(list(words))
    shown = capsys.readouterr()
    return status, shown.out + shown.err


VERIFY = ("verify", "audit.json", "--data", "people.csv")


def read() -> dict[str, Any]:
    return dict(json.loads(Path("audit.json").read_text()))


def forge(change: Any, *, digest: bool) -> None:
    """Change the record, with a digest that fits again or without doing so."""
    record = read()
    change(record)
    if digest:
        record["digest"] = digest_of(record)
    Path("audit.json").write_text(json.dumps(record))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"), (-0.0, "0"), (1.0, "1"), (-1.5, "-1.5"), (1e-7, "1e-7"), (1e-6, "0.000001"),
        (123456.789, "123456.789"), (1e20, "100000000000000000000"), (1e21, "1e+21"),
        (5e-324, "5e-324"), (1.7976931348623157e308, "1.7976931348623157e+308"),
        (333333333.3333333, "333333333.3333333"), (4.5, "4.5"), (2e-3, "0.002"),
        (9007199254740993, "9007199254740993"), (1.25e-9, "1.25e-9"), (0.1, "0.1"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_rfc_8785_does(number: float, text: str) -> None:
    assert canonical_json([number]).decode() == f"[{text}]"


def test_a_canonical_text_is_the_same_for_equal_records() -> None:
    rng = np.random.default_rng(1)
    numbers = np.concatenate([rng.normal(size=200) * 10.0 ** rng.integers(-30, 30, 200), [1.0]])
    record = {"b": numbers.tolist(), "a": {"é\u2028": None, "\U0001f600": True, "\uffff": 1}}
    again = json.loads(json.dumps(record, indent=3, sort_keys=True))
    assert canonical_json(again) == canonical_json(record)
    text = json.loads(canonical_json(record))
    assert [float(number) for number in text["b"]] == record["b"] and text["a"] == record["a"]
    text = canonical_json({"\uffff": 1, "\U0001f600": 2}).decode()
    assert text.index("\U0001f600") < text.index("\uffff")  # by units of UTF-16, as the RFC wants
    with pytest.raises(ValueError, match="no such number"):
        canonical_json(float("nan"))


def changes(value: Any, path: str = "") -> dict[str, Any]:
    """Path → the record with another value there; one path for all numbers of a list."""
    made: dict[str, Any] = {}
    if not isinstance(value, (dict, list)) or not value:
        other = not value if isinstance(value, bool) else 17 if value is None else f"{value}7"
        return {path: other if isinstance(value, (bool, str, type(None))) else [other]}
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        for inner, changed in changes(
            item, f"{path}.{'*' if isinstance(value, list) else key}"
        ).items():
            copy = value.copy()
            copy[key] = changed
            made[inner] = copy
    return made


def test_every_record_has_a_digest_over_all_of_it(here: Path) -> None:
    record = read()
    assert is_unchanged(record) and list(record)[-1] == "digest"
    made = changes(record)
    assert len(made) > 100 and ".capsule.created" in made
    assert [path for path, other in made.items() if is_unchanged(other)] == []
    shuffled = json.dumps(dict(reversed(list(record.items()))))
    assert is_unchanged(json.loads(shuffled))  # another order of keys is the same record


FALSE = {
    "date": lambda record: record["capsule"].update(created="2020-01-01T00:00:00+00:00"),
    "version": lambda record: record["capsule"].update(version="9.9.9"),
    "command": lambda record: record["capsule"].update(command="fairaudit certify"),
    "verdict": lambda record: record.update(verdict="no violation found"),
    "seconds": lambda record: record.update(seconds=0.0),
    "field": lambda record: record.update(certified_by="a ministry"),
}


@pytest.mark.parametrize("what", FALSE)
def test_a_record_that_was_edited_is_neither_shown_nor_reproduced(
    what: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forge(FALSE[what], digest=False)
    for words in (("report", "audit.json"), ("report", "audit.json", "--to", "html")):
        status, said = run(capsys, *words)
        assert status == 2 and "was changed after it was made: its digest does not fit" in said
        assert said.count("\n") == 1 and not Path("audit.html").exists()
    with pytest.raises(fa.InputError, match="was changed after it was made"):
        fa.AuditResult.load("audit.json")
    status, said = run(capsys, *VERIFY)
    assert status == 1 and "the record was changed after it was made" in said


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (FALSE["verdict"], "verdict: 'no violation found'"),
        (FALSE["field"], "certified_by: 'a ministry'"),
        (FALSE["command"], "command: it is not one of fairaudit test"),
        (
            lambda record: record["capsule"].update(
                command=record["capsule"]["command"].replace("0.01", "0.001")
            ),
            "command: --alpha says 0.001, and the record 0.01",
        ),
        (
            lambda record: record["capsule"].update(
                command=record["capsule"]["command"].replace("199", "9999")
            ),
            "command: --permutations says 9999, and the record 199",
        ),
        (
            lambda record: record["capsule"].update(
                command=record["capsule"]["command"] + " --model m.pkl"
            ),
            "command: it has --model, and the record none",
        ),
        (
            lambda record: record["capsule"]["options"].update(approved=True),
            "capsule.options.approved: True",
        ),
        (
            lambda record: record["capsule"]["options"].update(version="approved"),
            "capsule.options.version: 'approved'",
        ),
        (lambda record: record["null"].__setitem__(3, 17.0), "null[3]: 17.0"),
        (lambda record: record["notes"].append("Certified."), "notes["),
        (
            lambda record: (
                record["capsule"].update(version="0.9.0"),
                record.update(because="All is well."),
            ),
            "because: 'All is well.'",  # another version loosened the comparison
        ),
        (
            lambda record: (
                record["capsule"].update(version="0.1.0"),
                record.update(because="All is well."),
            ),
            "because: 'All is well.'",  # and that of 0.1 most of all
        ),
        (
            lambda record: record["findings"].append({**record["findings"][0], "key": "kpc_r"}),
            "findings[3].family: 'joint', now '(absent)'",  # nothing of that key was compared
        ),
        (
            lambda record: record["capsule"].update(verify="curl http://127.0.0.1 | sh"),
            "capsule.verify: it is not one of fairaudit verify",
        ),
        (
            lambda record: record["capsule"].update(
                verify="fairaudit verify audit.json --data people.csv --trust os.system"
            ),
            "capsule.verify: it trusts what the audit did not",
        ),
        *(
            (
                lambda record, more=more: record["capsule"].update(
                    command=record["capsule"]["command"] + more
                ),
                "command: it is not one of fairaudit test",  # a shell would run more than that
            )
            for more in ("; id", " $(id)", " `id`", " | sh", "\nid", " $'\\x41' ; id", ' "$(id)"')
        ),
    ],
)
def test_verify_names_what_is_false_though_the_digest_fits(
    change: Any, named: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forge(change, digest=True)
    status, said = run(capsys, *VERIFY)
    assert status == 1 and named in said, said


def test_every_value_is_compared_or_named_as_unchecked(here: Path) -> None:
    """Changed one by one, with a digest that fits."""
    record = read()
    passed = {path for path, other in changes(record).items() if not differences(other, record)[1]}
    known = r"(\.findings\.\*)?\.seconds|\.capsule\.(created|version|python|platform|packages\..*)"
    known += r"|\.capsule\.(data\.\*\.path|command|verify)|\.digest"  # these have their own checks
    assert ".seconds" in passed and all(re.fullmatch(known, path) for path in passed), passed


def test_verify_says_what_it_cannot_check(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, said = run(capsys, *VERIFY)
    assert status == 0 and said.startswith("reproduced: all ")
    assert "not checked: where the files lay then" in said
    assert "not checked: the date 20" in said and "only a signature can vouch for it" in said
    forge(FALSE["date"], digest=True)
    status, said = run(capsys, *VERIFY)
    assert status == 0 and "not checked: the date 2020-01-01T00:00:00+00:00" in said
    forge(FALSE["version"], digest=True)
    status, said = run(capsys, *VERIFY)
    assert status == 0 and "note: fairaudit 9.9.9 then" in said


def test_a_page_says_that_its_record_was_not_verified(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, "report", "audit.json", "--to", "html,md,txt,json", "--out", "o")[0] == 0
    for form in ("html", "md", "txt"):
        text = " ".join((here / f"o/audit.{form}").read_text().split())
        assert "Made from a saved record that was not verified" in text
    assert (here / "o/audit.json").read_text() == (here / "audit.json").read_text()
    record = read()
    del record["digest"]  # as 0.1 wrote them
    Path("audit.json").write_text(json.dumps(record))
    status, said = run(capsys, "report", "audit.json")
    assert status == 0 and "record without a digest" in " ".join(said.split())
    status, said = run(capsys, *VERIFY)
    assert status == 0 and "the record has no digest" in said


@pytest.mark.usefixtures("keys")
def test_signatures(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "sign", "audit.json", "--key", "key.pem")[0] == 0
    signed = Path("audit.json").read_text()
    assert is_unchanged(read()) and read()["signature"]["algorithm"] == "ed25519"
    status, said = run(capsys, *VERIFY, "--key", "key.pub")
    assert status == 0 and said.startswith("signed: by the key ")
    assert "the signature vouches for it" in said
    status, said = run(capsys, "report", "audit.json", "--key", "key.pub")
    assert status == 0 and "has signed" in said
    for change in FALSE.values():
        Path("audit.json").write_text(signed)
        forge(change, digest=True)
        for words in (VERIFY, ("report", "audit.json")):
            status, said = run(capsys, *words, "--key", "key.pub")
            assert status == 2 and "it was changed after it was signed" in said
    Path("audit.json").write_text(signed)
    status, said = run(capsys, *VERIFY, "--key", "other.pub")
    assert status == 2 and "signed by another key" in said
    forge(lambda record: record["signature"].update(value="AAAA"), digest=False)
    assert run(capsys, *VERIFY, "--key", "key.pub")[0] == 2
    forge(lambda record: record.pop("signature"), digest=False)
    status, said = run(capsys, *VERIFY, "--key", "key.pub")
    assert status == 2 and "The record is not signed" in said


@pytest.mark.usefixtures("keys")
def test_reports_are_signed_as_they_are_written(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["test", *ASKED.split(), "--no-power", "--sign", "key.pem"]
    assert run(capsys, *words, "--report", "a.json", "--report", "a.html")[0] in (0, 1)
    status, said = run(capsys, "verify", "a.json", "--data", "people.csv", "--key", "key.pub")
    assert status == 0 and said.startswith("signed: ")
    capsys.readouterr()
    assert cli.main([*words, "--json"]) in (0, 1)
    assert "signature" in json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("nowhere.pem", "cannot be read"),
        ("people.csv", "is not a private Ed25519 key"),
        ("key.pub", "is not a private Ed25519 key"),
    ],
)
def test_a_key_that_is_none_is_one_line(
    key: str, why: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (
        ("sign", "audit.json", "--key", key),
        ("test", *ASKED.split(), "--sign", key, "--report", "never.json"),
    ):
        status, said = run(capsys, *words)
        assert status == 2 and why in said and said.count("\n") == 1
    assert not Path("never.json").exists()
    status, said = run(capsys, "sign", "audit.json", "--key", "key.pem")
    status, said = run(capsys, *VERIFY, "--key", "key.pem")
    assert status == 2 and "is the private key" in said


@pytest.mark.usefixtures("keys")
def test_a_statement_of_in_toto(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    assert run(capsys, "sign", "audit.json", "--statement", "plain.intoto.json")[0] == 0
    words = ("sign", "audit.json", "--key", "key.pem", "--statement", "audit.intoto.json")
    assert run(capsys, *words)[0] == 0
    plain = json.loads(Path("plain.intoto.json").read_text())
    assert plain["_type"] == "https://in-toto.io/Statement/v1"
    assert plain["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    table = read()["capsule"]["data"][0]["sha256"]
    assert plain["subject"] == [{"name": "people.csv", "digest": {"sha256": table}}]
    predicate = plain["predicate"]
    violation = read()["verdict"] == "violation"
    assert predicate["result"] == ("FAILED" if violation else "PASSED")
    assert bool(predicate["failedTests"]) == violation
    record = predicate["configuration"][0]
    assert f"sha256:{record['digest']['sha256']}" == read()["digest"]
    envelope = json.loads(Path("audit.intoto.json").read_text())
    payload = base64.b64decode(envelope["payload"])
    assert json.loads(payload) == plain
    kind = envelope["payloadType"]
    assert kind == "application/vnd.in-toto+json"
    encoded = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
    key: Any = load_pem_public_key(Path("key.pub").read_bytes())
    key.verify(base64.b64decode(envelope["signatures"][0]["sig"]), encoded)


@pytest.mark.usefixtures("keys")
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_keys_of_openssl_as_the_docs_make_them(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", "o.pem"], check=True)
    subprocess.run(["openssl", "pkey", "-in", "o.pem", "-pubout", "-out", "o.pub"], check=True)
    assert run(capsys, "sign", "audit.json", "--key", "o.pem")[0] == 0
    assert run(capsys, *VERIFY, "--key", "o.pub")[0] == 0


def test_other_records_have_digests_too(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [word for word in ASKED.split() if word not in ("--permutations", "199")]
    quick = ["--permutations", "39"]
    commands = {
        "monitor": ["monitor", "--state", "s.state", *asked, *quick],
        "missing": ["missing", *asked, *quick],
    }
    for name, words in commands.items():
        status, said = run(capsys, *words, "--report", f"{name}.json")
        assert status in (0, 1, 3), said
        assert is_unchanged(json.loads(Path(f"{name}.json").read_text()))
        forged = json.loads(Path(f"{name}.json").read_text()) | {"alpha": 0.5}
        Path(f"{name}.json").write_text(json.dumps(forged))
        assert run(capsys, "report", f"{name}.json")[0] == 2


def test_nothing_to_sign(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, said = run(capsys, "sign", "audit.json")
    assert status == 2 and "Pass --key FILE to sign, or --statement FILE" in said
    forge(FALSE["date"], digest=False)
    status, said = run(capsys, "sign", "audit.json", "--statement", "x.intoto.json")
    assert status == 2 and "was changed after it was made" in said


HOSTILE = {
    "a key twice": ("{", '{"verdict": "equivalent within tolerance", '),
    "no number": ('"alpha": 0.01', '"alpha": NaN'),
    "a number without end": ('"alpha": 0.01', '"alpha": 1e999'),
    "depth": ("{", '{"x": ' + "[" * 100_000 + "]" * 100_000 + ","),
    "many digits": ("{", '{"x": ' + "9" * 5000 + ","),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_json_that_means_two_things_or_none(
    name: str, here: Path, keys: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """A digest is over the last of two values; who reads the file sees the first."""
    assert run(capsys, "sign", "audit.json", "--key", "key.pem")[0] == 0
    text = Path("audit.json").read_text()
    assert HOSTILE[name][0] in text
    Path("audit.json").write_text(text.replace(*HOSTILE[name], 1))
    for words in (
        ("report", "audit.json"),
        ("report", "audit.json", "--key", "key.pub"),
        VERIFY,
        (*VERIFY, "--key", "key.pub"),
        ("sign", "audit.json", "--key", "key.pem"),
    ):
        status, said = run(capsys, *words)
        assert status == 2 and said.count("\n") == 1 and "Traceback" not in said


def test_a_signed_record_that_was_edited_carelessly(
    here: Path, keys: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, "sign", "audit.json", "--key", "key.pem")[0] == 0
    record = read()
    Path("audit.json").write_text(json.dumps({**record, "verdict": "inconclusive"}))
    status, said = run(capsys, *VERIFY, "--key", "key.pub")
    assert status == 2 and "changed after it was signed" in said


def test_what_is_vouched_for_is_what_is_shown(
    here: Path, keys: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file is read once: another one that takes its place meanwhile is not shown."""
    from fairaudit import results

    assert run(capsys, "sign", "audit.json", "--key", "key.pem")[0] == 0
    reads = []
    real = results.parse_json
    monkeypatch.setattr(results, "parse_json", lambda text: reads.append(1) or real(text))
    assert run(capsys, "report", "audit.json", "--key", "key.pub")[0] == 0
    assert len(reads) == 1


def test_a_record_without_findings(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = {**read(), "findings": []}
    Path("audit.json").write_text(json.dumps({**record, "digest": digest_of(record)}))
    status, said = run(capsys, "report", "audit.json")
    assert status == 2 and "it has no findings" in said


@pytest.mark.parametrize(
    ("place", "value"), [("power", "no"), ("calibrate", None), ("folds", -5), ("folds", 1e308)]
)
def test_a_setting_that_decided_nothing_must_be_one_all_the_same(
    here: Path, capsys: pytest.CaptureFixture[str], place: str, value: Any
) -> None:
    """The repeated audit took it over from the record and found it equal."""
    forge(lambda record: record["capsule"]["options"].update({place: value}), digest=True)
    status, shown = run(capsys, *VERIFY)
    assert status == 2 and shown.count("\n") == 1 and "must be" in shown


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record["measures"][0].update(value=1e308, raw=1e308),
        lambda record: record["portrait"]["scores"][0].update(edges=[1e308, -1e308]),
        lambda record: record["portrait"]["scores"][0]["levels"].append("x"),
        lambda record: record["findings"][0].update(p_value=10**400),
    ],
)
@pytest.mark.parametrize("words", [("report", "audit.json", "--to", "html,md"), VERIFY])
def test_values_that_do_not_fit_are_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], change: Any, words: tuple[str, ...]
) -> None:
    """They ended in a traceback."""
    forge(change, digest=True)
    status, shown = run(capsys, *words)
    assert "internal error" not in shown and "Traceback" not in shown
    assert status == 1 or (status == 2 and shown.count("\n") == 1) or words[0] == "report"
