"""How much an audit can find, and how many rows it takes: planted violations of known size."""
