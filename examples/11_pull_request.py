# %% [markdown]
# # A comparison in a pull request
#
# May the candidate replace production? A paired test that it is not less fair beyond a margin, and a text for the comment on the change.

# %%
import numpy as np
import pandas as pd

import fairaudit as fa

rng = np.random.default_rng(5)
n = 4000
sex, y = rng.choice(["f", "m"], n), rng.integers(0, 2, n)
common = 2 * y - 1 + rng.normal(size=n)
table = pd.DataFrame({"sex": sex, "repaid": y, "common": common})


def production(rows):
    return 1 / (1 + np.exp(-rows["common"]))


def candidate(rows):
    return 1 / (1 + np.exp(-(rows["common"] - 0.8 * (rows["sex"] == "f"))))


# %%
result = fa.compare(
    production, candidate, table, sensitive="sex", outcome="repaid", margin={"eod": 0.03}
)
print(result.verdict)

# %% [markdown]
# The beginning of the comment, in Markdown (`result.save("comment.md")`; on the command line `--report comment.md`):

# %%
print("\n".join(str(result.render("md")).split("\n")[:5]))
