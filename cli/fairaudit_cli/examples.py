"""Command lines that the help of every command ends with."""

from __future__ import annotations

import textwrap

__all__ = ["EXAMPLES", "make_epilog"]

_WIDTH = 88

#: Command → what a line does, and the line.
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "test": (
        ("a model file and a table", "--model model.pkl --data test.csv --sensitive race,sex,age"),
        (
            "predictions that are a column, and a report",
            "--predictions score --data scored.csv --sensitive sex --outcome repaid "
            "--report audit.html",
        ),
        (
            "a gate: small effects are a note",
            "--model model.pkl --data test.csv --sensitive sex --tolerance deo=0.1 --report "
            "audit.xml",
        ),
    ),
    "init": (
        ("look around, ask, write the settings and a CI file", ""),
        (
            "without questions",
            "--model model.pkl --data test.csv --sensitive race,sex --outcome repaid --ci gitlab",
        ),
    ),
    "explain": (
        ("a word of the reports", "kpc"),
        ("what an audit found, and what to do", "audit.json"),
        ("all words", ""),
    ),
    "plan": (
        (
            "rows to find a gap of 10 points",
            "--data test.csv --sensitive race,sex --outcome repaid --predictions score "
            "--effect tpr_gap=0.1",
        ),
    ),
    "counts": (
        (
            "count files; the counts are audited by fairaudit test --counts n",
            "--data 'scored/*.parquet' --predictions score --outcome repaid --sensitive race,sex "
            "--out counts.csv",
        ),
        (
            "the query, for a warehouse that has the same table",
            "--data sample.parquet --predictions score --outcome repaid --sensitive race,sex "
            "--sql --table lending.loans",
        ),
    ),
    "metrics": (
        (
            "sizes alone, as JSON",
            "--data scored.csv --sensitive race,sex --predictions score --outcome repaid --json",
        ),
    ),
    "missing": (
        ("race is missing for some", "--model model.pkl --data test.csv --sensitive race,sex"),
    ),
    "report": (
        ("on the terminal", "audit.json"),
        ("as pages", "audit.json --to html,md --out reports"),
    ),
    "verify": (("the same numbers?", "audit.json --model model.pkl --data test.csv"),),
    "sign": (("sign a record", "audit.json --key key.pem"),),
    "remedy": (
        (
            "search for a model that passes",
            "--data train.csv --model model.pkl --sensitive race,sex --outcome repaid "
            "--out fairer.pkl --report remedy.html",
        ),
    ),
    "compare": (
        (
            "may the candidate replace the model?",
            "--baseline model.pkl --candidate new.pkl --data test.csv --sensitive race,sex",
        ),
        ("several models", "--models model.pkl new.pkl --data test.csv --sensitive race,sex"),
    ),
    "monitor": (
        (
            "the batch of a month",
            "--state state.json --data may.csv --model model.pkl --sensitive race,sex",
        ),
        ("what has been seen so far", "--state state.json"),
    ),
    "completion": (
        ("bash", "bash > ~/.local/share/bash-completion/completions/fairaudit"),
        ("zsh (a folder of $fpath)", "zsh > ~/.zfunc/_fairaudit"),
    ),
    "demo": (("classes", ""), ("numbers", "--regression")),
    "reproduce": (("table 1 of the paper, two splits", "table1 --runs 2"),),
    "doctor": (("what is installed", ""),),
}


def make_epilog(command: str, text: str | None) -> str:
    """The examples of a command, and what else its help says, ready to be shown as it is."""
    lines = ["examples:"]
    for words, rest in EXAMPLES[command]:
        call = " ".join(part for part in ("fairaudit", command, rest) if part)
        first, *others = textwrap.wrap(
            call, _WIDTH - 6, break_long_words=False, break_on_hyphens=False
        )
        lines += [f"  # {words}", *(f"  {line}" for line in _continue_lines(first, others))]
    if text:
        lines += ["", text if "\n" in text else textwrap.fill(text, _WIDTH)]
    return "\n".join(lines)


def _continue_lines(first: str, others: list[str]) -> list[str]:
    """Of a command over several lines, so that it can be pasted."""
    whole = [first, *(f"    {line}" for line in others)]
    return [f"{line} \\" for line in whole[:-1]] + whole[-1:]
