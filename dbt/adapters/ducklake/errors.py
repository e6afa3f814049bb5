"""The errors that this package raises on purpose, grouped by what the user should do.

    DuckLakeError
    ├── ConfigurationError      correct the profile, the installation or the option named in the message
    ├── StatementError          correct the SQL: it cannot be parsed, is not supported, or does not fit the table
    │   └── NotFoundError       the message names a schema, table, view, column or snapshot that does not exist
    ├── DataError               correct the data: a NULL in a NOT NULL column, a row that MERGE matches twice, a value that does not fit
    ├── LakeError               repair the lake: wrong format version, catalog rows that contradict each other
    │   ├── MissingFileError    restore the file, if the lake still lists it
    │   └── DamagedFileError    restore the file
    ├── ConflictError           run it again: a concurrent writer committed a change that this transaction depends on
    │   └── CatalogBusyError    run it again: other writers kept the catalog busy
    └── EngineError             Spark or the catalog database failed; `condition` has Spark's error class, if any
        └── CancelledError      the user cancelled the statement

Messages name the object as the user wrote it and say what to do next. They never contain a password, a token or a
connection string.
"""

from __future__ import annotations


class DuckLakeError(Exception):
    """Base class of all errors that dbt-ducklake raises on purpose."""


class ConfigurationError(DuckLakeError):
    """The profile, the environment or an option is wrong; the message names the field and says how to correct it."""


class StatementError(DuckLakeError):
    """The SQL cannot be run as written."""


class NotFoundError(StatementError):
    """An object that a statement or setting names does not exist.

    Args:
        kind: the kind of object, such as "schema", "table", "table or view", "column", "macro" or "snapshot".
        name: its name as the user wrote it, where needed with its table or place.
        hint: what to do, appended to the message.
    """

    def __init__(self, kind: str, name: str, hint: str = "") -> None:
        self.kind = kind
        self.name = name
        super().__init__(f"{kind} {name} does not exist" + (f". {hint}" if hint else ""))


class DataError(DuckLakeError):
    """The rows violate a rule of the table or of the statement; nothing was written."""


class LakeError(DuckLakeError):
    """The lake violates the DuckLake specification, or its version is not supported."""


class MissingFileError(LakeError):
    """A file of the lake does not exist.

    Args:
        message: the text of the error.
        path: the path of the file, as the reader that failed reported it.
    """

    def __init__(self, message: str, path: str) -> None:
        self.path = path
        super().__init__(message)


class DamagedFileError(LakeError):
    """A file of the lake cannot be read, because it is damaged or has been replaced by another one.

    Args:
        path: the file, in the form that the failed reader reported.
        reason: what the reader reported.
    """

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        super().__init__(
            f"The file {path} is damaged, or is not the one that the lake's catalog lists: {reason.strip().rstrip('.')}. "
            "Restore it from a backup; statements that do not read it still work"
        )


class ConflictError(DuckLakeError):
    """A concurrent writer committed a change that this transaction depends on; nothing was written, so run it again."""


class CatalogBusyError(ConflictError):
    """Other writers kept the catalog busy in every attempt to commit; nothing was written, so run it again."""


class EngineError(DuckLakeError):
    """Spark or the catalog database failed.

    Args:
        message: the engine's message with the user's names, without a stack trace.
        condition: Spark's error condition such as `TABLE_OR_VIEW_NOT_FOUND`, where there is one.
    """

    def __init__(self, message: str, condition: str | None = None) -> None:
        self.condition = condition
        super().__init__(message)


class CancelledError(EngineError):
    """The statement was cancelled before it committed; the lake is unchanged."""

    def __init__(self, message: str = "The statement was cancelled; nothing was committed", condition: str | None = None) -> None:
        super().__init__(message, condition)
