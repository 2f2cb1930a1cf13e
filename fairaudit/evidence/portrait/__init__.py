"""Who is treated differently given the same outcome, by how much; and what pictures need."""
