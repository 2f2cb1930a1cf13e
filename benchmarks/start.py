"""How soon a command starts: CPU seconds of `fairaudit --help` beside `import numpy`.

    python benchmarks/start.py

The least of five runs each: what else the machine does only adds to it.
"""

from __future__ import annotations

import resource
import subprocess
import sys


def cpu_seconds(*command: str) -> float:
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def main() -> None:
    numpy = cpu_seconds("-c", "import numpy")
    own = cpu_seconds("-m", "fairaudit_cli.main", "--help")
    print(f"import numpy {numpy:.3f} CPU s, fairaudit --help {own:.3f}: {own / numpy:.2f} times")


if __name__ == "__main__":
    main()
