"""The `fairaudit` command."""
