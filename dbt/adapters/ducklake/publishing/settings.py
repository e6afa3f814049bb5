"""The settings `publish` and `publish_on` of a command: when changes become visible, and which results allow it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from dbt_common.exceptions import DbtRuntimeError

NODE, TESTED, RUN = "node", "tested", "run"
SUCCESS, WARN, ALWAYS = "success", "warn", "always"
CHOICES = {"publish": (NODE, TESTED, RUN), "publish_on": (WARN, SUCCESS, ALWAYS)}
"""The settings and their values, the default first."""
VARIABLE = "ducklake_"
"""What the names of dbt's variables begin with."""
_STAGED_COMMANDS = ("build", "run", "seed", "snapshot", "test")
"""The commands whose nodes `publish: run` and `publish: tested` stage; all others commit each statement or node."""


class Profile(Protocol):
    """The fields of a profile that decide when changes are published."""

    publish: str | None
    publish_on: str | None


@dataclass(frozen=True)
class Publishing:
    """The `publish` and `publish_on` of a command."""

    publish: str
    publish_on: str
    on_command_line: Collection[str] = ()
    """Which of the two `--vars` sets, so that it applies to every node."""

    @classmethod
    def of(cls, profile: Profile, config: Any = None) -> Publishing:
        """Return the settings of `--vars`, else of the project's variables, else of `+publish` for all its models, else of the profile.

        Args:
            profile: the credentials of the target.
            config: dbt's runtime configuration; without it, the profile decides.

        Raises:
            DbtRuntimeError: a value is unknown; the message lists the known ones.
        """
        given = {}
        for name, known in CHOICES.items():
            value = next((found[name] for found in _settings(config) if name in found), getattr(profile, name))
            if value not in (None, *known):
                places = f"the profile or the models of dbt_project.yml, and the variable `{VARIABLE}{name}`"
                raise DbtRuntimeError(f"`{name}` in {places} must be one of {', '.join(known)}; it is {value!r}")
            given[name] = value or known[0]
        return cls(**given, on_command_line=CHOICES.keys() & next(_settings(config)).keys())

    def stages(self, config: Any) -> bool:
        """Whether nodes of this command are staged before they are published."""
        return self.publish != NODE and builds_nodes(config)

    def failure(self, test: Mapping[str, Any], *, error: bool, warning: bool, warnings_fail: bool = False) -> str | None:
        """Return why the result of a test prevents publishing its node; None if it does not.

        Args:
            test: the test's node.
            error: whether the number of failures satisfies `error_if`.
            warning: whether it satisfies `warn_if`.
            warnings_fail: whether dbt turns warnings into errors.
        """
        fails = error and str(test["config"]["severity"]).upper() == "ERROR"
        if self.publish_on == ALWAYS or not (fails or warning):
            return None
        if fails or warnings_fail:
            return f"{test['name']} failed"
        return f"{test['name']} warned, and publish_on is success" if self.publish_on == SUCCESS else None


def builds_nodes(config: Any) -> bool:
    """Whether a command is one whose nodes may be staged."""
    return getattr(getattr(config, "args", None), "which", None) in _STAGED_COMMANDS


def _settings(config: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the settings in the variables of the command line; in those of the project, and of all; in the `models` configs of both."""
    yield _of_variables(getattr(config, "cli_vars", None) or {})
    project = getattr(config, "project_name", None)
    variables = config.vars.to_dict() if hasattr(config, "vars") else {}
    yield _of_variables(variables[project]) if isinstance(variables.get(project), Mapping) else {}
    yield _of_variables(variables)
    models = getattr(config, "models", None) or {}
    yield _configs(models[project]) if isinstance(models.get(project), Mapping) else {}
    yield _configs(models)


def _of_variables(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings in variables, whose names have a prefix because a project may have its own variable `publish`."""
    return {name: variables[VARIABLE + name] for name in CHOICES if VARIABLE + name in variables}


def _configs(models: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configs of a map of `models`; a map without `+` in its name is a folder, which may be called `publish`."""
    return {key.removeprefix("+"): value for key, value in models.items() if key.startswith("+") or not isinstance(value, Mapping)}
