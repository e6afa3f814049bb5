"""dbt.tests.adapter.store_test_failures_tests."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.store_test_failures_tests.basic import (
    StoreTestFailuresAsExceptions,
    StoreTestFailuresAsGeneric,
    StoreTestFailuresAsInteractions,
    StoreTestFailuresAsProjectLevelEphemeral,
    StoreTestFailuresAsProjectLevelOff,
    StoreTestFailuresAsProjectLevelView,
)
from dbt.tests.adapter.store_test_failures_tests.test_store_test_failures import BaseStoreTestFailures, BaseStoreTestFailuresLimit


class TestInteractions(StoreTestFailuresAsInteractions):
    pass


@pytest.mark.nightly
class TestProjectLevelOff(StoreTestFailuresAsProjectLevelOff):
    pass


class TestProjectLevelView(StoreTestFailuresAsProjectLevelView):
    pass


@pytest.mark.nightly
class TestProjectLevelEphemeral(StoreTestFailuresAsProjectLevelEphemeral):
    pass


@pytest.mark.nightly
class TestGeneric(StoreTestFailuresAsGeneric):
    pass


@pytest.mark.nightly
class TestExceptions(StoreTestFailuresAsExceptions):
    pass


class TestStoreTestFailures(BaseStoreTestFailures):
    pass


class TestStoreTestFailuresLimit(BaseStoreTestFailuresLimit):
    pass
