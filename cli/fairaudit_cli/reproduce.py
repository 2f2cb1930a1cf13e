"""`fairaudit reproduce`: the figures and tables of the FairICP paper, run again."""

from __future__ import annotations

import argparse

from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.option_values import count
from fairaudit_cli.shell_text import command_line

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairaudit.experiments import EXPERIMENTS

    width = max(map(len, EXPERIMENTS))
    parser.epilog = "experiments:\n" + "\n".join(
        f"  {name:<{width}}  {line}" for name, line in EXPERIMENTS.items()
    )
    parser.add_argument("experiment", metavar="EXPERIMENT", help="see below")
    parser.add_argument(
        "--runs", type=count, default=2, metavar="N", help="tables or splits of every cell (2)"
    )
    parser.add_argument("--full", action="store_true", help="as many runs as in the paper")
    parser.add_argument("--jobs", type=count, default=1, metavar="N", help="processes (1)")
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="folder of the data sets; those not there are downloaded into it "
        "(default: $FAIRAUDIT_DATA or ~/.cache/fairaudit)",
    )
    parser.add_argument(
        "--out",
        default="fairaudit-reproduction",
        metavar="DIR",
        help="where tables, pages and figures go (default: ./fairaudit-reproduction)",
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on with what is in --out, or add runs"
    )


def run(args: argparse.Namespace) -> int:
    import os

    from fairaudit.experiments import experiment_named, reproduce
    from fairaudit_cli.progress import ProgressBar

    if args.data is not None:
        os.environ["FAIRAUDIT_DATA"] = args.data  # processes inherit it
    runs = experiment_named(args.experiment).full if args.full else args.runs
    with ProgressBar() as bar:
        written = reproduce(
            args.experiment,
            args.out,
            runs=runs,
            jobs=args.jobs,
            resume=args.resume,
            command=command_line(args.argv),
            progress=bar,
        )
    for path in written:
        print(path)
    return ExitCode.OK
