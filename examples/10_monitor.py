# %% [markdown]
# # A monitor over 20 batches
#
# A model goes wrong in the eleventh week. Evidence is gathered week by week; the alarm holds however often anybody looks.

# %%
import numpy as np
import pandas as pd

import fairaudit as fa


def week(number):
    rng = np.random.default_rng(number)
    sex, y = rng.choice(["f", "m"], 300), rng.integers(0, 2, 300)
    harm = 0.9 * (number > 10) * (sex == "f")  # from week 11 on
    score = 1 / (1 + np.exp(-(2 * y - 1 + rng.normal(size=300) - harm)))
    return pd.DataFrame({"sex": sex, "age": rng.integers(18, 80, 300), "y": y, "score": score})


# %%
monitor = fa.Monitor(
    "fairness.state", predictions="score", sensitive="sex,age", outcome="y", alpha=0.01
)
for number in range(1, 21):
    result = monitor.add(week(number), label=f"week {number}")
print(result.verdict)
print("alarm after week", result.alarm, "- most likely since week", result.since)

# %%
frame = result.to_frame()[["label", "log10_evidence"]].round(1)
print(frame.iloc[::3].to_string(index=False))
