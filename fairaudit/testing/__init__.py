"""Statistic + copies → p-value, with its diagnostics."""
