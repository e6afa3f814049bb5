"""The command line `ducklake`: look at a lake, query it and maintain it, without a dbt project.

Each command is one function. To add one, write it in `commands` and add it to `COMMANDS` in `main`.
"""

from __future__ import annotations

from .main import main

__all__ = ["main"]
