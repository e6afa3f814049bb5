"""Fixtures for all tests."""

pytest_plugins = [
    "tests.fast_files",
    "tests.catalogs",
    "tests.garbage",
    "tests.mysql",
    "tests.object_store",
    "tests.postgres",
    "tests.row_readers",
    "tests.schedule",
]
