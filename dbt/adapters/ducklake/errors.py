"""Every error this package raises on purpose, in one tree that branches by what the caller should do.

    DuckLakeError
    ├── ConfigurationError      mend the profile, the installation or the option named in the text
    ├── StatementError          mend the SQL: it cannot be parsed, is not supported, or does not fit the table
    │   └── NotFoundError       a schema, table, view, column or snapshot that the text names does not exist
    ├── DataError               mend the data: a NULL where none may be, a merge key that matches twice, a value that does not fit
    ├── LakeError               mend the lake: wrong format version, rows that contradict each other
    │   └── MissingFileError    restore the file, if the lake still lists it
    ├── ConflictError           run it again: somebody else committed a change that this one depends on
    └── EngineError             Spark or the catalog database failed; `condition` has Spark's error class, if any
        └── CancelledError      the user asked for the work to stop

Messages name the thing, in the user's own spelling, and say what to do next. They never contain a password, a token or a
connection string.
"""

from __future__ import annotations


class DuckLakeError(Exception):
    """Base class: catch this to catch everything raised on purpose by dbt-ducklake."""


class ConfigurationError(DuckLakeError):
    """The profile, the environment or an option is wrong; the text names the field and the remedy."""


class StatementError(DuckLakeError):
    """The SQL cannot be run as written."""


class NotFoundError(StatementError):
    """A name in the SQL refers to nothing.

    Args:
        kind: what was looked for: "schema", "table", "view", "relation", "column" or "snapshot".
        name: its name as the user wrote it.
    """

    def __init__(self, kind: str, name: str, hint: str = "") -> None:
        self.kind = kind
        self.name = name
        super().__init__(f"{kind} {name} does not exist" + (f". {hint}" if hint else ""))


class DataError(DuckLakeError):
    """The rows break a rule of the table or of the statement; nothing was written."""


class LakeError(DuckLakeError):
    """The lake itself is not as the DuckLake specification says, or not of a version that can be read."""


class MissingFileError(LakeError):
    """A file that was to be read does not exist.

    Args:
        path: the file, as whoever missed it spells it.
    """

    def __init__(self, message: str, path: str) -> None:
        self.path = path
        super().__init__(message)


class ConflictError(DuckLakeError):
    """Another transaction committed a change that this one depends on; nothing was written, run it again."""


class EngineError(DuckLakeError):
    """Spark or the catalog database failed.

    Args:
        message: the engine's text in the user's names, without any stack trace.
        condition: Spark's error condition such as `TABLE_OR_VIEW_NOT_FOUND`, where there is one.
    """

    def __init__(self, message: str, condition: str | None = None) -> None:
        self.condition = condition
        super().__init__(message)


class CancelledError(EngineError):
    """The statement was cancelled before it committed; the lake is unchanged."""
