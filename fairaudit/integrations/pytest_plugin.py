"""Equalized odds as an assertion in a test suite.

    from fairaudit.integrations.pytest_plugin import assert_equalized_odds

    def test_credit_model(model, holdout):
        assert_equalized_odds(model, holdout[FEATURES], holdout["repaid"],
                              sensitive=holdout[["race", "sex", "age"]])

The plugin is loaded by pytest wherever fairaudit is installed. It prints one line per audit at the
end of the run, and the same function as the fixture `assert_equalized_odds`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult

__all__ = ["assert_equalized_odds"]

_MORE = "all of it: fairaudit.audit(…) with the same arguments, then .save('audit.html')"
_audits: list[str] = []  # lines for the end of the run


def assert_equalized_odds(
    model: Any = None,
    X: Any = None,
    y: Any = None,
    *,
    sensitive: Any,
    inconclusive: str = "fail",
    **options: Any,
) -> AuditResult:
    """Audit, and fail the test where the verdict is a violation.

    Parameters
    ----------
    model, X, y, sensitive, **options
        As for `fairaudit.audit`.
    inconclusive : {"fail", "skip"}
        What happens when the audit cannot say. It never passes.

    Returns
    -------
    AuditResult
        For further assertions.
    """
    __tracebackhide__ = True
    from fairaudit._words import quiet
    from fairaudit.auditing.doors import audit
    from fairaudit.auditing.findings import Verdict
    from fairaudit.errors import InputError
    from fairaudit.results import SUPPRESS

    if inconclusive not in ("fail", "skip"):
        raise InputError(
            f"The 'inconclusive' option must be 'fail' or 'skip'. Got {inconclusive!r}."
        )
    result = audit(model, X, y, sensitive=sensitive, **options)
    _audits.append(quiet(f"{result.verdict}: {result.joint.name} (p = {result.p_value})"))
    masked = result.suppressed(SUPPRESS)  # logs are read by many
    brief = str(masked.render("txt", brief=True))
    summary = "\n".join(map(quiet, [*brief.splitlines(), _MORE]))
    if result.verdict is Verdict.VIOLATION:
        pytest.fail(summary, pytrace=False)
    if result.verdict is Verdict.INCONCLUSIVE:
        if inconclusive == "skip":
            pytest.skip(quiet(masked.because))
        pytest.fail(summary, pytrace=False)
    return result


@pytest.fixture(name="assert_equalized_odds")
def _assert_equalized_odds() -> Callable[..., AuditResult]:
    return assert_equalized_odds


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if _audits:
        terminalreporter.section("equalized odds")
        for line in _audits:
            terminalreporter.write_line(line)
