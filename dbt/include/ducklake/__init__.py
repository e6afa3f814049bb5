"""The macros of the DuckLake adapter, as a dbt package."""

import os

PACKAGE_PATH = os.path.dirname(__file__)
