"""Self-calibration: placebos and planted violations on the user's own table."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from verdicts import verdict_of

import fairaudit as fa
from fairaudit.auditing.audit_result import AuditResult
from fairaudit.evidence.power.power_result import Calibration
from fairaudit_cli.main import main

GOOD = Calibration(
    p_values=(0.5, 0.1), uniform=0.6, alarms=0.05, group="sex = f", shift=0.8, found=1.0, because=""
)


def people(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y, sex = rng.integers(0, 2, (2, n))
    return y + rng.normal(size=n), y, pd.DataFrame({"sex": sex, "age": rng.integers(18, 80, n)})


def test_exact_copies_are_calibrated():
    score, y, frame = people()
    result = fa.audit(
        predictions=score,
        outcome=y,
        sensitive=frame,
        calibrate=True,
        power=False,
        permutations=fa.Permutations(n=99),
    )
    found = result.calibration
    assert found.passed and len(found.p_values) == 99
    assert found.alarms <= 0.15 and found.uniform > 0.01  # a binomial of 99 and .05
    assert found.shift == pytest.approx(0.8, abs=0.1) and found.found >= 0.9
    assert AuditResult.from_dict(json.loads(json.dumps(result.to_dict()))) == result
    for form in ("txt", "md", "html"):
        assert "placebo" in result.render(form).lower()


def test_a_wrong_density_fails_its_placebo():
    """Y given A has two modes; a normal law of Y given A is wrong, and A depends on Y²."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=500)
    a = y**2 + 0.3 * rng.normal(size=500)
    result = fa.audit(
        predictions=y**2 + rng.normal(size=500),
        outcome=y,
        sensitive={"a": a},
        density="ols",
        statistic="kpc",
        calibrate=True,
        power=False,
        permutations=fa.Permutations(n=99),
    )
    assert result.verdict == "inconclusive"
    assert not result.calibration.passed and "placebo failed" in result.calibration.because
    assert result.calibration.alarms > 0.3


@pytest.mark.parametrize("law", ["monotone", pytest.param("prediction", marks=pytest.mark.slow)])
def test_laws_that_move_the_prediction_are_calibrated(law):
    """Their placebos move the attributes, and each planted table has copies of its own."""
    rng = np.random.default_rng(3)
    a, y = rng.normal(size=(2, 900))
    y += a
    result = fa.audit(
        predictions=y + rng.normal(size=900),
        outcome=y,
        sensitive={"a": a, "sex": rng.choice(["f", "m"], 900)},
        law=law,
        calibrate=True,
        permutations=fa.Permutations(n=99),
    )
    found = result.calibration
    assert found.passed and found.uniform > 0.01 and found.alarms <= 0.15
    assert found.shift == pytest.approx(0.8, abs=0.1) and found.found >= 0.8
    assert result.power is None
    assert any("smallest detectable violation" in note and law in note for note in result.notes)


def test_a_table_in_which_nothing_can_be_found_fails():
    score, y, frame = people(40)
    result = fa.audit(
        predictions=score,
        outcome=y,
        sensitive=frame,
        calibrate=True,
        permutations=fa.Permutations(n=99),
    )
    assert result.verdict == "inconclusive" and "planted violation" in result.because
    assert result.calibration.uniform > 0.01


def test_a_failed_placebo_decides():
    bad = replace(GOOD, because="the placebo failed")
    assert verdict_of(calibration=GOOD)[0] == "violation"
    assert verdict_of(calibration=bad) == ("inconclusive", "Inconclusive: the placebo failed.")


def test_command(tmp_path, capsys):
    score, y, frame = people(200)
    frame.assign(y=y, score=score).to_csv(tmp_path / "test.csv", index=False)
    command = [
        "test",
        "--data",
        str(tmp_path / "test.csv"),
        "--predictions",
        "score",
        "--outcome",
        "y",
        "--sensitive",
        "sex",
        "--permutations",
        "99",
    ]
    record = tmp_path / "audit.json"
    assert main([*command, "--calibrate", "--report", str(record)]) == 0
    assert "placebo" in capsys.readouterr().out
    assert main(["verify", str(record), "--data", command[2]]) == 0
    assert main([*command, "--id", "age", "--calibrate"]) == 2
    assert "several rows" in capsys.readouterr().err
    settings = tmp_path / "fairaudit.toml"
    settings.write_text("calibrate = true\npower = false\n")
    assert main([*command, "--config", str(settings), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["calibration"]["because"] == "" and found["power"] is None
