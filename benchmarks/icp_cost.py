"""CPU seconds of the law icp: choice and fit of the density, and 199 copies. Three attributes."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from fairaudit.data.columns import columns_from
from fairaudit.permute.copies import CopySampler
from fairaudit.permute.icp import ICP
from fairaudit.testing.permutations import Permutations

COPIES = 199


def spend(work: Callable[[], object]) -> float:
    """The least of three."""
    spent = []
    for _ in range(3):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent)


def draw_all(sampler: CopySampler, batch: int) -> int:
    return sum(len(rows) for _, rows in sampler.blocks(COPIES, batch))


def main() -> None:
    print("rows | steps | density, s | 199 copies, s | family")
    for n in (500, 5_000, 20_000):
        rng = np.random.default_rng(1)
        a = rng.normal(size=(n, 3))
        y = a @ [0.3, 0.55, 0.8] + rng.normal(size=n)
        outcome = columns_from(y, argument="y_true", outcome=True)[0]
        attributes = columns_from(a, argument="sensitive")
        batch = Permutations(n=COPIES).batch_for(n)
        for steps in (50, None):
            prepare = partial(ICP("auto").prepare, outcome, attributes, steps=steps, seed=0)
            law = prepare()
            fit = spend(prepare)
            draw = spend(partial(draw_all, law.sampler, batch))
            print(n, law.sampler.steps, f"{fit:.3f}", f"{draw:.3f}", law.law.family, sep=" | ")


if __name__ == "__main__":
    main()
