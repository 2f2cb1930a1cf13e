"""What the library says about its parameters, in the options of the command that was called."""

from __future__ import annotations

import argparse
import re

from fairaudit.errors import InputError

__all__ = ["in_words_of_shell"]


def in_words_of_shell(error: InputError, parser: argparse.ArgumentParser) -> str:
    """The message, with ``'permutations'`` as ``--permutations`` if the error is about it.

    Parameters
    ----------
    error : InputError
        Its `argument` names the parameters; other words in quotes are names of columns.
    parser : argparse.ArgumentParser
        Of the command: a parameter that it does not have stays as it is.
    """
    from fairaudit_cli.options import TABLE

    flags = {
        action.dest: flag
        for action in parser._actions
        for flag in action.option_strings
        if flag.startswith("--")
    }
    known = (entry for entry in TABLE.values() if entry.dest in flags)
    flags |= {entry.parameter: entry.flag for entry in known}
    text = str(error)
    named = error.argument or ()
    for name in (named,) if isinstance(named, str) else named:
        flag = flags.get(name)
        if flag is not None:
            text = re.sub(rf"(?<!olumn )'{re.escape(name)}'", flag, text)
    return text
