"""Run statements: register the relations that they read, call the action in `lake`, report the result."""
