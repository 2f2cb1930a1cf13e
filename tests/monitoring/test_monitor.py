"""`fairaudit monitor`: e-values, the state file, the command."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.errors import InputError
from fairaudit.monitoring.batch_rows import reject_seen, row_facts
from fairaudit.monitoring.monitoring_result import MonitorResult
from fairaudit.monitoring.state import StateFile
from fairaudit_cli.main import main

FEW = fa.Permutations(n=39)


def lending(seed, rows=120, shift=0.0):
    rng = np.random.default_rng(seed)
    sex, y = rng.integers(0, 2, (2, rows))
    age = rng.integers(20, 70, rows)
    score = y + shift * sex + rng.normal(size=rows)
    race = rng.choice(["a", "b", "c"], rows)
    return pd.DataFrame({"score": score, "sex": sex, "race": race, "age": age, "y": y})


def monitor(path, **options):
    given = {"sensitive": "sex,race,age", "outcome": "y", "predictions": "score"}
    return fa.Monitor(path, **{**given, "permutations": FEW, **options})


# The state


def test_a_torn_last_line_is_dropped_wherever_it_was_cut(tmp_path):
    path = tmp_path / "s.state"
    StateFile(path).begin({"alpha": 0.05}, {"rows": 1})
    whole = path.read_bytes()
    StateFile(path).append({"rows": 2, "label": "ö, \u2028"})
    full = path.read_bytes()
    for cut in range(len(whole), len(full)):
        path.write_bytes(full[:cut])
        state = StateFile(path)
        assert [batch["rows"] for batch in state.batches] == [1]
        assert bool(state.notes) == (cut > len(whole))
    state.append({"rows": 3})
    assert [batch["rows"] for batch in StateFile(path).batches] == [1, 3]
    assert StateFile(path).notes == []


def test_every_changed_byte_is_noticed(tmp_path):
    path = tmp_path / "s.state"
    StateFile(path).begin({"alpha": 0.05}, {"rows": 1})
    StateFile(path).append({"rows": 2})
    full = bytearray(path.read_bytes())
    for k in range(len(full) - 1):
        changed = full.copy()
        changed[k] ^= 1
        path.write_bytes(changed)
        with pytest.raises(InputError, match=r"damaged|no state"):
            StateFile(path)


@pytest.mark.parametrize("order", [[0, 2, 1, 3], [0, 1, 3], [1, 2, 3]])
def test_lines_cannot_be_moved_or_left_out(tmp_path, order):
    path = tmp_path / "s.state"
    StateFile(path).begin({"alpha": 0.05}, {"rows": 1})
    for rows in (2, 3):
        StateFile(path).append({"rows": rows})
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[k] for k in order))
    with pytest.raises(InputError, match=r"damaged|no state"):
        StateFile(path)


@pytest.mark.parametrize("content", [b"", b"hello", b"a,b\n1,2\n", b"{}\n", b"\x80\x04K\x01."])
def test_another_file_is_refused_and_kept(tmp_path, content):
    path = tmp_path / "model.pkl"
    path.write_bytes(content)
    with pytest.raises(InputError, match="not the state of a monitor"):
        StateFile(path)
    assert path.read_bytes() == content


def test_two_runs_at_once(tmp_path):
    path = tmp_path / "s.state"
    first, second = StateFile(path), StateFile(path)
    first.begin({"alpha": 0.05}, {"rows": 1})
    with pytest.raises(InputError, match="Another run"):
        second.begin({"alpha": 0.05}, {"rows": 1})
    third = StateFile(path)
    first.append({"rows": 2})
    with pytest.raises(InputError, match="Another run"):
        third.append({"rows": 2})
    assert len(StateFile(path).batches) == 2


def test_a_new_state_is_written_through_no_link(tmp_path):
    """Its first name had the number of the process in it, which a folder of links can cover."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / f".s.state.{os.getpid()}").symlink_to(victim)
    StateFile(tmp_path / "s.state").begin({"alpha": 0.05}, {"rows": 1})
    assert victim.read_text() == "mine" and len(StateFile(tmp_path / "s.state").batches) == 1
    assert len(list(tmp_path.iterdir())) == 3


def test_killed_while_it_writes(tmp_path):
    path = tmp_path / "s.state"
    StateFile(path).begin({"alpha": 0.05}, {"rows": 0})
    code = (
        "import sys; from fairaudit.monitoring.state import StateFile\n"
        "s = StateFile(sys.argv[1]); n = 0\n"
        "while True:\n"
        "    n += 1; s.append({'rows': n, 'fill': 'x' * 20000})\n"
        "    if n == 1: print('go', flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    process.stdout.readline()
    time.sleep(0.1)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    state = StateFile(path)
    rows = [batch["rows"] for batch in state.batches]
    assert rows == list(range(len(rows))) and len(rows) > 1
    state.append({"rows": -1})
    assert StateFile(path).batches[-1]["rows"] == -1


# Rows that were seen


def test_a_batch_is_known_in_any_order_and_form(tmp_path):
    data = lending(0)
    facts, _ = row_facts(data)
    mixed = data.sample(frac=1, random_state=1)[["y", "age", "sex", "score", "race"]]
    mixed = mixed.astype({"y": float, "sex": bool})
    assert row_facts(mixed)[0] == facts
    assert row_facts(data.assign(y=1 - data["y"]))[0]["hash"] != facts["hash"]


def test_a_table_that_grows_is_refused():
    old, new = lending(0), lending(1)
    before = {**row_facts(old)[0], "number": 1, "label": "monday", "when": ""}
    grown = row_facts(pd.concat([old, new]))
    with pytest.raises(InputError, match=r"rows of batch 1 \(monday\) are in this table again"):
        reject_seen(*grown, [before])
    reject_seen(*row_facts(new), [before])
    few = lending(2)[["sex", "y"]]  # equal rows everywhere: no sign of anything
    before = {**row_facts(few)[0], "number": 1, "label": "", "when": "x"}
    reject_seen(*row_facts(pd.concat([few, few[:3]])), [before])


# The monitor


def test_the_same_state_gives_the_same_answer(tmp_path):
    path = tmp_path / "s.state"
    for seed in range(3):
        added = monitor(path).add(lending(seed, shift=1.0), label=f"day {seed}")
    again = monitor(path).result
    assert again == added
    assert again.alarm is not None and again.since == 1
    assert again.verdict is fa.Verdict.VIOLATION
    assert list(again.to_frame()["label"]) == ["day 0", "day 1", "day 2"]
    single = monitor(tmp_path / "t.state")  # one object for all batches: the same numbers
    for seed in range(3):
        result = single.add(lending(seed, shift=1.0))
    assert [b.e_value for b in result.batches] == [b.e_value for b in again.batches]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"alpha": 0.01}, "alpha"),
        ({"sensitive": "sex,race"}, "sensitive"),
        ({"outcome": "sex", "sensitive": "y,race,age"}, "sensitive"),
        ({"outcome": "age"}, "outcome"),
        ({"statistic": "features"}, "statistic"),
        ({"permutations": fa.Permutations(n=40)}, "copies"),
        ({"where": "age > 30"}, "where"),
        ({"predictions": (), "model": lambda table: table["score"]}, "another model"),
    ],
)
def test_other_settings_are_refused(tmp_path, options, named):
    path = tmp_path / "s.state"
    monitor(path).add(lending(0))
    before = path.read_bytes()
    with pytest.raises(InputError, match=named):
        monitor(path, **options)
    assert path.read_bytes() == before


def test_a_seen_batch_is_refused(tmp_path):
    path = tmp_path / "s.state"
    monitor(path).add(lending(0), label="monday")
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"batch 1 \(monday\)"):
        monitor(path).add(lending(0).sample(frac=1, random_state=0))
    assert path.read_bytes() == before


def test_columns_keep_their_kinds_and_new_levels_are_taken(tmp_path):
    path = tmp_path / "s.state"
    monitor(path).add(lending(0))
    odd = lending(1).assign(
        race=lambda t: t["race"].replace("a", "new"), age=lambda t: t["age"] % 2
    )
    assert len(monitor(path).add(odd).batches) == 2
    assert StateFile(path).settings["kinds"]["age"] == "integer"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (lending(1, rows=12), "too few"),
        (lending(1).assign(score=0.5), "constant"),
        (lending(1).assign(y=lambda t: t["sex"]), None),
    ],
)
def test_a_batch_that_says_nothing(tmp_path, data, why):
    path = tmp_path / "s.state"
    monitor(path, sensitive="sex").add(lending(0))
    before = monitor(path, sensitive="sex").result.batches[-1].log10_evidence
    result = monitor(path, sensitive="sex").add(data)
    assert result.verdict is fa.Verdict.INCONCLUSIVE
    assert (why or "nothing can be exchanged") in result.batches[-1].unusable
    assert result.batches[-1].log10_evidence == pytest.approx(before)


def test_copies_that_fail_their_check_take_evidence_and_give_none(tmp_path):
    rng = np.random.default_rng(0)
    a = rng.normal(size=600)
    y = rng.normal(size=600) * np.exp(1.2 * a)  # a normal law with one spread cannot fit
    data = pd.DataFrame({"score": y + 2 * a, "a": a, "y": y})
    result = monitor(tmp_path / "s.state", sensitive="a", density="ols").add(data)
    assert result.verdict is fa.Verdict.INCONCLUSIVE
    assert result.evidence <= 1


def test_a_state_stays_small_whatever_the_table(tmp_path):
    path = tmp_path / "s.state"
    rng = np.random.default_rng(0)
    wide = {f"a{k}": rng.normal(size=600) for k in range(80)}
    wide["zip"] = rng.integers(0, 400, 600).astype(str)
    wide |= {f"p{k}": rng.normal(size=600) for k in range(12)} | {"y": rng.integers(0, 9, 600)}
    names = [name for name in wide if name[0] in "az"]
    result = monitor(
        path, sensitive=names, predictions=[f"p{k}" for k in range(12)], statistic="correlation"
    ).add(pd.DataFrame(wide))
    assert result.batches[0].unusable is None
    assert path.stat().st_size < 60_000


def test_people_move_as_a_whole(tmp_path):
    data = lending(0, 100)
    data = pd.concat([data.assign(person=np.arange(100)), data.assign(person=np.arange(100))])
    watch = monitor(tmp_path / "s.state", ids="person")
    assert watch.add(data).batches[0].rows == 200
    with pytest.raises(InputError, match="people of batch 1"):
        watch.add(lending(1, 100).assign(person=np.arange(100)))
    assert len(watch.add(lending(1, 100).assign(person=np.arange(100, 200))).batches) == 2


def test_a_continuous_outcome(tmp_path):
    path = tmp_path / "s.state"
    for seed in range(2):
        rng = np.random.default_rng(seed)
        sex, noise = rng.integers(0, 2, 150), rng.normal(size=150)
        y = sex + noise
        data = pd.DataFrame({"score": y + 2.0 * sex + rng.normal(size=150), "sex": sex, "y": y})
        result = monitor(path, sensitive="sex", statistic="correlation").add(data)
    assert result.verdict is fa.Verdict.VIOLATION


# The command


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for day in range(3):
        lending(day, shift=1.0).to_csv(f"day{day}.csv", index=False)
    lending(9, rows=12).to_csv("few.csv", index=False)


COMMAND = [
    "monitor",
    "--state",
    "s.state",
    "--predictions",
    "score",
    "--sensitive",
    "sex,age",
    "--outcome",
    "y",
    "--permutations",
    "99",
]


def test_command(tables, capsys):
    assert main(["monitor", "--state", "s.state"]) == 2
    assert "Pass --data" in capsys.readouterr().err
    assert main([*COMMAND, "--data", "few.csv"]) == 3
    assert "12 rows are too few" in capsys.readouterr().out
    codes = [main([*COMMAND, "--data", f"day{day}.csv"]) for day in range(3)]
    assert codes[-1] == 1 and codes == sorted(codes)
    shown = capsys.readouterr().out
    assert "VIOLATION OF EQUALIZED ODDS" in shown and "alarm" in shown
    assert main([*COMMAND, "--data", "day1.csv"]) == 2
    assert "in the state already, as batch 3 (day1.csv)" in capsys.readouterr().err
    assert main([*COMMAND, "--alpha", "0.1", "--data", "day1.csv"]) == 2
    assert "other settings (alpha)" in capsys.readouterr().err
    assert main(["monitor", "--state", "s.state", "--json"]) == 1  # shows the state
    record = json.loads(capsys.readouterr().out)
    assert record["verdict"] == "violation" and len(record["batches"]) == 4


def test_command_says_that_a_line_was_cut_off(tables, tmp_path, capsys):
    main([*COMMAND, "--data", "day0.csv"])
    main([*COMMAND, "--data", "day1.csv"])
    path = tmp_path / "s.state"
    path.write_bytes(path.read_bytes()[:-40])
    capsys.readouterr()
    assert main(["monitor", "--state", "s.state"]) in (0, 1)
    assert "was cut off" in " ".join(capsys.readouterr().out.split())
    assert main([*COMMAND, "--data", "day1.csv"]) in (0, 1)
    assert len(StateFile(path).batches) == 2


@pytest.mark.parametrize("form", ["html", "md", "json", "txt"])
def test_reports(tables, form, capsys):
    main([*COMMAND, "--data", "day0.csv", "--label", "<b>|day", "--report", f"r.{form}"])
    with open(f"r.{form}", encoding="utf-8") as file:
        text = file.read()
    if form == "html":
        assert "<svg" in text and "<b>|day" not in text and "<script" not in text
    elif form == "json":
        assert json.loads(text)["batches"][0]["label"] == "<b>|day"
    else:
        assert "alarm" in text
    assert main([*COMMAND, "--data", "day1.csv", "--report", "r.sarif"]) == 2
    assert len(StateFile("s.state").batches) == 1


def test_batches_of_a_continuous_outcome_have_a_gap_in_its_units(tmp_path):
    """Small groups take no part in it; classes have none."""
    monitor = fa.Monitor(
        tmp_path / "m.state",
        predictions="score",
        sensitive="sex",
        outcome="y",
        permutations=fa.Permutations(n=39),
    )
    rng = np.random.default_rng(0)
    for shift in (0.0, 2.0):
        sex = rng.choice(["f", "m"], 400).astype(object)
        y = 3.0 * (sex == "m") + rng.normal(size=400)
        score = 0.5 * y + shift * (sex == "m") + rng.normal(size=400)
        sex[:3], score[:3] = "x", 99.0
        result = monitor.add(pd.DataFrame({"score": score, "sex": sex, "y": y}))
    fair, unfair = result.batches
    assert 0 <= fair.gap < fair.gap_at_most < 1.2
    assert unfair.gap == pytest.approx(2.0, abs=0.6) and unfair.gap < unfair.gap_at_most < 3.5
    assert (
        "gap, at most" in result.render("txt") and "gap, at most" in result.render("html").lower()
    )
    assert MonitorResult.from_dict(json.loads(result.to_json())).batches == result.batches
