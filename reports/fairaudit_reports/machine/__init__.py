"""Formats that programs read: JSON, JUnit, SARIF, annotations of GitHub, pictures."""
