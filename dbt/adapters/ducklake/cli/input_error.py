"""The error for wrong options and settings."""

from __future__ import annotations

import click


class InputError(click.ClickException):
    """An error in the options or settings, shown as one line."""

    exit_code = 2
