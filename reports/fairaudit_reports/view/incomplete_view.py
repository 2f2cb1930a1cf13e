"""What is said of missing and uncertain attributes."""

from __future__ import annotations

__all__ = ["LONGEST_SENTENCE", "TITLE"]

TITLE = "Missing and uncertain attributes"
LONGEST_SENTENCE = 2_000
