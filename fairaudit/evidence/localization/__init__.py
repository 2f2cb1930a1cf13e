"""Where a violation sits: attributes, subgroups and curves, behind a joint test that rejected."""
