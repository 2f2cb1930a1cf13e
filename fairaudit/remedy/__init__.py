"""Fairness-aware learning as scikit-learn estimators: the step after an audit."""
