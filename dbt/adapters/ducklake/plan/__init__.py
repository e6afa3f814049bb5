"""Resolve the names of a statement, each once, into frozen values. This package changes nothing."""
