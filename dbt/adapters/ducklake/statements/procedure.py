"""What a procedure or function of a lake is: what runs, and which arguments it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .arguments import Parameter
from .environment import Environment
from .result import Result

Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class Procedure:
    """`parameters` are in the order of their positions."""

    run: Callable[[Environment, Arguments], Result]
    parameters: tuple[Parameter, ...] = ()
