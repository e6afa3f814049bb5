"""From SQL text to frozen values: words, names, statements. Knows neither a lake nor Spark."""
