"""Plain text for terminals and logs."""
