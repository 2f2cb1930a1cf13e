"""Evidence over time: e-values of batches, multiplied, with an alarm that holds at any stopping."""
