"""How an audit is repeated: the command that was run, or the call in Python."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from fairaudit._words import quiet

if TYPE_CHECKING:
    from fairaudit.auditing.audit_result import AuditResult
    from fairaudit.auditing.findings import Capsule

__all__ = ["SHELL_WORD", "steps_text", "wrap_command", "write_python_call"]

#: Of a shell: what no space outside of quotation marks divides.
SHELL_WORD = re.compile(r"""(?:\$'(?:\\.|[^'\\])*'|'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s])+""")


def wrap_command(command: str, width: int) -> list[str]:
    r"""A command in lines that a shell joins again.

    Examples
    --------
    >>> print("\n".join(wrap_command("fairaudit test --data test.csv", 20)))
    fairaudit test \
      --data test.csv
    """
    lines: list[str] = []
    for word in SHELL_WORD.findall(quiet(command)):
        if lines and len(lines[-1]) + 1 + len(word) <= width - 2:
            lines[-1] += f" {word}"
        else:
            lines.append(f"  {word}" if lines else word)
    return [*(f"{line} \\" for line in lines[:-1]), *lines[-1:]]


def steps_text(capsule: Capsule) -> str:
    """The steps between data and copies, as they were asked for."""
    return "as many steps as needed" if capsule.steps is None else f"{capsule.steps:,} steps"


def write_python_call(result: AuditResult) -> str:
    """The call of `fairaudit.audit` that repeats a result made in Python.

    Names stand for what the report does not hold: model, X, y, A (the attributes), predictions.
    """
    arguments = ",\n".join(f"    {argument}" for argument in _list_arguments(result))
    return f"import fairaudit as fa\n\nresult = fa.audit(\n{arguments},\n)"


def _list_arguments(result: AuditResult) -> Iterator[str]:
    from fairaudit.auditing.audit_plan import Plan
    from fairaudit.auditing.doors import audit

    capsule, table = result.capsule, result.table
    options = dict(capsule.options)
    by_name = "sensitive" in options  # in shards
    if capsule.model is not None:
        yield "model"
    if capsule.model is not None or by_name:
        yield "X" if capsule.model is not None else "X=X"
    if not by_name:
        yield "y" if capsule.model is not None else "predictions=predictions"
        if capsule.model is None:
            yield "outcome=y"
        yield "sensitive=A"
        yield from (f"{name}={name}" for name in ("weights", "ids") if getattr(table, name))
    named = inspect.signature(audit).parameters.values()
    defaults = {setting.name: setting.default for setting in fields(Plan)}
    defaults |= {parameter.name: parameter.default for parameter in named}
    for name, default in defaults.items():
        value = options.get(name)
        if value == default or value in (None, [], {}):
            continue
        yield f"{name}={_write_literal(name, value)}"
    settings = f"n={capsule.copies}, seed={capsule.seed}"
    if capsule.steps is not None:
        settings += f", steps={capsule.steps}"
    for rule in ("stop_after", "settle_at"):
        if options.get(rule) is not None:
            settings += f", {rule}={options[rule]}"
    yield f"permutations=fa.Permutations({settings})"


def _write_literal(name: str, value: Any) -> str:
    """A value as Python, or the name of what the caller has to pass again."""
    if name in ("statistic", "density", "engine"):
        names = [_find_name(name, item) for item in (value if isinstance(value, list) else [value])]
        if None in names:
            return name
        value = names if isinstance(value, list) else names[0]
    return repr(value)


def _find_name(option: str, item: Any) -> str | None:
    """The name by which a statistic or density was asked for, if there is one."""
    from fairaudit.auditing.engines import ENGINES
    from fairaudit.density import density_names
    from fairaudit.testing.statistic import STATISTICS

    if option == "engine":
        return item["name"] if item.get("name") in ENGINES.names() else None
    if isinstance(item, dict):  # an object; or a name that a package added
        return str(item["name"]) if "package" in item else None
    names = density_names() if option == "density" else STATISTICS.names()
    return item if item in names else None
