# %% [markdown]
# # Regression: the progression of diabetes
#
# A linear model of a number, audited for sex and age without bins. The table comes with scikit-learn.

# %%
from sklearn.linear_model import LinearRegression

import fairaudit as fa
from fairaudit.datasets import load_diabetes

data = load_diabetes()
train, test = slice(0, 200), slice(200, None)
model = LinearRegression().fit(data.X[train], data.y[train])
prediction = model.predict(data.X[test])

# %%
result = fa.equalized_odds_test(prediction, y_true=data.y[test], sensitive=data.sensitive[test])
print(f"p = {result.p_value:.3f}")

# %% [markdown]
# Which law of copies was used, and whether its checks passed:

# %%
print(result.diagnostics.trustworthy)
print(result.diagnostics.copies_by)
