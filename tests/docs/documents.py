"""Runs the Python blocks and shell commands of README and docs, and compares what they print.

    python tests/docs/documents.py [PAGE …]      # every block, also the slow ones; `make docs-test`

The last line says how many CPU minutes the blocks took; those that are not slow may take 15.

Blocks of a page run in order, in one folder that is empty at first: ```python in one namespace,
```sh in bash (a `cd` lasts). A ```text block after them is what they print, numbers included. A
comment of HTML before a block says what is special about it:

    <!-- docs-test: slow -->             more than some seconds: not in the default run of pytest
    <!-- docs-test: skip: REASON -->     cannot run here
    <!-- docs-test: data FILE -->        slow, and needs this file of FAIRAUDIT_DATA
    <!-- docs-test: needs PACKAGE -->    slow, and needs a package that the extra dev does not have
    <!-- docs-test: file NAME -->        is written to a file and not run
    <!-- docs-test: part -->             this text is a part of what is printed
    <!-- docs-test: sh … -->             commands (or python) that the page takes for granted
    <!-- docs-test: demo -->             the files of `fairaudit demo` are in the folder
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUN = ("python", "sh")
MOST_SHOWN = 6_000  # characters of what was printed instead
MOST_SECONDS = 15 * 60  # of CPU, for all blocks that are not slow
MARKS = {
    "": False,
    "slow": False,
    "skip": True,
    "file": True,
    "part": False,
    "data": True,
    "needs": True,
}  # has a value
_FENCE = re.compile(r"^( *)```(\w*)\s*$")
_MARK = re.compile(r"<!-- docs-test: (.*?)-->", re.DOTALL)
#: Commands whose exit statuses 1 and 3 are verdicts; any other failure ends the block.
_SHELL = """
shopt -s extglob
trap 's=$?; case "$BASH_COMMAND:$s" in
  fairaudit\\ @(test|compare|monitor|remedy|missing)*:[13]) ;;
  *) echo "exit status $s: $BASH_COMMAND" >&2; exit 99 ;; esac' ERR
{commands}
pwd >&{folder}
"""


class Wrong(AssertionError):
    """A block that does not run, or prints something else."""


@dataclass
class Block:
    line: int
    language: str
    text: str
    mark: str = ""
    reason: str = ""


@dataclass
class Page:
    """What a reader has after the blocks so far."""

    path: Path
    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})
    printed: str = ""

    def run(self, block: Block) -> None:
        if block.language == "demo":
            shutil.copytree(demo(), self.folder, dirs_exist_ok=True)
        elif block.mark == "file":
            (self.folder / block.reason).write_text(block.text)
        elif block.language == "text":
            self.compare(block)
        else:
            self.printed = (self.python if block.language == "python" else self.shell)(block)

    def python(self, block: Block) -> str:
        shown = io.StringIO()
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(shown):
                text = "\n" * block.line + block.text
                code = compile(text, str(self.path), "exec", dont_inherit=True)
                exec(code, self.names)
        finally:
            os.chdir(before)
        return shown.getvalue()

    def shell(self, block: Block) -> str:
        read, write = os.pipe()
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        done = subprocess.run(
            ["bash", "-c", _SHELL.format(commands=block.text, folder=write)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            pass_fds=[write],
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PATH": path, "GITHUB_ACTIONS": ""},
        )
        os.close(write)
        with open(read) as end:
            self.folder = Path(end.read().strip() or self.folder)
        if done.returncode:
            raise Wrong((done.stdout[-MOST_SHOWN:] + "\n" + done.stderr).strip())
        return done.stdout

    def compare(self, block: Block) -> None:
        """The same words; … stands for any others.

        Other versions of the packages train other models, of which the page does not speak.
        """
        wanted, found = (" ".join(text.split()) for text in (block.text, self.printed))
        if not documented_versions():
            if not found:
                raise Wrong("nothing was printed")
            return
        form = ".*".join(re.escape(piece.strip()) for piece in wanted.split("…"))
        if not (re.search if block.mark == "part" else re.fullmatch)(form, found):
            raise Wrong(f"this was printed instead:\n{self.printed[-MOST_SHOWN:]}")


@lru_cache
def demo() -> str:
    """A folder with what `fairaudit demo` writes, made once."""
    folder = tempfile.mkdtemp(prefix="fairaudit-demo-")
    atexit.register(shutil.rmtree, folder)
    command = [sys.executable, "-m", "fairaudit_cli.main", "demo", "--out", folder]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder


def documented_versions() -> bool:
    """Whether models come out as in the docs: the versions of constraints.txt are installed."""
    pinned = dict(re.findall(r"^([\w-]+)==([\w.]+)", (ROOT / "constraints.txt").read_text(), re.M))
    try:
        return all(version(name) == pinned[name] for name in ("numpy", "pandas", "scikit-learn"))
    except (PackageNotFoundError, KeyError):
        return False


def has_data(name: str) -> bool:
    """Whether a file of a public data set is there."""
    folder = os.environ.get("FAIRAUDIT_DATA")
    return folder is not None and (Path(folder) / name).is_file()


@lru_cache
def has_package(name: str) -> bool:
    """Whether a package can be imported; "reticulate" is one of R."""
    if name != "reticulate":
        return find_spec(name) is not None
    asked = ["Rscript", "-e", "library(reticulate)"]
    return (
        bool(shutil.which("Rscript")) and not subprocess.run(asked, capture_output=True).returncode
    )


def blocks(path: Path) -> list[Block]:
    """What a page has to run, what that prints, and what the page takes for granted."""
    text = path.read_text()
    found, lines, mark = [], text.split("\n"), ""
    number = 0
    while number < len(lines):
        line, number = lines[number], number + 1
        if line.lstrip().startswith("<!-- docs-test:"):
            while "-->" not in line:
                line, number = f"{line}\n{lines[number]}", number + 1
            mark = _MARK.search(line)[1].strip()
            language, _, inside = mark.partition("\n")
            if language in (*RUN, "demo"):
                found.append(Block(number - inside.count("\n") - 2, language, inside))
                mark = ""
        elif fence := _FENCE.match(line):
            first = number
            while lines[number].strip() != "```":
                number += 1
            inside = "\n".join(one[len(fence[1]) :] for one in lines[first:number]) + "\n"
            if fence[2] in (*RUN, "text") or mark:
                word, _, reason = mark.partition(" ")
                word = word.rstrip(":")
                if word not in MARKS or bool(reason) != MARKS[word]:
                    raise Wrong(f"{path}:{first}: docs-test: {mark!r} is no mark of a block")
                found.append(Block(first, fence[2], inside, word, reason))
            number, mark = number + 1, ""
        elif line.strip():
            mark = ""
    return found


def cpu_seconds() -> float:
    """Of this process and of those that it started and that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def run_page(
    path: Path, folder: Path, *, slow: bool, seconds: dict[str, float] | None = None
) -> Counter[str]:
    """Run a page in a folder; how many blocks ran, and how many did not, and why.

    CPU seconds of the blocks are added to `seconds`, at "slow" and "quick".
    """
    page, counted, left_out = Page(path, folder), Counter[str](), ""
    for block in blocks(path):
        if block.language != "text" or block.mark == "skip":  # what is printed goes with its code
            left_out = block.mark if block.mark in ("skip", "slow") else ""
            if block.mark in ("data", "needs"):
                there = has_data if block.mark == "data" else has_package
                left_out = "slow" if there(block.reason) else "skip"
        if left_out == "skip" or (left_out == "slow" and not slow):
            counted[left_out] += 1
            continue
        began = cpu_seconds()
        try:
            page.run(block)
        except Exception as error:
            where = f"{path.relative_to(ROOT)}:{block.line}"
            told = str(error) if isinstance(error, Wrong) else f"{type(error).__name__}: {error}"
            raise Wrong(f"{where}: {told}\n\n{block.text}") from error
        counted["ran"] += 1
        if seconds is not None:
            seconds[left_out or "quick"] += cpu_seconds() - began
    return counted


def main(names: list[str]) -> int:
    os.environ.setdefault("MPLBACKEND", "Agg")
    total, failed, taken = Counter[str](), 0, {"quick": 0.0, "slow": 0.0}
    for path in [ROOT / name for name in names] or PAGES:
        seconds = dict.fromkeys(taken, 0.0)
        with tempfile.TemporaryDirectory() as folder:
            try:
                counted = run_page(path, Path(folder).resolve(), slow=True, seconds=seconds)
            except Wrong as error:
                failed += 1
                print(f"FAILED {error}", flush=True)
                continue
            finally:
                taken = {key: taken[key] + seconds[key] for key in taken}
        total += counted
        name = path.relative_to(ROOT)
        print(
            f"{name}: {counted['ran']} ran, {counted['skip']} skipped; "
            f"{seconds['quick']:.0f} CPU s, slow blocks {seconds['slow']:.0f}",
            flush=True,
        )
        for block in blocks(path):
            if block.mark == "skip":
                print(f"    line {block.line} skipped: {block.reason}")
    print(f"{total['ran']} blocks ran, {total['skip']} skipped; {failed} pages failed")
    print(f"CPU minutes: {taken['quick'] / 60:.1f}, slow blocks {taken['slow'] / 60:.1f}")
    if taken["quick"] > MOST_SECONDS:
        print(
            f"FAILED: blocks that are not slow took more than {MOST_SECONDS / 60:.0f} CPU minutes"
        )
    return int(failed > 0 or taken["quick"] > MOST_SECONDS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
