"""The command line of dbt, which also adds the name of each macro that it calls to the file of its first argument."""

from __future__ import annotations

import sys
from typing import Any

from dbt.cli.main import cli
from dbt.clients.jinja import MacroGenerator

called: set[str] = set()
call = MacroGenerator.__call__


def recorded(self: MacroGenerator, *args: Any, **kwargs: Any) -> Any:
    """Call a macro. Its name is recorded when it returns, so not if it fails."""
    found = call(self, *args, **kwargs)  # type: ignore[no-untyped-call]
    called.add(self.macro.unique_id)  # type: ignore[attr-defined]
    return found


if __name__ == "__main__":
    MacroGenerator.__call__ = recorded  # type: ignore[method-assign]
    try:
        cli(sys.argv[2:])
    finally:
        with open(sys.argv[1], "a", encoding="utf-8") as file:
            file.write("".join(f"{name}\n" for name in sorted(called)))
