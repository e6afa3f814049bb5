"""What can be done to a lake, one file per action. Each function stages changes in a transaction."""
