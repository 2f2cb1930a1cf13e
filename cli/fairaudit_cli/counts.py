"""`fairaudit counts`: a table as counts, which an audit needs no more than; or their SQL."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, Any

from fairaudit._words import quiet
from fairaudit.errors import InputError
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.library_calls import roles_from
from fairaudit_cli.option_values import ON, TEXT, option
from fairaudit_cli.options import add_options

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.data.roles import ResolvedRoles

__all__ = ["OPTIONS", "add_arguments", "run"]


def _list_dialects() -> tuple[str, ...]:
    from fairaudit.auditing.engines.sql_counts import DIALECTS

    return tuple(DIALECTS)


OPTIONS = (
    "data",
    "table",
    "engine",
    "predictions",
    "outcome",
    "sensitive",
    "threshold",
    "bins",
    "memory",
    "suppress",
    option("out", TEXT, "FILE", "write the counts (.csv, .parquet) instead of printing them"),
    option("count", TEXT, "NAME", "what the column of counts is called (n)", default="n"),
    option("sql", ON, None, "print the query and count nothing; bins are those of the data given"),
    option(
        "dialect",
        TEXT,
        "NAME",
        "of the query: {names}",
        names=_list_dialects,
        closed=True,
        default="ansi",
    ),
)

#: What `quiet` breaks in sentences; data cannot be changed.
_ORDERS = re.compile(
    r"(?m)^\s*::|##\w*\[|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "A table with counts left empty cannot be audited any more."
    add_options(parser, "counts", OPTIONS)
    parser.set_defaults(suppress=0)


def run(args: argparse.Namespace) -> int:
    from fairaudit.auditing.engines.count_sources import is_database, open_source
    from fairaudit.auditing.engines.counting import choose_keys, make_counts
    from fairaudit.auditing.engines.sql_counts import DIALECTS, write_sql
    from fairaudit.data.reading.write import check_writable

    args.model = None
    roles = roles_from(args)
    if args.out is not None:
        check_writable(args.out)
    told: dict[str, Any] = {"bins": args.bins, "threshold": args.threshold}
    table = None if args.sql and not is_database(args.data) else args.table
    with open_source(args.data, table, engine=args.engine, memory=args.memory) as source:
        resolved = roles.resolve(source.columns())
        if args.sql:
            _, keys, _ = choose_keys(source, resolved, **told)
            table, dialect = args.table or "your_table", DIALECTS[args.dialect]
            query = write_sql(keys, table, dialect, args.count, named=True)
            _print_data(query + ";\n", "The query")
            return ExitCode.OK
        made = make_counts(source, resolved, count=args.count, **told)
    frame = _mask(made.frame, args.count, args.suppress, resolved)
    _write(frame, args.out)
    for name, bins in made.binned.items():
        print(quiet(f"{name}: {bins} bins"), file=sys.stderr)
    rows, shown = int(frame[args.count].sum()), int(frame[args.count].notna().sum())
    print(f"{rows:,} rows in {shown:,} combinations", file=sys.stderr)
    return ExitCode.OK


def _mask(frame: pd.DataFrame, count: str, fewest: int, roles: ResolvedRoles) -> pd.DataFrame:
    """Without counts that show single people; a row of an outcome alone stands for them.

    Sums are known from elsewhere, as from an audit: the rows with an outcome, those of a group
    among them. So the groups of an audit's mask are left out, and of others all counts of an
    outcome where one is small: fewer, or the smallest, could be computed from the sums.
    """
    import numpy as np
    import pandas as pd

    from fairaudit.data.groups import hidden_groups

    if fewest <= 0:
        return frame
    group = frame.groupby(list(roles.sensitive), dropna=False).ngroup().to_numpy()
    outcome = frame.groupby(roles.outcome, dropna=False).ngroup().to_numpy()
    people = np.zeros((outcome.max() + 1, group.max() + 1), dtype=np.int64)
    np.add.at(people, (outcome, group), frame[count].to_numpy())
    hidden = np.tile(
        hidden_groups(np.vstack([people.sum(axis=0), people]), fewest), (len(people), 1)
    )
    few = (frame[count] < fewest).to_numpy()
    hidden[outcome[few], group[few]] = True
    gone = hidden[outcome, group]
    if not gone.any():
        return frame
    print(
        f"Counts below {fewest} are left out, with those of their group that would give them away; "
        "a row without a count stands for them",
        file=sys.stderr,
    )
    rest = pd.DataFrame({roles.outcome: frame[roles.outcome][gone].drop_duplicates()})
    columns = {name: frame[name].astype(object) for name in frame if name != roles.outcome}
    shown = frame.assign(**columns)[~gone]
    masked = pd.concat([shown, rest.reindex(columns=frame.columns).astype(shown.dtypes)])
    return masked.assign(**{count: masked[count].astype("Int64")}).reset_index(drop=True)


def _print_data(text: str, what: str, way_out: str = "") -> None:
    """Data are printed as they are, unless a terminal or a build log would take them for orders."""
    if _ORDERS.search(text):
        raise InputError(
            f"{what} cannot be printed: a name or level holds control characters, or what build "
            f"logs take for commands. Rename it{way_out}."
        )
    sys.stdout.write(text)


def _write(frame: pd.DataFrame, path: str | None) -> None:
    from io import BytesIO

    from fairaudit.data.reading.write import write_bytes, write_text

    if path is None:
        _print_data(frame.to_csv(index=False), "Counts", "; --out FILE writes them")
    elif path.lower().endswith(".csv"):
        write_text(path, frame.to_csv(index=False))
    elif path.lower().endswith((".parquet", ".pq")):
        buffer = BytesIO()
        frame.to_parquet(buffer, index=False)
        write_bytes(path, buffer.getvalue())
    else:
        raise InputError(f"--out {path!r} must end in .csv or .parquet.")
