"""A dbt project whose commands run in processes of their own, each with its own Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PROJECT = {"name": "p", "version": "1.0", "profile": "p", "flags": {"send_anonymous_usage_stats": False}}
LAKE = {"type": "ducklake", "path": "ducklake:sqlite:lake.sqlite", "data_path": "data/", "schema": "main"}
SPARK = {"fast_start": True, "master": "local[2]"}


def write_project(folder: Path, models: Mapping[str, str], targets: Mapping[str, Any], **config: object) -> Path:
    """Write a dbt project.

    Args:
        folder: an empty folder.
        models: the text of each model by the name of its file.
        targets: the targets of the profile by name; the first one is the default.
        config: further entries of dbt_project.yml.

    Returns:
        The folder.
    """
    (folder / "models").mkdir()
    (folder / "dbt_project.yml").write_text(json.dumps({**PROJECT, **config}))
    for name, text in models.items():
        (folder / "models" / name).write_text(text)
    (folder / "profiles.yml").write_text(json.dumps({"p": {"target": next(iter(targets)), "outputs": targets}}))
    return folder


def start_dbt(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a dbt command in a session of its own, with its output and errors in one pipe."""
    command = [str(Path(sys.executable).with_name("dbt")), "--no-use-colors", *arguments, "--profiles-dir", "."]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
