"""The function `changes` in FROM: what changed in a table since a model's last commit; and the model's positions, which its node sets."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..errors import StatementError
from ..format.identifiers import fold
from ..lake.context import Context
from ..lake.positions import COLUMNS, Input, all_rows, input_changes, position_rows, problems, required_input, set_positions
from ..lake.tables import required_table
from ..sql.references import references
from ..sql.values import Name
from .arguments import Parameter, boolean, identifier, named, parts
from .environment import Environment
from .procedure import PREFIX, Arguments, Procedure, call_of, resolve_call, schema_and_table
from .result import Result, local, queried

NAME = "changes"


def model_positions(env: Environment, model: Name, query: str, *, rebuilt: bool) -> None:
    """Stage the positions of a model after its query has read the changes of its inputs in this transaction.

    Args:
        env: the environment.
        model: the name of the model's table.
        query: the model's query, in which the calls of `ducklake_changes` name the inputs.
        rebuilt: the model was built from all rows of its inputs.

    Raises:
        StatementError: the query was written for the other case, because the state of the inputs has changed in the meantime.
    """
    calls = list(_calls(env, query))
    if any(bool(given["full_build"]) != rebuilt for _, given in calls):
        raise StatementError(f"the inputs of {model} were replaced, or their history expired, while dbt compiled it; run it again")
    target, schema, name = env.place(model)
    inputs = {found.name: found for found in (_input(owner, given) for owner, given in calls)}
    set_positions(target.context, schema, name, list(inputs.values()))


def position_problems(env: Environment, model: Name, inputs: Collection[tuple[str, str]] | None = None) -> list[str] | None:
    """Return why a model cannot continue from its positions; see `problems`."""
    target, schema, name = env.place(model)
    return problems(target.context, schema, name, lambda lake: _context(env, lake), inputs)


def _calls(env: Environment, query: str) -> Iterator[tuple[Environment, Arguments]]:
    """Yield the calls of `changes` in a query: the environment in the lake of each, and its arguments."""
    for reference in references(query).references:
        if reference.arguments is None or fold(reference.name.parts[-1]).removeprefix(PREFIX) != NAME:
            continue
        found = resolve_call(env.names, call_of(reference), CHANGES)
        if found is not None:
            yield env.with_names(found[0]), found[1]


def _input(env: Environment, given: Arguments) -> Input:
    return required_input(env.lake, env.context, given["schema_name"], given["table_name"])


def _changes(env: Environment, given: Arguments) -> Result:
    target, schema, name = env.place(Name(given["model"]))
    if (target.lake, schema, name) == (env.lake, given["schema_name"], given["table_name"]):
        raise StatementError(f"{schema}.{name} cannot read its own changes; read those of its inputs")
    source = _input(env, given)
    if given["full_build"]:
        return queried(all_rows(source))
    return queried(input_changes(source, required_table(target.context, schema, name), old_versions=bool(given["old_versions"])))


def _positions(env: Environment, given: Arguments) -> Result:
    return local("POSITIONS", COLUMNS, position_rows(env.context, *schema_and_table(env, given), lambda lake: _context(env, lake)))


def _context(env: Environment, lake: str) -> Context:
    found = env.in_lake(lake)
    if found is None:
        raise StatementError(f"a position is of the lake {lake}, which the profile does not attach; {env.names.known}")
    return found.context


CHANGES = Procedure(
    _changes,
    (
        Parameter("table_name", identifier, required=True),
        Parameter("model", parts, required=True, only_named=True),
        *named(full_build=boolean, old_versions=boolean),
    ),
    in_schema=True,
)
POSITIONS = Procedure(_positions, named(table_name=identifier, schema=identifier))
