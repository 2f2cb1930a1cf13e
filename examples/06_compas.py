# gallery: data compas.csv
# %% [markdown]
# # COMPAS: race and sex
#
# The data set that began the debate: new offenses within two years. A logistic model that sees neither race nor sex is audited for both.

# %%
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fairaudit as fa
from fairaudit.datasets import fetch_compas

data = fetch_compas()
half = len(data.y) // 2
train, test = slice(0, half), slice(half, None)
model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
model.fit(data.X[train], data.y[train])

# %%
result = fa.audit(model, data.X[test], data.y[test], sensitive=data.sensitive[test], locate=False)
print(result.verdict, result.p_value)
print(
    result.to_frame("findings")[["name", "rows", "p_value", "p_adjusted"]]
    .round(3)
    .to_string(index=False)
)

# %% [markdown]
# A violation of equalized odds is a statement about error rates given what was *recorded*: arrests and convictions, not offenses. If those are biased, this is the wrong
# criterion ([what equalized odds is not](../explanation/equalized-odds.md)).
