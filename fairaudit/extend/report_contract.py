"""What every format of reports promises, as a check that its authors can run."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np

import fairaudit as fa
from fairaudit.extend.promises import promise

__all__ = ["check_report"]

_SCRIPT = "<script>alert(1)</script>"
_IMAGE = '"><img src=x onerror=alert(1)>'
_ORDER = "::add-mask::secret"
_TERMINAL = "\x1b[2J"


def check_report(render: Callable[[Any], str], *, markup: bool | None = None) -> None:
    """Check a function from results to text; an AssertionError says in one line what is wrong.

    Parameters
    ----------
    render : callable
        Takes an `AuditResult` and returns a text.
    markup : bool, optional
        Whether a browser may read it. By default so if the text begins with ``<``; pass True
        for Markdown.

    Notes
    -----
    Names and levels come from the audited table and can be anything. Checked are: a text, the
    same for the same result, another for another verdict; results with masked groups, with few
    rows and without rates; names as tags (in markup), as control characters of a terminal, and
    as lines that a CI runner takes for commands.

    Examples
    --------
    >>> check_report(lambda result: f"{result.verdict}: p = {result.p_value}")
    """
    name = getattr(render, "__qualname__", type(render).__name__)
    promise(callable(render), f"{name} is not a function of a result.")
    results = _make_results()
    texts = {what: _render_result(render, result, name, what) for what, result in results.items()}
    promise(
        texts["a violation"] != texts["no violation"],
        f"{name} says the same about a violation and about none.",
    )
    for what, text in texts.items():
        again = _render_result(render, results[what], name, what)
        promise(text == again, f"{name} gives different text for the same result.")
        _check_text(text, name, text.lstrip().startswith("<") if markup is None else markup)


def _render_result(render: Callable[[Any], str], result: Any, name: str, what: str) -> str:
    before, own = result.to_dict(), deepcopy(result)
    try:
        text = render(own)
    except Exception as error:
        message = " ".join(str(error).split())
        raise AssertionError(
            f"{name} fails on {what}: {type(error).__name__}: {message}. Values may be None."
        ) from error
    promise(isinstance(text, str) and text, f"{name} must return text. Got {type(text).__name__}.")
    promise(own.to_dict() == before, f"{name} changes the result.")
    return text


def _check_text(text: str, name: str, markup: bool) -> None:
    strange = {char for char in text if not char.isprintable()} - set("\n\t")
    promise(
        not strange,
        f"{name} prints control characters of names ({', '.join(map(repr, sorted(strange)))}). "
        "Use fairaudit.extend.quiet.",
    )
    promise(
        not any(line.lstrip().startswith(_ORDER) for line in text.splitlines()),
        f"{name} prints a name as a line that a CI runner takes for a command. "
        "Use fairaudit.extend.quiet.",
    )
    promise(
        not markup or not any(tag in text for tag in ("<script>alert", "<img src=x")),
        f"{name} prints names as tags. Escape them (html.escape).",
    )


@cache
def _make_results() -> dict[str, Any]:
    """Results of all sorts, with names that nobody wants to see unescaped."""
    rng = np.random.default_rng(0)
    n = 300
    sex = rng.permutation(n) % 2
    group = np.where(sex == 1, _IMAGE, _ORDER).astype(object)
    group[:4] = f"rare{_TERMINAL}"
    attributes = {f"sex {_SCRIPT}": group, f"age{_TERMINAL}": rng.normal(size=n)}
    merit = rng.normal(size=n)
    labels = (merit + 2.0 * sex > 1).astype(int)

    def audit(predictions: Any, outcome: Any, rows: int = n) -> Any:
        return fa.audit(
            predictions=predictions[:rows],
            outcome=outcome[:rows],
            sensitive={name: values[:rows] for name, values in attributes.items()},
            permutations=fa.Permutations(n=39),
            power=False,
        )

    classes = (merit > 0).astype(int)
    violation = audit(labels, classes)
    return {
        "a violation": violation,
        "no violation": audit((merit + rng.normal(size=n) > 0).astype(int), classes),
        "a result with masked groups": violation.suppressed(10),
        "a result without rates": audit(merit + 2.0 * sex, merit),
        "a result of few rows": audit(labels, classes, rows=30).suppressed(10),
    }
