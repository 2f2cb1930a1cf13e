# %% [markdown]
# # An audit from SQL counts
#
# Two hundred thousand decisions stay in their database; one `GROUP BY` leaves it. With classes as outcome and decisions as prediction, counts are all that an audit needs.

# %%
import sqlite3

import numpy as np
import pandas as pd

import fairaudit as fa

rng = np.random.default_rng(3)
n = 200_000
sex, race = rng.choice(["f", "m"], n), rng.choice(["a", "b", "c"], n)
repaid = rng.integers(0, 2, n)
chance = 0.3 + 0.4 * repaid - 0.03 * ((sex == "f") & (race == "c"))
loans = pd.DataFrame({"sex": sex, "race": race, "repaid": repaid})
loans["approved"] = (rng.random(n) < chance).astype(int)

database = sqlite3.connect("loans.sqlite")
loans.to_sql("loans", database, index=False)

# %% [markdown]
# ## What leaves the database

# %%
query = """
    SELECT sex, race, repaid, approved, COUNT(*) AS n FROM loans
    GROUP BY sex, race, repaid, approved
"""
counts = pd.read_sql_query(query, database)
print(len(counts), "rows for", counts["n"].sum(), "people")
print(counts.head(3))

# %%
result = fa.audit(
    counts=counts, count="n", predictions="approved", outcome="repaid", sensitive=["sex", "race"]
)
print(result.verdict, result.p_value)
gaps = result.to_frame("gaps")
apart = gaps[(gaps["low"] > 0) | (gaps["high"] < 0)]
print(apart[["sex", "race", "rate", "value", "low", "high"]].round(3).to_string(index=False))

# %% [markdown]
# ## Or let fairaudit ask
#
# `fa.counts` asks a connection itself, and cuts numbers with many values into bins. On the command line: `fairaudit test --data loans.sqlite --table loans …`, and `fairaudit counts --sql` prints the query for whoever may run it.

# %%
names = {"predictions": "approved", "outcome": "repaid", "sensitive": "sex,race"}
asked = fa.counts(database, table="loans", **names)
again = fa.audit(counts=asked, count="n", **names)
print(len(asked), "rows,", again.verdict, again.p_value == result.p_value)
