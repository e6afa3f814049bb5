"""The DuckLake format as pure values and rules, without I/O."""
