"""`check_report` sees every kind of broken report."""

from __future__ import annotations

import pytest

from fairaudit.extend import check_report, quiet


def told_by(finding):
    return quiet(f"{finding.name} {finding.p_value}")


def in_full(result):
    return "\n".join([str(result.verdict), *map(told_by, result.findings)])


def counted(texts=[]):  # noqa: B006
    texts.append("")
    return len(texts)


def levels(result):
    found = [level for column in result.table.attributes for level in column.levels]
    return "\n".join([str(result.verdict), *filter(str.isprintable, found)])


@pytest.mark.parametrize(
    ("render", "told"),
    [
        ("text", "not a function"),
        (lambda result: None, "must return text. Got NoneType"),
        (lambda result: "fair", "says the same about a violation and about none"),
        (lambda result: f"{result.verdict} {counted()}", "different text for the same result"),
        (lambda result: f"{result.verdict} {1 / result.cells.cells[0].n}", "fails on .* None"),
        (lambda result: f"{in_full(result)} {result.findings[0].name}", "control characters"),
        (levels, "takes for a command"),
        (lambda result: f"<p>{in_full(result)}</p>", "prints names as tags"),
        (lambda result: result.capsule.options.clear() or in_full(result), "changes the result"),
    ],
)
def test_a_broken_report_is_seen(render, told):
    with pytest.raises(AssertionError, match=told):
        check_report(render)


def test_a_sound_report_passes():
    check_report(in_full)
    with pytest.raises(AssertionError, match="prints names as tags"):
        check_report(in_full, markup=True)
