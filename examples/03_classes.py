# %% [markdown]
# # More than two classes
#
# A model that sorts people into professions, and mistakes women who are doctors for nurses. The test needs no positive class.

# %%
import numpy as np
import pandas as pd

import fairaudit as fa

rng = np.random.default_rng(3)
n = 2000
sex = rng.choice(["female", "male"], n)
age = rng.uniform(25, 65, n)
job = rng.choice(["clerk", "doctor", "nurse"], n)
said = np.where(rng.random(n) < 0.15, rng.choice(["clerk", "doctor", "nurse"], n), job)
mistaken = (job == "doctor") & (sex == "female") & (rng.random(n) < 0.2)
said[mistaken] = "nurse"
table = pd.DataFrame({"sex": sex, "age": age, "job": job, "said": said})

# %%
result = fa.audit(table, predictions="said", outcome="job", sensitive="sex,age")
print(result.verdict, result.p_value)
for finding in result.findings:
    print(f"{finding.name:15} p = {finding.p_value:.3f}")

# %% [markdown]
# Shares of the confusion matrix by group: of the doctors, who is called what?

# %%
shares = fa.metrics.group_confusion(said, sensitive={"sex": sex}, y_true=job)
doctors = shares.to_frame().query("outcome == 'doctor'")[
    ["sex", "predicted", "share", "low", "high"]
]
print(doctors.round(2).to_string(index=False))
