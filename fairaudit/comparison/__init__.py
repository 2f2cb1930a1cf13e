"""A candidate beside production on the same rows: is it not less fair, and how sure is that?"""
