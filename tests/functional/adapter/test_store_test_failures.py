"""dbt.tests.adapter.store_test_failures_tests."""

from __future__ import annotations

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


class TestProjectLevelOff(StoreTestFailuresAsProjectLevelOff):
    pass


class TestProjectLevelView(StoreTestFailuresAsProjectLevelView):
    pass


class TestProjectLevelEphemeral(StoreTestFailuresAsProjectLevelEphemeral):
    pass


class TestGeneric(StoreTestFailuresAsGeneric):
    pass


class TestExceptions(StoreTestFailuresAsExceptions):
    pass


class TestStoreTestFailures(BaseStoreTestFailures):
    pass


class TestStoreTestFailuresLimit(BaseStoreTestFailuresLimit):
    pass
