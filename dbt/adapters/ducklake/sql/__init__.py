"""Parse SQL text into frozen values: words, names, statements. This package depends neither on a lake nor on Spark."""
