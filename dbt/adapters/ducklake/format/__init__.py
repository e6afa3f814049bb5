"""The DuckLake format as pure values and rules: the standard library only, and no I/O."""
