"""Transactions: changes are staged until they are committed."""
