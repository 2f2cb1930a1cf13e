"""What is said, in whatever format: sections, rows of tables, sentences, numbers as text."""
