"""Parsed queries, SHOW, DESCRIBE, CALL and the statements of transactions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .text import Name, Sql, TimeTravel


@dataclass(frozen=True)
class Begin:
    """BEGIN."""


@dataclass(frozen=True)
class Commit:
    """COMMIT."""


@dataclass(frozen=True)
class Rollback:
    """ROLLBACK."""


@dataclass(frozen=True)
class Use:
    """USE [SCHEMA|DATABASE|CATALOG] name."""

    name: Name


@dataclass(frozen=True)
class Checkpoint:
    """CHECKPOINT [name]: all maintenance, with the settings of the lake."""

    name: Name | None = None


@dataclass(frozen=True)
class Argument:
    """An argument of CALL: its name (None: positional) and its value as a Python constant (str, int, float, bool, None, datetime, list)."""

    name: str | None
    value: str | int | float | bool | datetime | list[object] | None


@dataclass(frozen=True)
class Call:
    """CALL name(arguments)."""

    name: Name
    arguments: tuple[Argument, ...] = ()


@dataclass(frozen=True)
class Show:
    """SHOW SCHEMAS / TABLES / VIEWS / COLUMNS / TABLE EXTENDED / CURRENT NAMESPACE.

    `name`: IN/FROM …; `like`: a pattern of Spark (`*`, `|`).
    """

    what: str
    name: Name | None = None
    like: str | None = None


@dataclass(frozen=True)
class Describe:
    """DESCRIBE [TABLE] [EXTENDED] name."""

    name: Name
    extended: bool = False
    at: TimeTravel | None = None


@dataclass(frozen=True)
class DescribeHistory:
    """DESCRIBE HISTORY name [LIMIT n], as in Delta Lake."""

    name: Name
    limit: int | None = None


@dataclass(frozen=True)
class DescribeDetail:
    """DESCRIBE DETAIL name, as in Delta Lake."""

    name: Name


@dataclass(frozen=True)
class ShowCreate:
    """SHOW CREATE TABLE name, of a table or a view."""

    name: Name


@dataclass(frozen=True)
class ShowProperties:
    """SHOW TBLPROPERTIES name [(key)]."""

    name: Name
    key: str | None = None


@dataclass(frozen=True)
class Query:
    """A statement that returns rows: SELECT, VALUES, TABLE, FROM, EXPLAIN …."""

    query: Sql


@dataclass(frozen=True)
class PassThrough:
    """A statement that Spark runs (SET, CREATE TEMPORARY FUNCTION, CACHE TABLE, …), at once and with its names bound."""

    query: Sql


@dataclass(frozen=True)
class Foreign:
    """A statement about a table that Spark runs if the table is in no lake. For a table of a lake, `instead` says what to do."""

    name: Name
    instead: str
    query: Sql
