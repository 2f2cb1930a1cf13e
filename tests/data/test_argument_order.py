"""y_true and sensitive by position: a swap is an error, never another number."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest

import fairaudit as fa
from fairaudit.data.argument_order import width_of

RNG = np.random.default_rng(0)
SEX, Y = RNG.integers(0, 2, (2, 200))
SCORE = Y + 0.5 * SEX + RNG.normal(size=200)
LABEL = (SCORE > 0.7).astype(int)
QUICK = {"permutations": fa.Permutations(n=19)}
FUNCTIONS = {
    **{name: (getattr(fa.metrics, name), {}) for name in fa.metrics.__all__},
    "equalized_odds_test": (fa.equalized_odds_test, QUICK),
    "gap_intervals": (fa.gap_intervals, {}),
    "certify": (fa.certify, {"limits": {"deo": 0.5}}),
    "audit_incomplete": (fa.audit_incomplete, QUICK),
}


def said(name):
    return SCORE if name in ("kpc", "kpc_rkhs", "codec", "hgr", "group_errors") else LABEL


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_positional_swap_is_an_error_and_never_another_number(name):
    """equalized_odds_test takes (score, y, A), the measures (score, A, y)."""
    function, options = FUNCTIONS[name]
    outcome = SCORE + 1.0 if name == "group_errors" else Y
    first, second = list(inspect.signature(function).parameters)[1:3]
    values = {"sensitive": {"sex": SEX}, "y_true": outcome}
    right = function(said(name), values[first], values[second], **options)
    named = function(said(name), sensitive={"sex": SEX}, y_true=outcome, **options)
    if hasattr(right, "value"):
        assert right.value == named.value
    elif hasattr(right, "p_value"):
        assert right.p_value == named.p_value
    with pytest.raises(fa.InputError, match=rf"swapped.*{name}\(y_pred, {first}=…, {second}=…\)"):
        function(said(name), values[second], values[first], **options)
    for pair in ((SEX, outcome), (outcome, SEX)):  # nothing tells them apart
        with pytest.raises(fa.InputError, match=rf"{name}\(y_pred, {first}=…, {second}=…\)"):
            function(said(name), *pair, **options)


def test_every_public_function_with_both_arguments_refuses_swaps():
    """A new measure cannot be forgotten."""
    for name in [*fa.metrics.__all__, *fa.__all__]:
        function = getattr(fa.metrics, name, None) or getattr(fa, name)
        if not inspect.isfunction(function):
            continue
        positional = [
            parameter.name
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        ]
        if {"sensitive", "y_true"} <= set(positional):
            assert function.__wrapped__ is not None, name


@pytest.mark.parametrize(
    ("sensitive", "outcome", "fine"),
    [
        (pd.DataFrame({"sex": SEX}), Y, True),
        (pd.DataFrame({"sex": SEX, "a": Y}), pd.DataFrame({"y": Y}), True),
        (np.column_stack([SEX, SEX]), Y, True),
        (np.column_stack([SEX]), Y.tolist(), True),
        (pd.DataFrame({"sex": SEX}), pd.DataFrame({"y": Y}), False),
        (pd.Series(SEX, name="sex"), pd.Series(Y, name="y"), False),
        (SEX.tolist(), Y.tolist(), False),
    ],
)
def test_positions_are_taken_where_the_values_tell_which_is_which(sensitive, outcome, fine):
    if fine:
        found = fa.metrics.deo(LABEL, sensitive, outcome)
        assert found.value == fa.metrics.deo(LABEL, sensitive=sensitive, y_true=outcome).value
    else:
        with pytest.raises(fa.InputError, match="Name them"):
            fa.metrics.deo(LABEL, sensitive, outcome)


def test_without_an_outcome_there_is_nothing_to_swap():
    assert float(fa.metrics.kpc(SCORE, SEX)) == float(fa.metrics.kpc(SCORE, SEX, None))


def test_widths():
    table = fa.AuditTable.of(LABEL, {"sex": SEX, "b": Y}, Y)
    assert width_of(table.outcome) == 0 and width_of(table.attributes) == 2
    assert width_of(table.attributes[:1]) == 1 and width_of([[1, 2], [3]]) == 0
