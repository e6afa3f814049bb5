"""The DuckLake format as pure values and rules. Nothing outside the standard library; no I/O."""
