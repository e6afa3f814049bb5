"""Carrying out a statement: register what it reads, call the action in `lake`, report."""
