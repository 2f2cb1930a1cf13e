"""Where other tools meet fairaudit."""
