"""dbt.tests.adapter.caching."""

from __future__ import annotations

from dbt.tests.adapter.caching.test_caching import (
    BaseCachingLowercaseModel,
    BaseCachingSelectedSchemaOnly,
    BaseCachingUppercaseModel,
    BaseNoPopulateCache,
)


class TestLowercaseModel(BaseCachingLowercaseModel):
    pass


class TestUppercaseModel(BaseCachingUppercaseModel):
    pass


class TestSelectedSchemaOnly(BaseCachingSelectedSchemaOnly):
    pass


class TestNoPopulateCache(BaseNoPopulateCache):
    pass
