"""Shown, not merely not refuted: intervals for all gaps at once, upper bounds, certificates."""
