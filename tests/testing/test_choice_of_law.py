"""Which law the copies follow: by attributes and outcome, never by the prediction."""

from __future__ import annotations

import numpy as np
import pytest

import fairaudit as fa
from fairaudit.data.table import AuditTable
from fairaudit.permute.laws import LAWS
from fairaudit.permute.local import Local
from fairaudit.testing import choice_of_law
from fairaudit.testing.choice_of_law import ChoiceOfLaw, prepare_copies
from fairaudit.testing.core import run_test

FEW = fa.Permutations(n=19)


def draw_gaussian(n=200, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, 2))
    y = a[:, 0] + rng.normal(size=n)
    return y + rng.normal(size=n), y, a


def draw_hard_null(n=400, seed=0):
    """He et al., NeurIPS 2025: no family of densities here follows the outcome given exp(Y)."""
    rng = np.random.default_rng(seed)
    y, e, f = rng.normal(size=(3, n))
    return np.cos(y) + 0.1 * e, y, np.exp(y) + 0.1 * f


def ask(drawn, **options):
    u, y, a = drawn
    return fa.equalized_odds_test(u, y_true=y, sensitive=a, permutations=FEW, **options)


def test_a_gaussian_table_has_icp_and_a_local_witness():
    trust = ask(draw_gaussian()).diagnostics
    assert (trust.law, trust.fit, trust.trustworthy) == ("fitted", "cross-fitted", True)
    assert trust.copy_check > 0.01 and trust.calibration > 0.001 and trust.scores
    assert trust.witness_by.startswith("local (blocks of ") and 0 < trust.witness_p <= 1


def test_the_hard_null_has_an_answer_and_the_reason_for_its_law():
    result = ask(draw_hard_null())
    trust = result.diagnostics
    assert (trust.law, trust.trustworthy, result.inconclusive) == ("local", True, None)
    assert "density" in trust.because and "neighbors in the outcome" in trust.because
    assert (trust.copy_check, trust.calibration, trust.fit) == (None, None, "")
    assert (trust.witness_by, trust.witness_p) == ("", None)
    assert "so closely" in trust.because
    assert ask(draw_hard_null(), law="icp").diagnostics.law == "fitted"  # it is used if named


def test_a_pattern_that_plain_regressions_leave_has_local_copies():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(400, 2))
    e = rng.gamma(2.0, size=400) - 2
    y = 0.5 * a[:, 0] + np.where(a[:, 1] > 0, e, -e)
    drawn = y + rng.normal(size=400), y, a
    trust = ask(drawn).diagnostics
    assert trust.law == "local" and "leave a pattern in its spread or shape" in trust.because
    costly = ask(drawn, law="icp").diagnostics  # a law that is named searches further
    assert costly.law == "fitted" and any("mixture" in family for family in costly.scores)


def test_people_with_several_rows_have_local_copies():
    u, y, a = draw_gaussian()
    people = np.arange(200) // 2
    trust = ask((u, y, a[people]), groups=people).diagnostics
    assert trust.law == "local" and "people have several" in trust.because
    one_each = ask((u, y, a), groups=np.arange(200)).diagnostics
    assert one_each.law == "fitted"


def test_very_many_and_very_few_rows_have_local_copies(monkeypatch):
    monkeypatch.setattr(choice_of_law, "MOST_ROWS_TO_FIT", 199)
    trust = ask(draw_gaussian()).diagnostics
    assert trust.law == "local" and "more than 199 rows" in trust.because
    few = AuditTable.of(*[draw_gaussian(19)[k] for k in (0, 2, 1)])
    assert prepare_copies(few, ChoiceOfLaw(), FEW).reason == "19 rows are too few to fit a density"


def test_a_named_density_is_used_whatever_its_checks_say():
    result = ask(draw_hard_null(), density="ols")
    trust = result.diagnostics
    assert (trust.law, trust.family, trust.trustworthy) == ("fitted", "gaussian (ols)", False)
    assert trust.witness_by == "" and result.inconclusive is not None


def test_a_given_table_is_what_the_density_is_fitted_on():
    _, y, a = draw_gaussian(seed=1)
    trust = ask(draw_gaussian(), density_data=(y, a)).diagnostics
    assert (trust.law, trust.fit) == ("fitted", "given table")


@pytest.mark.parametrize(
    ("law", "kind"),
    [("icp", "fitted"), ("local", "local"), ("cp", "fitted"), (Local(size=4), "local")],
)
def test_a_named_law_is_that_law(law, kind):
    trust = ask(draw_gaussian(), law=law).diagnostics
    assert trust.law == kind and trust.witness_by == ""
    if isinstance(law, Local):
        assert trust.copies_by == "local (blocks of 4 neighbors in the outcome)"


@pytest.mark.parametrize(
    ("law", "kind"),
    [("auto", "exact"), ("exact", "exact"), ("icp", "exact"), ("randomization", "resampled")],
)
def test_classes_are_permuted_exactly_unless_another_law_is_named(law, kind):
    u, y, a = draw_gaussian()
    trust = ask((u, (y > 0).astype(int), a), law=law).diagnostics
    assert (trust.law, trust.witness_by) == (kind, "")
    assert not ChoiceOfLaw().fits_nothing(AuditTable.of(u, a, (y > 0).astype(int)))


def test_what_does_not_go_together_is_refused_in_one_line():
    with pytest.raises(fa.InputError) as refused:
        ask(draw_gaussian(), law="local", density="ols")
    message = str(refused.value)
    assert "'local' takes no density" in message and "\n" not in message
    assert refused.value.argument == ("density", "law")
    with pytest.raises(fa.InputError, match=r"must be one of .*local.*Got 'locl'"):
        ChoiceOfLaw("locl")
    assert ChoiceOfLaw("icp", "ols").density == "ols"
    u, y, a = draw_gaussian()
    with pytest.raises(fa.InputError, match="'local' is for a continuous outcome"):
        ask((u, y > 0, a), law="local")


def test_every_law_has_a_name_and_the_protocol():
    assert {"exact", "icp", "local", "cp", "randomization"} <= set(LAWS.names())
    for name in LAWS.names():
        assert callable(LAWS.get(name).prepare)


@pytest.mark.parametrize("draw", [draw_gaussian, draw_hard_null])
def test_the_choice_does_not_look_at_the_prediction(draw):
    u, y, a = draw()
    other = np.random.default_rng(9).permutation(u) + 3 * (a if a.ndim == 1 else a[:, 0])
    found = [
        prepare_copies(AuditTable.of(prediction, a, y), ChoiceOfLaw(), FEW)
        for prediction in (u, other)
    ]
    assert found[0].law == found[1].law and found[0].reason == found[1].reason
    copies = [fitted.sampler.block(range(30)) for fitted in found]
    assert np.array_equal(*copies)
    if found[0].witness is not None:
        assert np.array_equal(*(fitted.witness.sampler.block(range(30)) for fitted in found))


def test_copies_that_were_looked_at_for_the_choice_are_those_of_the_test():
    """Beyond those that are remembered too."""
    u, y, a = draw_gaussian(60)
    table = AuditTable.of(u, a, y)
    many = fa.Permutations(n=249)
    chosen = prepare_copies(table, ChoiceOfLaw(), many).sampler
    named = prepare_copies(table, ChoiceOfLaw("icp"), many).sampler
    for numbers in (range(5), range(190, 210), range(240, 249)):
        assert np.array_equal(chosen.block(numbers), named.block(numbers))
    by_choice = run_test(table, statistic="kpc", permutations=many)
    by_name = run_test(table, statistic="kpc", permutations=many, choice=ChoiceOfLaw("icp"))
    assert by_choice.p_value == by_name.p_value


def test_the_witness_is_the_test_by_its_law():
    drawn = draw_gaussian()
    witness = ask(drawn, statistic="kpc").diagnostics.witness_p
    u, y, a = drawn
    local = fa.equalized_odds_test(
        u, y_true=y, sensitive=a, statistic="kpc", law="local", permutations=fa.Permutations(n=99)
    )
    assert witness == local.p_value
