"""The rows of a statement: find, match, cache and fetch them."""
