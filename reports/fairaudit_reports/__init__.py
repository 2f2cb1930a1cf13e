"""How a result is shown."""
