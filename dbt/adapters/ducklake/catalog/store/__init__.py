"""The catalog database: where it is, its dialect, its tables, and how they come up to date."""
