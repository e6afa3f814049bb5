"""Actions on a lake, one module per action. Each function stages changes in a transaction."""
