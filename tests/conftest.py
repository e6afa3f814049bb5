"""Fixtures for all tests."""

pytest_plugins = ["tests.catalogs", "tests.postgres"]
