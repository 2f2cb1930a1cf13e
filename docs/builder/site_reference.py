"""The pages of the site that are made from the code: public names, and commands."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

import fairaudit
from fairaudit_cli.main import COMMANDS, complete

#: Where a name of `fairaudit` lives → the page that has it, its title and what it is about.
TOPICS = {
    "auditing": ("audits", "Audits", "One call, one verdict; the result and its table."),
    "testing": ("tests", "Tests", "The test alone, without an audit around it."),
    "evidence": ("evidence", "Evidence", "Intervals, certificates, planning, missing attributes."),
    "comparison": ("comparing", "Comparing", "A candidate beside production, several models."),
    "monitoring": ("monitoring", "Monitoring", "Evidence over batches."),
    "remedy": ("remedies", "Remedies", "Estimators, and the search for a model that passes."),
    "data": ("tables", "Tables", "What is audited, checked once."),
    "errors": ("errors", "Errors", "Every error is one of these; their messages are one line."),
}
#: Modules whose names are public as they are.
MODULES = {
    "metrics": ("measures", "Measures", "Each measure alone, on arrays or columns."),
    "datasets": ("datasets", "Data sets", "Tables to try things on."),
    "extend": ("extending", "Extending", "What third parties build on, and the checks they run."),
}


def entry(shown: str, home: str, name: str) -> str:
    """A name for mkdocstrings; static analysis needs the module that defines it."""
    return f"::: {home}.{name}\n    options:\n      heading: {shown}\n"


def functions_first(homes: dict[str, str]) -> list[tuple[str, str]]:
    return sorted(homes.items(), key=lambda item: item[0][0].isupper())


def api_pages() -> dict[str, str]:
    """File → text of all pages of the API."""
    pages: dict[str, list[str]] = {}
    for name, home in functions_first(fairaudit._HOME):
        file, title, about = TOPICS[home.split(".")[1]]
        page = pages.setdefault(file, [f"# {title}\n\n{about}\n"])
        page.append(entry(f"fa.{name}", home, name))
    for module_name, (file, title, about) in MODULES.items():
        module = import_module(f"fairaudit.{module_name}")
        pages[file] = [f"# {title}\n\n{about}\n"]
        pages[file] += [
            entry(f"fa.{module_name}.{name}", home, name)
            for name, home in functions_first(module._HOME)
            if name not in fairaudit._HOME  # which is on a page already
        ]
    return {f"{file}.md": "\n".join(parts) for file, parts in pages.items()}


def commands_page() -> str:
    """What `--help` of every command prints."""
    parts = ["# Commands\n\nWhat `fairaudit COMMAND --help` prints, for every command.\n"]
    for name, about in COMMANDS.items():
        parser = argparse.ArgumentParser(prog=f"fairaudit {name}", allow_abbrev=False)
        complete(parser, name)
        parts.append(f"## {name}\n\n{about[0].upper()}{about[1:]}.\n")
        parts.append(f"```text\n{parser.format_help().rstrip()}\n```\n")
    return "\n".join(parts)


def index_page(pages: dict[str, str]) -> str:
    rows = {file: (title, about) for file, title, about in (*TOPICS.values(), *MODULES.values())}
    lines = [
        f"| [{rows[name[:-3]][0]}]({name}) | {rows[name[:-3]][1]} | {text.count('::: ')} |"
        for name, text in pages.items()
    ]
    head = "# The Python API\n\nEvery public name; `fa` is `import fairaudit as fa`.\n"
    return "\n".join([head, "| page | about | names |", "|---|---|---|", *lines, ""])


def write_reference(folder: Path) -> None:
    """Write the pages of the API and of the commands into a folder."""
    pages = api_pages()
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (
        *pages.items(),
        ("api.md", index_page(pages)),
        ("commands.md", commands_page()),
    ):
        (folder / name).write_text(text, encoding="utf-8")
