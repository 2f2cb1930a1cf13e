"""Text between us and the shell: the command as it was typed, JSON on standard output."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fairaudit._words import quiet

__all__ = ["command_line", "print_json", "split_line"]

#: A word as a shell reads it and `command_line` writes it.
_WORD = re.compile(r"""(?:\$'(?:[^'\\]|\\.)*'|(?:[\w@%+=:,./-]|'[^']*'|"'")+)(?= |\Z)""", re.ASCII)


def command_line(words: Iterable[str]) -> str:
    r"""`fairaudit` with these words, as a shell reads them; on one line, whatever they hold.

    Examples
    --------
    >>> print(command_line(["test", "--model", "my model.pkl", "--outcome", "a\nb"]))
    fairaudit test --model 'my model.pkl' --outcome $'a\x0ab'
    """
    return " ".join(["fairaudit", *map(_quoted, words)])


def split_line(line: str) -> list[str] | None:
    r"""The words of a line that `command_line` wrote, without the first; None for any other.

    So a line with words is one command, whatever a shell makes of other lines.

    Examples
    --------
    >>> split_line(r"fairaudit test --model 'my model.pkl' --outcome $'a\x0ab'")
    ['test', '--model', 'my model.pkl', '--outcome', 'a\nb']
    >>> split_line("fairaudit test --data $(id)"), split_line("fairaudit test; id")
    (None, None)
    """
    words = [_unquoted(word) for word in _WORD.findall(line)[1:]]
    return words if command_line(words) == line else None


def _unquoted(word: str) -> str:
    import shlex

    if not word.startswith("$"):
        return "".join(shlex.split(word))
    data = re.sub(
        rb"\\(?:x([0-9a-f]{2})|(.))",
        lambda match: bytes.fromhex(match[1].decode()) if match[1] else match[2],
        word[2:-1].encode("utf-8", "surrogateescape"),
    )
    return data.decode("utf-8", "surrogateescape")


def _quoted(word: str) -> str:
    import shlex

    if quiet(word) == word:
        return shlex.quote(word)
    orders = {"::": r"\x3a:", "##": r"\x23#"}  # to the log of a CI runner
    parts = (
        char.replace("\\", r"\\").replace("'", r"\'")
        if char.isprintable()
        else "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))
        for char in word
    )
    text = re.sub("::|##", lambda match: orders[match[0]], "".join(parts))
    return f"$'{text}'"


def print_json(text: str) -> None:
    """JSON to standard output, with escapes where the terminal or a log would stumble."""
    import json
    import sys

    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text), indent=2)
    # the same to a reader of JSON; runners look for commands in the middle of a line too
    text = text.replace("##", "#\\u0023")
    strange = {char for char in set(text) if not char.isprintable()} - {"\n"}
    for char in strange:
        text = text.replace(char, json.dumps(char)[1:-1])
    print(text.rstrip("\n"))
