"""Runs the examples and writes their pages and notebooks: python examples/render.py [NAME …].

An example is a script in cells: `# %% [markdown]` begins a text of comments, `# %%` begins code. It
runs by itself, too. A first line `# gallery: slow` or `# gallery: data FILE` says that it takes
longer than some seconds, or needs a file of a public data set in FAIRAUDIT_DATA; the tests of the
docs run its page accordingly (`docs-test` marks) and compare what it prints.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
GALLERY = HERE.parent / "docs" / "gallery"
_CELL = re.compile(r"^# %%( \[markdown\])?\n", re.M)


@dataclass
class Cell:
    text: bool
    source: str
    printed: str = ""


@dataclass
class Example:
    name: str
    mark: str  # "", "slow" or "data FILE"
    cells: list[Cell]

    @property
    def title(self) -> str:
        return self.cells[0].source.split("\n")[0].removeprefix("# ")

    @property
    def about(self) -> str:
        """The first sentence below the title."""
        text = " ".join(self.cells[0].source.split("\n\n")[1].split())
        return text.partition(". ")[0].rstrip(".") + "."


def examples() -> list[Example]:
    """All examples, in the order of their names."""
    paths = sorted(HERE.glob("[0-9][0-9]_*.py"))
    return [read_example(path) for path in paths]


def read_example(path: Path) -> Example:
    text = path.read_text(encoding="utf-8")
    mark = re.match(r"# gallery: (slow|data \S+)\n", text)
    parts = _CELL.split(text)[1:]
    cells = []
    for kind, body in zip(parts[::2], parts[1::2], strict=True):
        source = body.strip("\n")
        if kind:
            lines = (line.removeprefix("#").removeprefix(" ") for line in source.split("\n"))
            source = "\n".join(lines)
        cells.append(Cell(kind is not None, source))
    return Example(path.stem, mark[1] if mark else "", cells)


def run_example(example: Example) -> None:
    """Run the cells of an example in a folder of its own, and keep what each prints."""
    names: dict[str, Any] = {"__name__": example.name}
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for cell in example.cells:
                if not cell.text:
                    printed = io.StringIO()
                    with contextlib.redirect_stdout(printed):
                        code = compile(cell.source, example.name, "exec", dont_inherit=True)
                        exec(code, names)
                    cell.printed = "\n".join(
                        line.rstrip() for line in printed.getvalue().rstrip().split("\n")
                    )
        finally:
            os.chdir(before)


def page_parts(example: Example) -> Iterator[str]:
    """The page: texts, code, and what it printed."""
    first, *rest = example.cells
    yield first.source
    yield f"[`examples/{example.name}.py`](../../examples/{example.name}.py) · [notebook]({example.name}.ipynb)"
    for cell in rest:
        if cell.text:
            yield cell.source
            continue
        mark = f"<!-- docs-test: {example.mark} -->\n" if example.mark else ""
        yield f"{mark}```python\n{cell.source}\n```"
        if cell.printed:
            yield f"```text\n{cell.printed}\n```"


def notebook(example: Example) -> str:
    """The same as a notebook."""
    cells: list[dict[str, Any]] = []
    for number, cell in enumerate(example.cells):
        base = {"id": f"cell-{number}", "metadata": {}, "source": cell.source}
        if cell.text:
            cells.append({"cell_type": "markdown", **base})
            continue
        printed = [{"output_type": "stream", "name": "stdout", "text": cell.printed + "\n"}]
        outputs = printed if cell.printed else []
        cells.append({"cell_type": "code", "execution_count": None, "outputs": outputs, **base})
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    whole = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def index(listed: list[Example]) -> str:
    rows = [f"| [{one.title}]({one.name}.md) | {one.about} |" for one in listed]
    head = """# Gallery

Scripts of `examples/`, each with what it printed. All are generated or public data; those of COMPAS, Adult, incomes and crimes
read the files of [Data sets](../datasets.md). `python examples/render.py` runs them and writes these pages; the tests run the pages
and compare.
"""
    return "\n".join([head, "| example | |", "|---|---|", *rows, ""])


def main(names: list[str]) -> int:
    GALLERY.mkdir(exist_ok=True)
    listed = examples()
    for example in listed:
        if names and example.name not in names:
            continue
        run_example(example)
        page = "\n\n".join(page_parts(example)) + "\n"
        (GALLERY / f"{example.name}.md").write_text(page, encoding="utf-8")
        (GALLERY / f"{example.name}.ipynb").write_text(notebook(example), encoding="utf-8")
        print(example.name, flush=True)
    (GALLERY / "index.md").write_text(index(listed), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
