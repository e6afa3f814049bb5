"""dbt.tests.adapter.basic."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.basic.expected_catalog import base_expected_catalog, expected_references_catalog, no_stats
from dbt.tests.adapter.basic.test_adapter_methods import BaseAdapterMethod
from dbt.tests.adapter.basic.test_base import BaseSimpleMaterializations
from dbt.tests.adapter.basic.test_docs_generate import BaseDocsGenerate, BaseDocsGenReferences
from dbt.tests.adapter.basic.test_empty import BaseEmpty
from dbt.tests.adapter.basic.test_ephemeral import BaseEphemeral
from dbt.tests.adapter.basic.test_generic_tests import BaseGenericTests
from dbt.tests.adapter.basic.test_get_catalog_for_single_relation import BaseGetCatalogForSingleRelation
from dbt.tests.adapter.basic.test_incremental import (
    BaseIncremental,
    BaseIncrementalBadStrategy,
    BaseIncrementalNotSchemaChange,
)
from dbt.tests.adapter.basic.test_singular_tests import BaseSingularTests
from dbt.tests.adapter.basic.test_singular_tests_ephemeral import BaseSingularTestsEphemeral
from dbt.tests.adapter.basic.test_snapshot_check_cols import BaseSnapshotCheckCols
from dbt.tests.adapter.basic.test_snapshot_timestamp import BaseSnapshotTimestamp
from dbt.tests.adapter.basic.test_table_materialization import BaseTableMaterialization
from dbt.tests.adapter.basic.test_validate_connection import BaseValidateConnection
from dbt.tests.util import AnyInteger, AnyString
from dbt_common.contracts.metadata import CatalogTable, ColumnMetadata, StatsItem, TableMetadata


class AnyStats:
    """Compares equal to any table statistics with the expected names, because their values differ between runs."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dict) and set(other) == {"row_count", "bytes", "files", "snapshot", "last_modified", "has_stats"}

    __hash__ = None  # type: ignore[assignment]


# The type names are Spark's, the statistics are those of a lake, and relations have no owner.
CATALOG_ARGUMENTS: dict[str, Any] = {
    "role": None,
    "id_type": "bigint",
    "text_type": "string",
    "time_type": "timestamp",
    "view_type": "view",
    "table_type": "table",
    "model_stats": no_stats(),
    "seed_stats": AnyStats(),
}


class TestAdapterMethods(BaseAdapterMethod):
    pass


class TestSimpleMaterializations(BaseSimpleMaterializations):
    pass


@pytest.mark.manifest_file
class TestDocsGenerate(BaseDocsGenerate):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project):
        return base_expected_catalog(project, **CATALOG_ARGUMENTS)


@pytest.mark.manifest_file
class TestDocsGenReferences(BaseDocsGenReferences):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project):
        tables = {**CATALOG_ARGUMENTS, "model_stats": AnyStats()}
        return expected_references_catalog(project, **tables, bigint_type="bigint", view_summary_stats=no_stats())


class TestEmpty(BaseEmpty):
    pass


class TestEphemeral(BaseEphemeral):
    pass


class TestGenericTests(BaseGenericTests):
    pass


class TestGetCatalogForSingleRelation(BaseGetCatalogForSingleRelation):
    @staticmethod
    def expected(project, name: str, kind: str, stats: dict[str, StatsItem]) -> CatalogTable:
        types = {"id": "bigint", "first_name": "string", "email": "string", "ip_address": "string", "updated_at": "timestamp"}
        return CatalogTable(
            metadata=TableMetadata(type=kind, schema=project.test_schema, name=name, database=project.database),
            columns={
                name: ColumnMetadata(type=type_, index=index, name=name) for index, (name, type_) in enumerate(types.items(), start=1)
            },
            stats=stats,
        )

    @pytest.fixture(scope="class")
    def expected_catalog_my_seed(self, project):
        stats = [
            StatsItem("row_count", "Rows", 1, True, "Rows in the table"),
            StatsItem("bytes", "Bytes", AnyInteger(), True, "Size of its data files"),
            StatsItem("files", "Files", 0, True, "Number of its data files"),  # its only row is inlined
            StatsItem("delete_files", "Delete files", 0, False, "Files that list the deleted rows of data files, 0 bytes in total"),
            StatsItem("snapshot", "Last snapshot", AnyInteger(), True, "The snapshot that last changed its rows"),
            StatsItem("last_modified", "Last modified", AnyString(), True, "When that snapshot was committed"),
            StatsItem("partitioned_by", "Partitioned by", "", False, "Partition keys of new rows"),
            StatsItem("sorted_by", "Sorted by", "", False, "The order of rows in new files"),
            StatsItem("positions", "Changes read", "", False, "The snapshot up to which it has read the changes of each input"),
        ]
        return self.expected(project, "my_seed", "table", {item.id: item for item in stats})

    @pytest.fixture(scope="class")
    def expected_catalog_my_view_model(self, project):
        return self.expected(project, "my_view_model", "view", {})


class TestIncremental(BaseIncremental):
    pass


class TestIncrementalNotSchemaChange(BaseIncrementalNotSchemaChange):
    pass


class TestIncrementalBadStrategy(BaseIncrementalBadStrategy):
    pass


class TestSingularTests(BaseSingularTests):
    pass


class TestSingularTestsEphemeral(BaseSingularTestsEphemeral):
    pass


class TestSnapshotCheckCols(BaseSnapshotCheckCols):
    pass


class TestSnapshotTimestamp(BaseSnapshotTimestamp):
    pass


class TestTableMaterialization(BaseTableMaterialization):
    pass


class TestValidateConnection(BaseValidateConnection):
    pass
