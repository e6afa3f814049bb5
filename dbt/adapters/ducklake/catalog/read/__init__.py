"""Read a snapshot of the catalog: definitions, files, statistics, history."""
