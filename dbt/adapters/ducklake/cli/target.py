"""The target of a dbt profile, found and rendered as dbt does it, without a project."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from dbt.cli.resolvers import default_profiles_dir
from dbt.clients.yaml_helper import load_yaml_text
from dbt.config.profile import read_profile
from dbt_common.context import set_invocation_context

from ..credentials import DuckLakeCredentials
from ..targets import target_credentials
from .wrong_input import WrongInput


def found_target(profile: str | None, target: str | None, profiles_dir: str | None, project_dir: str | None) -> DuckLakeCredentials:
    """Return a target of type `ducklake`; what is not given has dbt's default.

    Raises:
        WrongInput: there is no profiles.yml, or several profiles to choose from.
        ConfigurationError: the target is of another type, or one of its fields is wrong.
        DbtBaseException: the profile or target does not exist or is wrong.
    """
    folder = _profiles_folder(profiles_dir, project_dir)
    raw = {name: each for name, each in read_profile(folder).items() if name != "config"}
    if not raw:
        raise WrongInput(f"no lake: give --lake PATH_OR_URL, or --profiles-dir with a profiles.yml; {folder} has none")
    name = profile or _project_profile(project_dir) or (next(iter(raw)) if len(raw) == 1 else None)
    if name is None:
        raise WrongInput(f"{folder}/profiles.yml has several profiles: give --profile with one of {', '.join(raw)}")
    if not isinstance(raw.get(name), Mapping):
        raise WrongInput(f"{folder}/profiles.yml has no profile {name}: give --profile with one of {', '.join(raw)}")
    set_invocation_context(os.environ)
    return target_credentials(raw[name], name, target)


def _profiles_folder(profiles_dir: str | None, project_dir: str | None) -> str:
    given = profiles_dir or os.environ.get("DBT_PROFILES_DIR")
    if given is None and project_dir is not None and Path(project_dir, "profiles.yml").exists():
        given = project_dir
    return str(given or default_profiles_dir())


def _project_profile(project_dir: str | None) -> str | None:
    """Return the profile that dbt_project.yml names; None if there is no project."""
    file = Path(project_dir or ".", "dbt_project.yml")
    if not file.exists():
        if project_dir is not None:
            raise WrongInput(f"{project_dir} has no dbt_project.yml: check --project-dir")
        return None
    found = load_yaml_text(file.read_text(encoding="utf-8"), file)
    name = found.get("profile") if isinstance(found, Mapping) else None
    return name if isinstance(name, str) else None
