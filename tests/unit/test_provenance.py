"""The values that a model adds to the JSON of its snapshot."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.ducklake.provenance import Provenance

OWN = Provenance("me", "dbt run", json.dumps({"node_id": "model.a.b"}))


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (None, {}),
        ({"ticket": 7}, {"ticket": 7}),
        ('{"ticket": {"n": 7}}', {"ticket": {"n": 7}}),
        ("nightly", {"info": "nightly"}),
        ("[1]", {"info": "[1]"}),
    ],
)
def test_additional_values_are_merged(more: Any, expected: dict[str, Any]) -> None:
    assert json.loads(OWN.with_extra_info(more).extra_info) == {"node_id": "model.a.b", **expected}


@pytest.mark.parametrize(("more", "message"), [({"node_id": "x"}, "cannot contain node_id"), (7, "must be a dictionary or a string")])
def test_values_of_dbt_are_not_overridden(more: Any, message: str) -> None:
    with pytest.raises(DbtRuntimeError, match=message):
        OWN.with_extra_info(more)
