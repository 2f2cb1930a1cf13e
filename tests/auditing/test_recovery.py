"""Nobody can compute what is masked: an attacker with all shown numbers finds many candidates."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from recovery import RATES, recovered, shown_groups

import fairaudit as fa
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.evidence.disclosure import masked_groups, step_of, suppress
from fairaudit.evidence.power.power_result import GroupPlan, SamplePlan
from fairaudit.records.canonical import digest_of
from fairaudit_cli import main as cli

FEWEST = 10
# group: rows with outcome 0 and 1, of them predicted 1
TABLES = {
    "plain": {
        "a": (120, 90, 30, 60),
        "b": (80, 70, 25, 40),
        "c": (5, 3, 2, 1),
        "d": (20, 18, 3, 9),
    },
    "small": {"a": (30, 30, 10, 20), "b": (25, 25, 5, 20), "c": (5, 3, 2, 1), "d": (20, 18, 3, 9)},
    "large": {
        "a": (3000, 2000, 700, 1500),
        "b": (2500, 2500, 500, 2000),
        "c": (2, 3, 1, 0),
        "d": (30, 28, 0, 28),
    },
    "extreme": {
        "a": (300, 200, 70, 150),
        "b": (250, 250, 50, 200),
        "c": (0, 4, 0, 0),
        "d": (18, 19, 0, 0),
    },
    "opposed": {
        "a": (149, 59, 71, 47),
        "b": (106, 151, 8, 131),
        "c": (7, 7, 0, 0),
        "d": (23, 22, 23, 0),
    },
}


def frame_of(groups, seed=0):
    rows = [
        (name, y, label)
        for name, (zeros, ones, fp, tp) in groups.items()
        for y, label, count in ((0, 1, fp), (0, 0, zeros - fp), (1, 1, tp), (1, 0, ones - tp))
        for _ in range(count)
    ]
    frame = pd.DataFrame(rows, columns=["g", "y", "label"])
    return frame.sample(frac=1, random_state=seed).reset_index(drop=True)


def audited(groups, **options):
    frame = frame_of(groups)
    return fa.audit(
        predictions=frame.label,
        outcome=frame.y,
        sensitive={"g": frame.g},
        permutations=fa.Permutations(n=99),
        **options,
    )


@pytest.mark.parametrize("name", TABLES)
def test_the_attacker_recovers_masked_counts_from_exact_numbers(name):
    """What the default JSON showed before: gaps to all others, and KPC with all its digits."""
    result = audited(TABLES[name], power=False)
    record = replace(result, cells=suppress(result.cells, FEWEST)).to_dict()
    for y, left in enumerate(recovered(record, FEWEST, (0, 0, 0))):
        truth = [TABLES[name][g][column] for column in (y, y + 2) for g in "cd"]
        assert max(left.values()[2:]) <= 2  # which of the two groups is which, at most
        if any(truth[2:]):  # sizes do not matter to anything where nobody is predicted 1
            assert max(left.values()) <= 2
        assert any(list(counts) == truth for counts in zip(*left, strict=True))


@pytest.mark.parametrize("name", TABLES)
def test_masked_counts_cannot_be_recovered_from_the_default_json(name):
    result = audited(TABLES[name]).suppressed(FEWEST)
    record = json.loads(result.render("json"))
    assert [cell["masked"] for cell in record["cells"]["cells"]] == [False, False, True, True]
    step = step_of(FEWEST, record["table"]["people"])
    for y, left in enumerate(recovered(record, FEWEST, (step, step, step))):
        truth = [TABLES[name][g][column] for column in (y, y + 2) for g in "cd"]
        assert any(list(counts) == truth for counts in zip(*left, strict=True))  # a fair attacker
        assert min(left.values()) >= FEWEST, left.values()


def random_groups(rng, large, small, tables=1000):
    """Large groups with any rates, some close to 0 or 1, and small ones, often all alike."""
    many = int(rng.choice([40, 100, 300, tables]))
    skewed = rng.choice([0.02, 0.1, 0.5, 0.9, 0.98])
    kinds = [
        *((name, (many // 2, 2 * many), (0.1, 0.3, 0.5, 0.7, 0.9, skewed)) for name in large),
        (small[0], (0, 9), (0, 0.5, 1)),
        (small[1], (18, 40), (0, 0.5, 1)),
    ]
    groups = {}
    for name, span, rates in kinds:
        people = rng.integers(*span, 2)
        people[people == 1] = 0  # counts do not give KPC where somebody is alone: it is rounded
        positive = [rng.binomial(count, rng.choice(rates)) for count in people]
        groups[name] = tuple(map(int, (*people, *positive)))
    return groups


@pytest.mark.parametrize("seed", [5, 6, 7, 8])
def test_candidates_of_random_tables(seed):
    """Rounded, KPC left few where the truth lies at an end of what is possible: 3 tables of 120."""
    rng = np.random.default_rng(seed)
    for _ in range(10):
        masked = 0
        while masked != 2:
            groups = random_groups(rng, "ab", "cd")
            # the attacker uses sizes, not tests
            result = audited(groups, power=False, statistic="correlation").suppressed(FEWEST)
            masked = result.cells.masked
        record = result.to_dict()
        step = step_of(FEWEST, result.table.people)
        for y, left in enumerate(recovered(record, FEWEST, (step, step, step))):
            hidden = [c["levels"][0] for c in record["cells"]["cells"] if c["masked"]]
            truth = [groups[g][column] for column in (y, y + 2) for g in hidden]
            assert any(list(counts) == truth for counts in zip(*left, strict=True)), groups
            assert min(left.values()) >= FEWEST, (groups, left.values())


def test_gaps_and_measures_are_those_of_the_groups_shown():
    """A gap to all others gives the total, and the total gives the masked groups."""
    result = audited(TABLES["plain"])
    shown, record = result.suppressed(FEWEST), result.suppressed(FEWEST).to_dict()
    rest = {name: TABLES["plain"][name] for name in "ab"}
    alone = audited(rest)
    for gap, other in zip(
        [gap for gap in shown.gaps.gaps if gap.value is not None], alone.gaps.gaps, strict=True
    ):
        assert (gap.levels, gap.rate) == (other.levels, other.rate)
        assert gap.value == pytest.approx(other.value) and gap.low == pytest.approx(other.low)
    measures = {measure.key: measure.value for measure in shown.measures}
    for measure in alone.measures:
        if measure.key in ("deo", "equalized_odds_difference", "equalized_odds_ratio"):
            assert measures[measure.key] == pytest.approx(measure.value)
    assert all(finding["kpc"] is None for finding in record["findings"] if finding["outcome"])
    assert shown_groups(record, 1).people.tolist() == [90, 70] and RATES[1] == "TPR"


def test_every_number_of_a_masked_record_is_open_or_coarse():
    """No number of more than two decimals is left that masked people enter.

    KPC and CODEC of labels are those of the groups shown.
    """
    result = audited(TABLES["large"], certify={"deo": 2.0, "kpc": 0.5}, tolerance={"deo": 0.001})
    record = result.suppressed(FEWEST).to_dict()
    assert record["verdict"] == str(result.verdict)
    coarse = [
        *(finding["value"] for finding in record["findings"]),
        *(certificate["upper"] for certificate in record["certificates"]),
        record["quality"]["moved"],
        *record["null"],
        *(
            violation[key]
            for violation in record["power"]["detectable"]
            for key in ("shift", "tpr_gap", "fpr_gap", "kpc")
        ),
    ]
    assert all(value is None or value == round(value, 2) for value in coarse)
    assert all(
        violation["rows"] is None
        for violation in record["power"]["detectable"]
        if violation["group"] in ("g = c", "g = d")
    )
    exact = f"{result.joint.kpc:.3f}"
    assert exact in result.because and exact not in record["because"]


def test_copies_that_reach_the_data_still_do_after_masking():
    for name in TABLES:
        result = audited(TABLES[name], power=False)
        shown = result.suppressed(FEWEST)
        before = sum(copy >= result.joint.value - 1e-12 for copy in result.null)
        assert sum(copy >= shown.joint.value for copy in shown.null) == before
        assert (1 + before) / 100 == pytest.approx(shown.p_value)
        assert shown.suppressed(FEWEST) == shown  # twice is once


def test_no_format_shows_an_exact_size(tmp_path):
    frame = frame_of(TABLES["large"])
    result = audited(TABLES["large"])
    frame.to_csv(tmp_path / "data.csv", index=False)
    sizes = {f"{finding.kpc:.3f}" for finding in result.findings} | {
        f"{measure.value:.3f}"
        for measure in result.measures
        if measure.key in ("kpc", "codec", "deo")
    }
    masked = result.suppressed(FEWEST)
    open_numbers = json.dumps(masked.to_dict()["cells"]["cells"])
    for form in ("html", "md", "txt", "xml", "sarif", "github", "json", "svg"):
        text = re.sub(r'( time="|"seconds": )[\d.e+-]+', "", masked.render(form))  # of the clock
        assert not [size for size in sizes if size in text and size not in open_numbers], form
    assert masked._repr_html_() == result._repr_html_()  # notebooks are shared


def test_compare_shows_nothing_that_test_masks(tmp_path, capsys, monkeypatch):
    """A group with few of one outcome is masked in `test`, and was shown in full by `compare`."""
    groups = {
        "a": (120, 90, 30, 60),
        "b": (80, 70, 25, 40),
        "c": (3, 40, 2, 1),
        "d": (30, 30, 3, 9),
    }
    frame = frame_of(groups)
    frame["score"] = np.where(frame.label == 1, 0.9, 0.1)
    result = fa.compare(
        old, new, frame[["g", "y", "score"]], sensitive="g", outcome="y", suppress=FEWEST
    )
    table = AuditTable.of(frame.label, {"g": frame.g}, frame.y)
    assert masked_groups(table, FEWEST) == {("c",), ("d",)}
    assert [cell.levels[0] for cell in result.cells] == ["a", "b", "a", "b"]
    assert result.rows == len(frame)  # not those of the groups used: the others were the rest
    some = frame[frame.g.isin(["a", "b"])][["g", "y", "score"]]
    alone = fa.compare(old, new, some, sensitive="g", outcome="y")
    numbers = {
        difference.key: (difference.baseline, difference.candidate)
        for difference in result.differences
    }
    for difference in alone.differences:
        shown = (difference.baseline, difference.candidate)
        assert numbers[difference.key] == pytest.approx(shown)
    everything = fa.compare(old, new, frame[["g", "y", "score"]], sensitive="g", outcome="y")
    assert result.verdict == everything.verdict  # masking hides numbers and decides nothing
    for form in ("txt", "md", "html", "json", "github"):
        assert result.render(form)


def test_what_cannot_be_masked_afterwards_is_not_saved_as_if_it_were(tmp_path):
    """`save` promises a mask; comparisons and audits of missing values have no rows to mask."""
    frame = frame_of(TABLES["plain"])
    frame["score"] = np.where(frame.label == 1, 0.9, 0.1)
    roles = {"sensitive": "g", "outcome": "y"}
    open_, masked = (
        fa.compare(old, new, frame[["g", "y", "score"]], **roles, suppress=fewest)
        for fewest in (0, FEWEST)
    )
    with pytest.raises(InputError, match=r"'suppress' 0 and cannot be masked.* 'suppress' 10"):
        open_.save(tmp_path / "a.html")
    assert not list(tmp_path.iterdir())
    assert open_.save(tmp_path / "a.html", suppress=0).exists()
    assert masked.save(tmp_path / "b.html").exists()
    frame.loc[:4, "g"] = None
    quick = fa.Permutations(n=19)
    lacking = fa.audit_incomplete(frame.label, frame.y, {"g": frame.g}, permutations=quick)
    with pytest.raises(InputError, match="'suppress' 0 and cannot be masked"):
        lacking.save(tmp_path / "c.json")
    assert lacking.save(tmp_path / "c.json", suppress=0).exists()


def old(table):
    return table["score"]


def new(table):
    return 1 - table["score"]


def command(tmp_path, frame, name, *more):
    frame.to_csv(tmp_path / "data.csv", index=False)
    return [
        name,
        "--data",
        str(tmp_path / "data.csv"),
        "--outcome",
        "y",
        "--sensitive",
        "g",
        "--predictions",
        "label",
        *more,
    ]


def shown(capsys, arguments):
    assert cli.main(arguments) in (0, 1, 3)
    return capsys.readouterr().out


def test_few_missing_values_are_masked_in_every_place(tmp_path, capsys):
    """`few missing` stood beside `3 rows: g is missing`."""
    frame = frame_of({"a": (120, 90, 30, 60), "b": (80, 70, 25, 40)})
    frame.loc[:2, "g"] = None
    drop = command(tmp_path, frame, "test", "--missing", "drop", "--permutations", "19")
    record = json.loads(shown(capsys, [*drop, "--json"]))
    assert record["table"]["attributes"][0]["missing"] is None
    assert record["table"]["excluded"] == [{"rows": None, "reason": "g is missing"}]
    text = shown(capsys, drop)
    assert "few rows: g is missing" in text and "some missing" in text
    assert "3 rows" not in text and "3 missing" not in text


def test_missing_shows_no_count_that_test_masks(tmp_path, capsys):
    frame = frame_of({"a": (120, 90, 30, 60), "b": (80, 70, 25, 40), "c": (40, 40, 9, 30)})
    gone = [*np.flatnonzero(frame.y == 1)[:11], *np.flatnonzero(frame.y == 0)[:2]]
    frame.loc[gone, "g"] = None  # 13 people, of whom 2 have the outcome 0
    quick = ("--permutations", "19", "--json")
    record = json.loads(shown(capsys, command(tmp_path, frame, "test", *quick)))
    hidden = [cell["levels"][0] for cell in record["cells"]["cells"] if cell["masked"]]
    assert "(missing)" in hidden and record["table"]["attributes"][0]["missing"] is None
    told = json.loads(shown(capsys, command(tmp_path, frame, "missing", *quick)))
    assert told["missingness"][0]["missing"] is None
    assert all(bound["worst"] == round(bound["worst"], 2) for bound in told["bounds"])
    assert not any(level in bound["worst_pair"] for bound in told["bounds"] for level in hidden)
    text = shown(capsys, command(tmp_path, frame, "missing", "--permutations", "19"))
    assert "g is missing in some of 440 rows" in text and "13" not in text
    frame.loc[:30, "g"] = None
    plain = json.loads(shown(capsys, command(tmp_path, frame, "missing", *quick)))
    assert plain["missingness"][0]["missing"] == frame.g.isna().sum()  # nothing is masked


def test_metrics_mask_by_the_same_rule(tmp_path, capsys):
    frame = frame_of(TABLES["plain"])
    facts = json.loads(shown(capsys, command(tmp_path, frame, "metrics", "--json")))
    assert [cell["masked"] for cell in facts["cells"]["cells"]] == [False, False, True, True]
    values = {measure["key"]: measure["value"] for measure in facts["measures"]}
    rest = frame[frame.g.isin(["a", "b"])]
    of_shown = fa.metrics.kpc(rest.label, sensitive=rest.g, y_true=rest.y)
    assert values["kpc"] == pytest.approx(float(of_shown)) == values["codec"]
    text = shown(capsys, command(tmp_path, frame, "metrics"))
    assert "2 groups are masked" in text
    assert "masked" not in shown(capsys, command(tmp_path, frame, "metrics", "--suppress", "0"))


def test_a_plan_does_not_tell_the_groups_of_its_pilot():
    """Share times rows of the pilot was the count of every group, the smallest too."""
    groups = tuple(
        GroupPlan(
            group=f"g = {name}",
            share=sum(own[:2]) / 419,
            rows=1000,
            rows_of_group=round(1000 * sum(own[:2]) / 419),
            rows_by_outcome=(
                ("y = 0", round(1000 * own[0] / 419)),
                ("y = 1", round(1000 * own[1] / 419)),
            ),
            curve=(),
        )
        for name, own in TABLES["plain"].items()
    )
    exact = SamplePlan(
        effect="tpr_gap",
        size=0.3,
        power=0.8,
        alpha=0.05,
        goal="find it",
        groups=groups,
        pilot_rows=419,
        most_rows=2000,
        statistic="kpc",
        seconds=0.1,
    )
    plan = exact.suppressed(FEWEST)
    shares = {group.group: group.share for group in plan.groups}
    assert shares == {"g = a": 0.5, "g = b": 0.35, "g = c": None, "g = d": 0.1}
    assert plan.groups[0].rows_of_group == 500 and plan.groups[2].rows_of_group is None
    for group in plan.groups[:2]:  # parts of the group, none of them 0
        counts = [count for _, count in group.rows_by_outcome]
        assert min(counts) > 0 and abs(sum(counts) - group.rows_of_group) <= 1
    assert plan.rows == exact.rows and "hidden" in plan.render("txt")
    assert exact.suppressed(0) == exact


def test_several_models_are_masked_too(tmp_path, capsys, monkeypatch):
    frame = frame_of(TABLES["plain"])
    (tmp_path / "mine.py").write_text("def f(table):\n    return table['x']\n")
    frame["x"] = np.where(frame.label == 1, 0.9, 0.1)
    monkeypatch.chdir(tmp_path)
    arguments = ["compare", "--models", "mine:f", *command(tmp_path, frame, "")[1:7]]
    record = json.loads(shown(capsys, [*arguments, "--permutations", "19", "--json"]))["models"][0]
    cells = record["audit"]["cells"]["cells"]
    assert [cell["masked"] for cell in cells] == [False, False, True, True]
    assert record["loss"] == round(record["loss"], 2)
    rest = {name: TABLES["plain"][name] for name in "ab"}
    assert record["kpc"] == pytest.approx(audited(rest, power=False).joint.kpc)


def test_a_masked_record_is_verified_and_not_in_vain(tmp_path, capsys):
    frame = frame_of(TABLES["plain"])
    path = tmp_path / "audit.json"
    asked = command(tmp_path, frame, "test", "--permutations", "99", "--report", str(path))
    shown(capsys, asked)
    again = ["verify", str(path), "--data", str(tmp_path / "data.csv")]
    assert cli.main(again) == 0
    capsys.readouterr()
    record = json.loads(path.read_text())
    step = step_of(FEWEST, record["table"]["people"])

    def forged(change):
        copy = json.loads(json.dumps(record))
        change(copy)
        copy["digest"] = digest_of(copy)
        path.write_text(json.dumps(copy))
        status = cli.main(again)
        capsys.readouterr()
        return status

    def moved(what, key, by):
        what[key] += by

    for change in (
        lambda copy: moved(copy["findings"][0], "kpc", step),
        lambda copy: moved(copy["findings"][0], "value", 0.1),
        lambda copy: moved(copy["null"], 7, 0.01),
        lambda copy: moved(copy["gaps"]["gaps"][0], "value", 1e-6),
        lambda copy: moved(copy["cells"]["cells"][0]["estimates"][1], "value", 1e-6),
        lambda copy: copy["capsule"]["options"].update(suppress=0),
    ):
        assert forged(change) == 1
    assert forged(lambda copy: None) == 0


def test_nothing_tells_that_a_masked_group_lacks_an_outcome():
    """Gaps that were listed for one rate only, and a note, told a count of 0."""
    groups = {"a": (300, 200, 70, 150), "b": (250, 250, 50, 200)}
    hidden = ({"c": (0, 4, 0, 0), "d": (22, 19, 9, 9)}, {"c": (2, 4, 1, 0), "d": (20, 19, 9, 9)})
    lacking, whole = (
        audited({**groups, **some}, certify={"deo": 0.1}, power=False) for some in hidden
    )
    shown = [result.suppressed(FEWEST) for result in (lacking, whole)]
    for form in ("txt", "md", "html"):
        said = ["no rows of one outcome" in result.render(form) for result in (lacking, *shown)]
        assert said == [True, False, False]
    assert shown[0].notes == shown[1].notes
    assert [(gap.levels, gap.rate) for gap in shown[0].gaps.gaps] == [
        (gap.levels, gap.rate) for gap in shown[1].gaps.gaps
    ]
    assert "c" not in shown[0].certificates[0].note and shown[0].certificates[0].upper is None


def test_a_record_is_masked_again_without_loss_and_never_loosened():
    result = audited(TABLES["plain"], tolerance={"deo": 0.001, "kpc": 0.0}, certify={"deo": 3.0})
    once = result.suppressed(FEWEST)
    read = fa.AuditResult.from_dict(json.loads(once.render("json")))
    for fewest in (0, 5, FEWEST):
        assert read.suppressed(fewest).to_dict() == once.to_dict()
    stricter = read.suppressed(75)
    assert stricter.cells.masked > once.cells.masked
    assert stricter.joint.kpc is None or stricter.cells.masked < len(stricter.cells.cells)
    assert stricter.verdict == result.verdict


def test_weights_several_rows_and_regression_are_masked_too():
    rng = np.random.default_rng(0)
    frame = frame_of(TABLES["plain"])
    given = {"weights": rng.uniform(0.5, 2, len(frame)), "ids": rng.integers(0, 250, len(frame))}
    for name in given:
        result = fa.audit(
            predictions=frame.label,
            outcome=frame.y,
            sensitive={"g": frame.g},
            permutations=fa.Permutations(n=39),
            **{name: given[name]},
        )
        shown = result.suppressed(FEWEST)
        assert shown.masked and shown.suppressed(FEWEST).to_dict() == shown.to_dict()
        assert all(shown.render(form) for form in ("txt", "html", "md"))
    error = rng.normal(size=len(frame))
    result = fa.audit(
        predictions=frame.y + error,
        outcome=frame.y + rng.normal(size=len(frame)),
        sensitive={"g": frame.g},
        permutations=fa.Permutations(n=39),
    )
    shown = result.suppressed(FEWEST)
    assert shown.masked and shown.joint.kpc == round(shown.joint.kpc, 2)
    classes = fa.audit(
        predictions=error,
        outcome=rng.choice(["x", "y", "z"], len(frame)),
        sensitive={"g": frame.g},
        permutations=fa.Permutations(n=39),
    )
    assert classes.cells is None and classes.suppressed(FEWEST).masked  # nobody knows the sizes
