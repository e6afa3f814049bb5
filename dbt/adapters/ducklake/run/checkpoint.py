"""Run CHECKPOINT: all maintenance of a lake in the reference's order, with the lake's options.

Specification: "Checkpoint". Each step is a separate transaction, so completed steps persist if a later one fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..errors import StatementError
from ..format.identifiers import fold
from ..sql.values import Call, Checkpoint, Name
from .result import Result, local

STEPS = (
    *("flush_inlined_data", "expire_snapshots", "merge_adjacent_files"),
    *("rewrite_data_files", "cleanup_old_files", "delete_orphaned_files"),
)


def run_checkpoint(statement: Checkpoint, lakes: Sequence[str], in_transaction: bool, call: Callable[[Call], Result]) -> Result:
    """Run each step with `call`, for the named lake or the current one, and return a row for each step.

    Raises:
        StatementError: no lake has the name, or a transaction is open.
    """
    lake = () if statement.name is None else statement.name.parts
    if statement.name is not None and fold(str(statement.name)) not in map(fold, lakes):
        raise StatementError(f"CHECKPOINT {statement.name}: there is no such lake; the lakes are {', '.join(lakes)}")
    if in_transaction:
        raise StatementError("CHECKPOINT cannot run inside a transaction, because it cannot be rolled back; COMMIT first")
    rows = []
    for step in STEPS:
        if step == "expire_snapshots" and not _expires(call, lake):
            rows.append((step, 0, "EXPIRE SNAPSHOTS: the option expire_older_than is not set"))
            continue
        result = call(Call(Name((*lake, step)), ()))
        rows.append((step, len(result.rows or ()), result.message))
    return local("CHECKPOINT", [("step", "string"), ("results", "bigint"), ("outcome", "string")], rows)


def _expires(call: Callable[[Call], Result], lake: tuple[str, ...]) -> bool:
    """Whether the lake has the option `expire_older_than`, the age from which snapshots expire."""
    options = call(Call(Name((*lake, "options")), ())).rows or ()
    return any(name == "expire_older_than" and value and scope == "GLOBAL" for name, _, value, scope, _ in options)
