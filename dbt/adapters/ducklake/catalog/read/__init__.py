"""What a snapshot of the catalog says: definitions, files, statistics, history."""
