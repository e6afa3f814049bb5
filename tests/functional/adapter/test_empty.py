"""dbt.tests.adapter.empty; `dbt seed --empty` requires dbt-core 1.12."""

from __future__ import annotations

from dbt.tests.adapter.empty.test_empty import BaseTestEmpty, BaseTestEmptyInlineSourceRef, MetadataWithEmptyFlag


class TestEmpty(BaseTestEmpty):
    pass


class TestEmptyInlineSourceRef(BaseTestEmptyInlineSourceRef):
    pass


class TestMetadataWithEmptyFlag(MetadataWithEmptyFlag):
    pass
