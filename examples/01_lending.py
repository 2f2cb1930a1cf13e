# %% [markdown]
# # Lending: nobody alone, everybody together
#
# A model that no single attribute convicts, and the three together do. Gradient boosting predicts repayment; race, sex and age are not among its features.

# %%
import fairaudit as fa
from fairaudit.datasets import DEMO_FEATURES, demo_model, load_demo

frame = load_demo(3000, seed=0)
train, test = frame[:1500], frame[1500:]
model = demo_model(train)
print(list(DEMO_FEATURES))

# %%
result = fa.audit(model, test, "repaid", sensitive="race,sex,age", locate=True)
print(result.verdict, result.p_value)
findings = result.to_frame("findings")[["name", "p_value", "p_adjusted"]]
print(findings.round(3).to_string(index=False))

# %% [markdown]
# The verdict in a sentence; `result.save("report.html")` says who, and by how much:

# %%
print(result.because)
