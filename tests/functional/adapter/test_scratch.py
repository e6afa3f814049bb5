from dbt.tests.adapter.store_test_failures_tests.basic import *
from dbt.tests.adapter.store_test_failures_tests.test_store_test_failures import BaseStoreTestFailures
from dbt.tests.adapter.unit_testing.test_types import BaseUnitTestingTypes, BaseUnitTestingVarcharFixtureNoTruncation
from dbt.tests.adapter.unit_testing.test_case_insensitivity import BaseUnitTestCaseInsensivity
from dbt.tests.adapter.unit_testing.test_invalid_input import BaseUnitTestInvalidInput
from dbt.tests.adapter.query_comment.test_query_comment import BaseMacroQueryComments
from dbt.tests.adapter.dbt_show.test_dbt_show import BaseShowLimit, BaseShowDoesNotHandleDoubleLimit
from dbt.tests.adapter.empty.test_empty import BaseTestEmpty, BaseTestEmptyInlineSourceRef, BaseTestEmptySeedFlag, MetadataWithEmptyFlag
from dbt.tests.adapter.simple_copy.test_simple_copy import SimpleCopyBase
from dbt.tests.adapter.sample_mode.test_sample_mode import BaseSampleModeTest
from dbt.tests.adapter.dbt_clone.test_dbt_clone import BaseCloneNotPossible
from dbt.tests.adapter.constraints.test_constraints import BaseTableConstraintsColumnsEqual, BaseConstraintsRollback, BaseConstraintsRuntimeDdlEnforcement
import pytest
class TestA1(BaseStoreTestFailures): pass
class TestA2(StoreTestFailuresAsInteractions): pass
class TestB1(BaseUnitTestingTypes): pass
class TestB2(BaseUnitTestingVarcharFixtureNoTruncation): pass
class TestB3(BaseUnitTestCaseInsensivity): pass
class TestB4(BaseUnitTestInvalidInput): pass
class TestC1(BaseMacroQueryComments): pass
class TestD1(BaseShowLimit): pass
class TestD2(BaseShowDoesNotHandleDoubleLimit):
    DATABASE_ERROR_MESSAGE = "Syntax error at or near"
class TestE1(BaseTestEmpty): pass
class TestE2(BaseTestEmptyInlineSourceRef): pass
class TestE3(BaseTestEmptySeedFlag): pass
class TestE4(MetadataWithEmptyFlag): pass
class TestF(SimpleCopyBase): pass
class TestG(BaseSampleModeTest): pass
class TestH(BaseCloneNotPossible): pass
class TestI1(BaseTableConstraintsColumnsEqual): pass
class TestI2(BaseConstraintsRollback): pass
class TestI3(BaseConstraintsRuntimeDdlEnforcement): pass
