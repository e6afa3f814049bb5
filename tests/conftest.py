"""Fixtures for all tests."""

pytest_plugins = ["tests.fast_files", "tests.catalogs", "tests.mysql", "tests.postgres", "tests.schedule"]
