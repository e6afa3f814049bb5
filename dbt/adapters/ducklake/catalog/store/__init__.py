"""The catalog database: its location, its dialect, its tables, and their migrations."""
