# %% [markdown]
# # A statistic of your own
#
# Who is at the top of the ranking? Any function of the table and of its copies becomes a test, whose p-value is right without further theory.

# %%
from dataclasses import dataclass

import numpy as np

import fairaudit as fa
from fairaudit.datasets import load_demo
from fairaudit.extend import AuditTable, Bound, check_statistic, encode


@dataclass(frozen=True)
class Top:
    share: float = 0.1
    name = "top"

    def bind(self, table: AuditTable, *, within_outcome: bool, seed: int) -> Bound:
        score = table.prediction.matrix().sum(axis=1)
        chosen = score >= np.quantile(score, 1 - self.share)
        attributes = encode(table.attributes)
        attributes = attributes - attributes.mean(axis=0)
        return lambda copies: np.array(
            [(attributes[copy][chosen].mean(axis=0) ** 2).sum() for copy in copies]
        )


# %% [markdown]
# The contract that every statistic has to keep, as a check that third parties can run:

# %%
check_statistic(Top())

# %%
frame = load_demo(1000, seed=2)
rng = np.random.default_rng(0)
fair = frame["repaid"] + rng.normal(size=len(frame))
unfair = fair + 0.8 * (frame["sex"] == "male")
for name, score in (("fair", fair), ("unfair", unfair)):
    test = fa.equalized_odds_test(
        score, y_true=frame["repaid"], sensitive=frame[["race", "sex"]], statistic=Top()
    )
    print(f"{name}: p = {test.p_value:.3f}")
