"""What is said beside the p-value: one folder a claim."""
