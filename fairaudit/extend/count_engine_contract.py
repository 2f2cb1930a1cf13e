"""What every engine that counts promises, as a check that its authors can run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit.auditing.engines.counting import Key, make_counts
from fairaudit.auditing.engines.local_engine import LocalEngine
from fairaudit.data.roles import Roles
from fairaudit.errors import InputError
from fairaudit.extend.promises import promise

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["check_count_engine"]

_ROLES = Roles(sensitive=("team", "size", "pay"), predictions=("score",), outcome="paid")


def check_count_engine(
    engine: Any, store: Callable[[pd.DataFrame], Any | tuple[Any, str | None]]
) -> None:
    """Check what audits of counts rely on; an AssertionError says in one line what is wrong.

    Parameters
    ----------
    engine : CountEngine
    store : callable
        Puts a frame where the engine counts. It returns what a caller then passes as data, or that
        and the name of the table.

    Notes
    -----
    Checked are: the columns and the number of rows; counts that are those of the frame in memory
    to the last bit, with missing values, text, bins of scores and of attributes, a threshold, and
    numbers that are close to it; a limit of combinations that is noticed; and data of another kind,
    which are refused in one line.

    Examples
    --------
    >>> from fairaudit.auditing.engines.local_engine import LocalEngine
    >>> check_count_engine(LocalEngine(), lambda frame: frame)
    """
    name = type(engine).__name__
    for method in ("takes", "open"):
        promise(callable(getattr(engine, method, None)), f"{name} has no method {method!r}.")
    frame = _make_frame()
    stored = store(frame)
    data, table = stored if isinstance(stored, tuple) else (stored, None)
    promise(isinstance(engine.takes(data), bool), f"{name}: 'takes' must say True or False.")
    with engine.open(data, table, memory=None) as source:
        promise(
            list(source.columns()) == list(frame.columns),
            f"{name}: 'columns' must give the names of the columns, in order.",
        )
        rows, numbers = source.summarize(list(frame.columns))
        promise(rows == len(frame), f"{name}: 'summarize' counts {rows} rows of {len(frame)}.")
        promise(
            numbers["team"].low is None and numbers["score"].high == frame["score"].max(),
            f"{name}: 'summarize' must give the range of numbers, and None of text.",
        )
        _check_counts(source, frame, name)
        few = source.count([Key("size"), Key("team")], "n", 3)
        promise(len(few) > 3, f"{name}: 'count' must show that there are more than so many.")
    _check_errors(engine, name)


def _make_frame() -> pd.DataFrame:
    import pandas as pd

    rng = np.random.default_rng(0)
    n = 1500
    score = 1 / (1 + np.exp(-rng.normal(size=n)))
    score[:6] = [0.3, np.nextafter(0.3, 0), np.nextafter(0.3, 1), 1e-300, 0.0, 1.0]
    pay = np.exp(3 * rng.normal(size=n))
    pay[7:9] = np.nan
    team = rng.choice(["a", "b", 'it\'s "c"'], n).astype(object)
    team[3] = None
    return pd.DataFrame(
        {
            "paid": rng.integers(0, 2, n),
            "team": team,
            "size": rng.integers(-3, 9, n),
            "pay": pay,
            "score": score,
        }
    )


def _check_counts(source: Any, frame: pd.DataFrame, name: str) -> None:
    import pandas as pd

    roles = _ROLES.resolve(list(frame.columns))
    own = make_counts(source, roles, threshold=0.3)
    with LocalEngine().open(frame) as known:
        wanted = make_counts(known, roles, threshold=0.3)
    promise(own.binned == wanted.binned, f"{name}: its bins are not those of the rows in memory.")
    try:
        pd.testing.assert_frame_equal(own.frame, wanted.frame, check_dtype=False, check_exact=True)
    except AssertionError as error:
        why = " ".join(str(error).split())[:200]
        raise AssertionError(
            f"{name}: its counts are not those of the rows in memory: {why}."
        ) from None


def _check_errors(engine: Any, name: str) -> None:
    try:
        with engine.open(3.5, None, memory=None):
            pass
    except InputError as error:
        promise("\n" not in str(error), f"{name}: its errors have more than one line.")
        return
    except Exception as error:
        raise AssertionError(
            f"{name}: data that it cannot count are a {type(error).__name__} and no InputError."
        ) from error
    raise AssertionError(f"{name}: data that it cannot count (a number) are no error.")
