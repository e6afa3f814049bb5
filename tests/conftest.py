"""Fixtures for all tests."""

pytest_plugins = ["tests.catalogs", "tests.mysql", "tests.postgres"]
