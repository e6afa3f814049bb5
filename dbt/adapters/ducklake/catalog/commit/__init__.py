"""One snapshot out of staged changes: conflicts first, then every row that it adds or ends."""
