# gallery: slow
# %% [markdown]
# # Gradient boosting, repaired
#
# Boosted trees with a second goal: a prediction that depends less on race, sex and age given the outcome. `mu` weighs the two; 0 is plain boosting.

# %%
import fairaudit as fa
from fairaudit.datasets import DEMO_FEATURES, load_demo

frame = load_demo(6000, seed=0)
train, test = frame[:3000], frame[3000:]
names, attributes = list(DEMO_FEATURES), ["race", "sex", "age"]

# %%
for mu in (0.0, 0.8):
    model = fa.FairICPBoostingClassifier(mu=mu, random_state=0)
    model.fit(train[names], train["repaid"], sensitive_features=train[attributes])
    score = model.predict_proba(test[names])[:, 1]
    given = {"sensitive": test[attributes], "y_true": test["repaid"]}
    p = fa.equalized_odds_test(score, **given, permutations=fa.Permutations(n=199)).p_value
    kpc = float(fa.metrics.kpc_centered(score, **given))
    right = float(((score > 0.5) == test["repaid"]).mean())
    print(f"mu = {mu}: accuracy {right:.2f}, KPC {kpc:.2f}, p = {p:.3f}")

# %% [markdown]
# The weight was guessed here, on one split. `fa.repair` and `fairaudit remedy` search for one that passes an audit on rows that nothing else saw
# ([Repairing a model](../tutorials/repairing.md)).
