"""Questions behind a gate that no density could answer follow its law, and fit nothing."""

import numpy as np
import pandas as pd

import fairaudit as fa
from fairaudit.auditing import table_rows

FEW = fa.Permutations(n=99)


def audit(outcome, monkeypatch, **options):
    """The result, and for how many attributes copies were prepared, by which law asked for."""
    rng = np.random.default_rng(0)
    n = len(outcome)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "race": rng.choice(list("abc"), n)})
    asked = []
    prepare = table_rows.prepare_copies

    def listen(table, choice, permutations, **more):
        asked.append((len(table.attributes), choice.law))
        return prepare(table, choice, permutations, **more)

    monkeypatch.setattr(table_rows, "prepare_copies", listen)
    predicted = outcome + rng.normal(size=n)
    result = fa.audit(
        predictions=predicted,
        outcome=outcome,
        sensitive=frame,
        permutations=FEW,
        power=False,
        locate=False,
        **options,
    )
    return result, asked


def test_nothing_is_fitted_twice_where_the_gate_is_local(monkeypatch):
    rng = np.random.default_rng(1)
    few_values = np.round(rng.gamma(0.3, 1, 600), 1) * rng.choice([0, 1, 50], 600)
    monkeypatch.setattr(
        "fairaudit.testing.choice_of_law._find_fault", lambda *_: "a fault that was planted"
    )
    result, asked = audit(few_values, monkeypatch)
    assert asked == [(2, "auto"), (2, "local")]
    assert {finding.copies_by.split()[0] for finding in result.findings} == {"local"}
    assert len(result.findings) > 3 and result.quality.law == "local"


def test_a_density_that_is_trusted_is_fitted_for_every_question(monkeypatch):
    result, asked = audit(np.random.default_rng(2).normal(size=600), monkeypatch)
    assert result.quality.law == "fitted"
    assert all(law == "auto" for _, law in asked) and len(asked) > 2
