"""What vouches for a record: its digest, a signature, and a statement for other tools."""
