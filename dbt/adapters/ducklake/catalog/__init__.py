"""The catalog database: reading snapshots of it and committing to it. The only home of SQLAlchemy."""
