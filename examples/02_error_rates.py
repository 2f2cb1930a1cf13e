# %% [markdown]
# # Error rates of groups, all intervals at once
#
# Gaps in TPR and FPR between every group and all others, with intervals that hold together. The predictions below treat everybody alike, and still no two groups have equal rates.

# %%
import numpy as np
import pandas as pd

import fairaudit as fa

rng = np.random.default_rng(7)
n = 1500
people = pd.DataFrame(
    {"race": rng.choice(["A", "B", "C", "D"], n), "sex": rng.choice(["f", "m"], n)}
)
y = rng.integers(0, 2, n)
label = np.where(rng.random(n) < 0.8, y, 1 - y)  # right in 80 % of cases, for all alike

# %%
gaps = fa.gap_intervals(label, sensitive=people, y_true=y)
for gap in gaps.gaps[:6]:
    print(f"{' '.join(gap.levels)}, {gap.rate}: {gap.value:+.2f} [{gap.low:+.2f}, {gap.high:+.2f}]")

# %% [markdown]
# The usual gate looks at the largest difference alone:

# %%
print(round(float(fa.metrics.equalized_odds_difference(label, sensitive=people, y_true=y)), 2))
print(fa.equalized_odds_test(label, y_true=y, sensitive=people).p_value)
