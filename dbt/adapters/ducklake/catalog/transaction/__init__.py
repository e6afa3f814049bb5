"""Changes that are staged until they are committed."""
