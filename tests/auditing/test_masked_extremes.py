"""Where groups are masked, no record shows the exact lowest and highest values of a column."""

import json
import re

import numpy as np
import pytest

import fairaudit as fa

EXACT = 4  # digits


def leaves(value, path=""):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}")
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from leaves(item, f"{path}[{place}]")
    else:
        yield path, value


def audited(kind):
    rng = np.random.default_rng(3)
    n = 400
    age = rng.normal(40, 12, n).round(4)
    y = rng.integers(0, 2, n) if kind == "classes" else rng.normal(size=n).round(4)
    score = (y + 0.3 * rng.normal(size=n)).round(4)
    numbers = {"age": age, "score": score} | ({} if kind == "classes" else {"y": y})
    return numbers, fa.audit(
        predictions=score,
        outcome=y,
        sensitive={"g": rng.choice(["a", "b", "c"], n, p=[0.5, 0.494, 0.006]), "age": age},
        permutations=fa.Permutations(n=19),
        power=False,
    )


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_the_ends_of_columns_are_rounded(kind):
    numbers, result = audited(kind)
    masked = result.suppressed(10)
    assert masked.masked
    ends = {
        float(f"{value:.{EXACT}g}"): name
        for name, values in numbers.items()
        for value in (values.min(), values.max())
    }
    shown = {
        path: text
        for path, text in leaves(json.loads(masked.render("json")))
        for number in re.findall(r"-?\d+\.\d+", str(text))
        if float(f"{float(number):.{EXACT}g}") in ends
    }
    assert not shown
    low, high = masked.table.attributes[1].low, masked.table.attributes[1].high
    assert low < numbers["age"].min() and high > numbers["age"].max()
    assert masked.suppressed(10).render("json") == masked.render("json")
    assert result.table.attributes[1].low == numbers["age"].min()  # nothing is masked there
