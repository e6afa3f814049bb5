"""Reading snapshots from the catalog database and committing to it. The only package that uses SQLAlchemy."""
