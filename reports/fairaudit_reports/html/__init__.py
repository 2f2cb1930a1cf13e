"""HTML pages that need nothing else: no script, no request; light, dark and on paper."""
