"""Every Python block and shell command of README and docs runs, and prints what the page says."""

from __future__ import annotations

import argparse
import re
import shlex
from importlib import import_module

import documents
import pytest
from documents import PAGES, ROOT, Wrong, blocks, has_data, run_page

from fairaudit_cli.hints import reject_unknown_options
from fairaudit_cli.main import COMMANDS

NAMES = [str(path.relative_to(ROOT)) for path in PAGES if blocks(path)]
SLOW = [
    name for name in NAMES if any(block.mark in ("slow", "data") for block in blocks(ROOT / name))
]


@pytest.fixture(autouse=True)
def quiet_plots(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")


@pytest.mark.pages
@pytest.mark.parametrize("name", NAMES)
def test_a_page_runs_as_printed(name, tmp_path):
    """All blocks but the slow ones; `make docs-test` runs those too."""
    run_page(ROOT / name, tmp_path.resolve(), slow=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_a_page_runs_as_printed_in_full(name, tmp_path):
    needed = {block.reason for block in blocks(ROOT / name) if block.mark == "data"}
    missing = sorted(file for file in needed if not has_data(file))
    if missing:
        pytest.skip(f"FAIRAUDIT_DATA has no {', '.join(missing)}")
    run_page(ROOT / name, tmp_path.resolve(), slow=True)


def _inline(path):
    """Commands within sentences and tables."""
    text = re.sub(r"^ *```.*?^ *```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"`(fairaudit \w[^`]*|python [\w/]+\.py[^`]*)`", text)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_within_sentences_exist(path):
    """They have left-out parts and do not run; command, options and scripts must be there."""
    for line in _inline(path):
        for part in re.split(r" && |; ", line):
            words = shlex.split(part)
            if words[0] == "python":
                assert (ROOT / words[1]).is_file(), line
                continue
            assert words[1] in COMMANDS, line
            parser = argparse.ArgumentParser(prog=f"fairaudit {words[1]}", allow_abbrev=False)
            import_module(f"fairaudit_cli.{words[1]}").add_arguments(parser)
            reject_unknown_options(parser, words)


PAGE = """
```sh
mkdir below && cd below
echo 17 > number
```

<!-- docs-test: python
taken_for_granted = 4
-->
```python
print(int(open("number").read()) + taken_for_granted, "and more")
```

```text
{text}
```
"""


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("{text}", "21 and more"), None),
        (("```text\n{text}", "<!-- docs-test: part -->\n```text\n21"), None),
        (("{text}", "22 and more"), "printed instead:\n21 and more"),
        (("{text}", "21"), "printed instead:\n21 and more"),
        (("echo 17", "fairaudit nonsense"), "exit status 2: fairaudit nonsense"),
        (("echo 17", "false"), "exit status 1: false"),
        (("open(", "opened("), "NameError: name 'opened'"),
        (("```sh", "<!-- docs-test: skip -->\n```sh"), "'skip' is no mark"),
        (("```sh", "<!-- docs-test: skip: no shell -->\n```sh"), "FileNotFoundError"),
    ],
)
def test_the_harness_sees_what_does_not_run_or_prints_something_else(
    tmp_path, monkeypatch, change, told
):
    path = tmp_path / "page.md"
    path.write_text(PAGE.replace(*change).replace("{text}", "21 and more"))
    monkeypatch.setattr(documents, "ROOT", tmp_path)
    monkeypatch.setattr(documents, "documented_versions", lambda: True)
    if told is None:
        assert run_page(path, tmp_path, slow=False) == {"ran": 4}
        return
    with pytest.raises(Wrong, match=re.escape(told)):
        run_page(path, tmp_path, slow=False)
