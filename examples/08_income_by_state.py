# gallery: data acsincome_co_features.csv
# %% [markdown]
# # Incomes of two states: does a model travel?
#
# Trained in Colorado, used in Nebraska. The audit is about people, so it has to be repeated where the people are others.

# %%
from sklearn.ensemble import HistGradientBoostingClassifier

import fairaudit as fa
from fairaudit.datasets import fetch_acs_income

home, abroad = (fetch_acs_income(states=[state]) for state in ("co", "ne"))
common = [name for name in home.X.columns if name in set(abroad.X.columns)]
half = len(home.y) // 2
model = HistGradientBoostingClassifier(max_iter=60, random_state=0)
model.fit(home.X[common][:half], home.y[:half])

# %%
few = fa.Permutations(n=199)
for name, data, rows in (
    ("Colorado", home, slice(half, half + 5000)),
    ("Nebraska", abroad, slice(0, 5000)),
):
    score = model.predict_proba(data.X[common][rows])[:, 1]
    attributes, y = data.sensitive[rows], data.y[rows]
    p = fa.equalized_odds_test(score, y_true=y, sensitive=attributes, permutations=few).p_value
    kpc = float(fa.metrics.kpc(score, sensitive=attributes, y_true=y))
    print(f"{name}: p = {p:.3f}, KPC = {kpc:.3f}")
