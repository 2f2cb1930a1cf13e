# gallery: data adult.data
# %% [markdown]
# # Adult: 45,222 rows
#
# Income above 50,000 dollars from the census of 1994, for race and sex. So many rows make any violation significant: look at sizes.

# %%
from sklearn.ensemble import HistGradientBoostingClassifier

import fairaudit as fa
from fairaudit.datasets import fetch_adult

data = fetch_adult()
train, test = slice(0, 30000), slice(30000, None)
model = HistGradientBoostingClassifier(max_iter=60, random_state=0)
model.fit(data.X[train], data.y[train])
score = model.predict_proba(data.X[test])[:, 1]

# %%
attributes, y = data.sensitive[test], data.y[test]
result = fa.equalized_odds_test(
    score, y_true=y, sensitive=attributes, permutations=fa.Permutations(n=199)
)
print(f"p = {result.p_value:.3f}")
print(f"KPC = {float(fa.metrics.kpc(score, sensitive=attributes, y_true=y)):.4f}")
difference = fa.metrics.equalized_odds_difference(score > 0.5, sensitive=attributes, y_true=y)
print(f"equalized-odds difference = {float(difference):.3f}")
