"""Parse the constraints of CREATE TABLE: after the type of a column, or among the columns."""

from __future__ import annotations

from ..format.constraints import CHECK, FOREIGN_KEY, PRIMARY_KEY, UNIQUE, Constraint
from .tokens import Cursor

STARTS = ("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN", "REFERENCES")
_NOISE = (("NOT", "ENFORCED"), ("ENFORCED",), ("NORELY",), ("RELY",), ("NOT", "DEFERRABLE"), ("INITIALLY", "DEFERRED"))
_ACTIONS = ("CASCADE", "RESTRICT")


def column_constraint(item: Cursor, column: str) -> Constraint:
    """Parse `[CONSTRAINT name] PRIMARY KEY | UNIQUE | CHECK (…) | [FOREIGN KEY] REFERENCES table [(columns)]` after a type."""
    name = item.identifier() if item.accept("CONSTRAINT") else ""
    if item.accept("FOREIGN", "KEY") or item.at("REFERENCES"):
        return _reference(item, name, (column,))
    return _constraint(item, name, (column,))


def table_constraint(item: Cursor) -> Constraint:
    """Parse `[CONSTRAINT name] PRIMARY KEY (…) | UNIQUE (…) | CHECK (…) | FOREIGN KEY (…) REFERENCES table [(…)]`."""
    name = item.identifier() if item.accept("CONSTRAINT") else ""
    if item.accept("FOREIGN", "KEY"):
        found = _reference(item, name, _names(item))
    else:
        found = _constraint(item, name, None)
    item.finish()
    return found


def starts_table_constraint(item: Cursor) -> bool:
    """Whether a constraint of the table comes next and not a column, which may also be called `check` or `unique`."""
    if item.at("CONSTRAINT"):
        return item.peek(2).word in STARTS
    return item.at("PRIMARY", "KEY") or item.at("FOREIGN", "KEY") or item.at("UNIQUE", "(") or item.at("CHECK", "(")


def _constraint(item: Cursor, name: str, columns: tuple[str, ...] | None) -> Constraint:
    """Parse a constraint after its name. If `columns` is None, the columns of a key are read too."""
    if item.accept("CHECK"):
        found = Constraint(CHECK, name, expression=item.group().text.strip())
    elif item.accept("PRIMARY", "KEY"):
        found = Constraint(PRIMARY_KEY, name, columns or _names(item))
    elif item.accept("UNIQUE"):
        found = Constraint(UNIQUE, name, columns or _names(item))
    else:
        raise item.error("PRIMARY KEY, UNIQUE, FOREIGN KEY or CHECK (…) was expected")
    _skip_noise(item)
    return found


def _reference(item: Cursor, name: str, columns: tuple[str, ...]) -> Constraint:
    item.expect("REFERENCES")
    table = str(item.name())
    referenced = _names(item) if item.at("(") else ()
    while item.accept("ON"):
        if item.accept_any("DELETE", "UPDATE") is None:
            raise item.error("DELETE or UPDATE was expected")
        if item.accept_any(*_ACTIONS) is None and not any(item.accept(*words) for words in (("NO", "ACTION"), ("SET", "NULL"))):
            raise item.error("NO ACTION was expected")
    _skip_noise(item)
    return Constraint(FOREIGN_KEY, name, columns, references=table, referenced=referenced)


def _names(item: Cursor) -> tuple[str, ...]:
    found = []
    for each in item.group().items():
        found.append(each.identifier())
        each.finish()
    if not found:
        raise item.error("a column was expected")
    return tuple(found)


def _skip_noise(item: Cursor) -> None:
    while any(item.accept(*words) for words in _NOISE):
        pass
