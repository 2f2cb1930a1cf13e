"""`where="age > 18 and race in ('a', 'b')"`: a condition on rows, with nothing executed.

The text is parsed, not run: names are columns (in backticks if they hold spaces), and only
comparisons, `and`, `or`, `not`, `in`, arithmetic and constants are understood.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit.data.roles import unknown_column
from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["rows_where"]

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}


def rows_where(frame: pd.DataFrame, text: str) -> np.ndarray:
    """Mask of the rows that meet the condition.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [17, 30, 45], "sex": ["f", "m", "f"]})
    >>> rows_where(frame, "age > 18 and sex == 'f'").tolist()
    [False, False, True]
    """
    quoted = dict(enumerate(re.findall(r"`([^`]+)`", text)))
    plain = text
    for number, name in quoted.items():
        plain = plain.replace(f"`{name}`", f"_quoted_{number}_", 1)
    try:
        tree = ast.parse(plain.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError(
            f"'where' {text!r} is not a condition. Write for example \"age > 18 and sex == 'f'\".",
            argument="where",
        ) from None
    names = {f"_quoted_{number}_": name for number, name in quoted.items()}
    try:
        mask = _value(tree, frame, names)
    except InputError:
        raise
    except (TypeError, ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        why = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"'where' {text!r} compares values that do not fit together: {why}.", argument="where"
        ) from None
    if getattr(mask, "dtype", None) is None or np.asarray(mask).shape != (len(frame),):
        raise InputError(
            f"'where' {text!r} names no column. Compare a column with something.", argument="where"
        )
    mask = _truth(mask)
    return mask


def _value(node: ast.expr, frame: pd.DataFrame, names: dict[str, str]) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str)):
        return node.value
    if isinstance(node, ast.Name):
        name = names.get(node.id, node.id)
        if name not in frame.columns:
            raise InputError(unknown_column(name, list(frame.columns)))
        return frame[name]
    if isinstance(node, (ast.Tuple, ast.List)):
        return [_value(item, frame, names) for item in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ~_truth(_value(node.operand, frame, names))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, frame, names)
    if isinstance(node, ast.BoolOp):
        parts = [_truth(_value(item, frame, names)) for item in node.values]
        combine = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
        return combine.reduce(parts)
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        left, right = _value(node.left, frame, names), _value(node.right, frame, names)
        return _ARITHMETIC[type(node.op)](left, right)
    if isinstance(node, ast.Compare):
        return _comparison(node, frame, names)
    raise InputError(
        f"'where' understands comparisons, and, or, not, in and arithmetic; not "
        f"{ast.unparse(node)!r}.",
        argument="where",
    )


def _comparison(node: ast.Compare, frame: pd.DataFrame, names: dict[str, str]) -> Any:
    result: Any = True
    left = _value(node.left, frame, names)
    for test, item in zip(node.ops, node.comparators, strict=True):
        right = _value(item, frame, names)
        if isinstance(test, (ast.In, ast.NotIn)):
            if not hasattr(left, "isin") or hasattr(right, "isin"):
                raise InputError(
                    f"'where' {ast.unparse(node)!r}: write a column, then in, then values, as in "
                    "race in ('a', 'b').",
                    argument="where",
                )
            inside = left.isin(right if isinstance(right, list) else [right]).to_numpy()
            part = ~inside if isinstance(test, ast.NotIn) else inside
        elif type(test) in _COMPARE:
            part = np.asarray(_COMPARE[type(test)](left, right))
        else:
            raise InputError(
                f"'where' does not understand {ast.unparse(node)!r}.", argument="where"
            )
        result = np.logical_and(result, part)
        left = right
    return result


def _truth(value: Any) -> Any:
    """A condition; a column of other values than true and false is none."""
    values = np.asarray(value)
    if values.dtype != bool:
        raise InputError(
            "'where' needs conditions that are true or false. Compare each column with something, "
            "as in age > 18.",
            argument="where",
        )
    return values
