# gallery: data communities.data
# %% [markdown]
# # Crimes: three continuous attributes at once
#
# Violent crimes in 1,994 communities, and the shares of three races, none of them a category. A forest predicts crimes from 118 other features.

# %%
from sklearn.ensemble import RandomForestRegressor

import fairaudit as fa
from fairaudit.datasets import fetch_communities

data = fetch_communities()
train, test = slice(0, 1000), slice(1000, None)
model = RandomForestRegressor(40, min_samples_leaf=5, random_state=0)
model.fit(data.X[train], data.y[train])
prediction = model.predict(data.X[test])

# %%
result = fa.equalized_odds_test(
    prediction,
    y_true=data.y[test],
    sensitive=data.sensitive[test],
    permutations=fa.Permutations(n=199),
)
print(f"p = {result.p_value:.3f}, trustworthy: {result.diagnostics.trustworthy}")

# %% [markdown]
# The same communities under a model that guesses with noise only has nothing to find:

# %%
import numpy as np

noisy = np.asarray(data.y[test]) + np.random.default_rng(0).normal(size=len(prediction))
result = fa.equalized_odds_test(
    noisy, y_true=data.y[test], sensitive=data.sensitive[test], permutations=fa.Permutations(n=199)
)
print(f"p = {result.p_value:.3f}")
