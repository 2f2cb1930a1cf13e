"""`fairaudit completion`: a script that completes commands, options and names in a shell."""

from __future__ import annotations

import argparse

from fairaudit.errors import InputError, MissingDependencyError
from fairaudit_cli.exit_codes import ExitCode

__all__ = ["add_arguments", "run"]

_SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")
_FILES = ("FILE", "AUDIT.JSON", "RECORD.JSON", "KEY", "TERM|AUDIT.JSON")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "The script is written once and starts no Python when a key is pressed; write it again "
        "after an update. It needs shtab: pip install shtab."
    )
    parser.add_argument(
        "shell", metavar="SHELL", nargs="?", choices=_SHELLS, help=", ".join(_SHELLS)
    )


def run(args: argparse.Namespace) -> int:
    if args.shell is None:
        raise InputError(f"For which shell? Use one of: {', '.join(_SHELLS)}.")
    try:
        import shtab
    except ImportError:
        raise MissingDependencyError(
            "Completion needs shtab. Install it: pip install shtab"
        ) from None
    print(shtab.complete(_whole_parser(shtab), shell=args.shell))
    return ExitCode.OK


def _whole_parser(shtab: object) -> argparse.ArgumentParser:
    """All commands with all of their arguments; files and names are completed too."""
    from fairaudit_cli.main import COMMANDS, complete
    from fairaudit_cli.options import TABLE

    parser = argparse.ArgumentParser(prog="fairaudit")
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    commands = parser.add_subparsers()
    named = {entry.dest: entry.names for entry in TABLE.values() if entry.names is not None}
    for name, line in COMMANDS.items():
        command = commands.add_parser(name, help=line, description=line)
        complete(command, name)
        for action in command._actions:
            if action.metavar == "DIR":
                action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
            elif action.metavar in _FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
            elif action.choices is None and action.dest in named:
                action.choices = named[action.dest]()
    return parser
