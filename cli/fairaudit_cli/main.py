"""The `fairaudit` command: finds the sub-command, runs it, turns errors into exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from fairaudit._words import quiet
from fairaudit.errors import FairAuditError, InputError, retold
from fairaudit_cli.errors_for_shell import in_words_of_shell
from fairaudit_cli.examples import make_epilog
from fairaudit_cli.exit_codes import ExitCode
from fairaudit_cli.hints import CommandParser, no_command, reject_left_over, reject_unknown_options
from fairaudit_cli.termination import TOLD, Terminated, heard_termination

__all__ = ["COMMANDS", "complete", "main"]

# Name → one line of help. The module fairaudit_cli.<name> has add_arguments(parser) and
# run(args) -> int; it is imported only when its command is called.
COMMANDS = {
    "test": "test a model or its predictions for equalized odds: verdict, reports, exit status",
    "init": "write the settings of a project and a file for CI",
    "explain": "what a word of the reports means, or what an audit found, in plain words",
    "plan": "how many rows an audit needs to find, or to rule out, a violation of a given size",
    "counts": "count a table where it lies, for an audit of the counts; or print the SQL",
    "metrics": "measure how large the violation is, from a table with predictions",
    "missing": "test and bound what missing or uncertain attributes do to the verdict",
    "report": "show a saved result again, in other formats",
    "verify": "repeat a saved audit and compare every number",
    "sign": "sign a saved result, or write its verdict as a statement of in-toto",
    "remedy": "train a model towards equalized odds, and audit it before and after",
    "compare": "several models on one table, or a candidate against production",
    "monitor": "gather evidence over batches, with an alarm that holds however often you look",
    "demo": "write a model and a lending table, and audit them",
    "reproduce": "run the experiments of the FairICP paper again",
    "completion": "write a script that completes commands, options and names in your shell",
    "doctor": "show what is installed, what is missing and how to install it",
}


LONGEST_MESSAGE = 2_000  # characters

#: Threads of a small matrix product wait for each other longer than they compute: one, unless the
#: user says otherwise. Those of networks and trees (OMP) stay as they are.
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: that of the process) and return its exit status."""
    if argv is None:  # read when numpy is imported, which is later
        for variable in ONE_THREAD:
            os.environ.setdefault(variable, "1")
    for stream in (sys.stdout, sys.stderr):  # a terminal without these characters shows ?
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        try:
            with heard_termination(to_the_end=argv is None):
                return _run(list(sys.argv[1:] if argv is None else argv))
        finally:
            sys.stdout.flush()  # a closed pipe shows here and not when the interpreter ends
    except FairAuditError as error:
        print(f"fairaudit: error: {_one_line(str(error))}", file=sys.stderr)
        return ExitCode.BAD_INPUT
    except Terminated:
        print(TOLD[ExitCode.TERMINATED], file=sys.stderr)
        return ExitCode.TERMINATED
    except KeyboardInterrupt:
        print(TOLD[ExitCode.INTERRUPTED], file=sys.stderr)
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # what is still buffered must not fail again when the interpreter ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.BROKEN_PIPE
    except Exception as error:  # a traceback alone ends with 1, which says "violation"
        import traceback

        print("\n".join(map(quiet, traceback.format_exc().splitlines())), file=sys.stderr)
        text = quiet(" ".join(str(error).split()))
        print(
            f"fairaudit: internal error: {type(error).__name__}: {text}. Please report it with "
            "the lines above; nothing was concluded.",
            file=sys.stderr,
        )
        return ExitCode.BAD_INPUT


def _one_line(text: str) -> str:
    """A message without what a hostile name may do to a terminal or a log."""
    text = " ".join(text.split("\n"))
    text = text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]}…"
    return quiet(
        "".join(
            char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
        )
    )


def _run(argv: list[str]) -> int:
    if argv[:1] == ["help"]:  # `fairaudit help test`
        argv = [*argv[1:2], "--help"]
    called = argv[0] if argv else None
    parser, command = _parsers(called)
    if called is None:  # 0 would let a gate pass that has lost its arguments
        parser.print_help()
        return ExitCode.BAD_INPUT
    if command is None:
        if called not in ("-h", "--help", "--version"):
            raise no_command(called, COMMANDS)
        parser.parse_args(argv[:1])  # which ends here
        raise AssertionError(called)
    reject_unknown_options(command, argv)
    args, left_over = parser.parse_known_args(argv)
    reject_left_over(command, argv, left_over)
    args.argv = argv
    try:
        return int(args.run(args))
    except InputError as error:
        raise retold(error, in_words_of_shell(error, command)) from error


def _parsers(called: str | None) -> tuple[argparse.ArgumentParser, argparse.ArgumentParser | None]:
    """The parser, and that of the command that is called; the others know no arguments."""
    parser = CommandParser(
        prog="fairaudit",
        description="Does a prediction carry information about sensitive attributes that the "
        "true outcome does not explain? (equalized odds)",
        epilog="A first audit: fairaudit test --model model.pkl --data test.csv --sensitive "
        "race,sex (or try fairaudit demo). 'fairaudit COMMAND --help' has examples, 'fairaudit "
        "explain' the words. Exit status: 0 no violation found, 1 violation, 2 bad input, "
        "3 inconclusive.",
        usage="%(prog)s COMMAND [options]",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, prog="fairaudit"
    )
    chosen = None
    for name, line in COMMANDS.items():
        command = commands.add_parser(name, help=line, description=line, allow_abbrev=False)
        if name == called:
            complete(command, name)
            chosen = command
    return parser, chosen


def complete(parser: argparse.ArgumentParser, name: str) -> None:
    """Give the parser of a command its arguments and the help of people."""
    module = import_module(f"fairaudit_cli.{name}")
    module.add_arguments(parser)
    parser.set_defaults(run=module.run)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = make_epilog(name, parser.epilog)
    wanted = [
        f"[{action.metavar}]" if action.nargs == "?" else str(action.metavar)
        for action in parser._actions
        if not action.option_strings
    ]
    parser.usage = " ".join(["%(prog)s", *wanted, "[options]"])


class _Version(argparse.Action):
    """argparse's own wants the text beforehand, and looking it up costs as much as the rest."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        import fairaudit

        print(f"fairaudit {fairaudit.__version__}")
        parser.exit()


if __name__ == "__main__":
    sys.exit(main())
