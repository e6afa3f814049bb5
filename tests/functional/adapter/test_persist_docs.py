"""dbt.tests.adapter.persist_docs."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.persist_docs import fixtures
from dbt.tests.adapter.persist_docs.test_persist_docs import (
    BasePersistDocs,
    BasePersistDocsAllColumnsMissing,
    BasePersistDocsColumnMissing,
    BasePersistDocsCommentOnQuotedColumn,
    BasePersistDocsQuotedColumnCaseSensitive,
    BasePersistDocsQuotedDescriptionNotAppliedOnMismatch,
)

from tests.functional.adapter.dialect import in_spark


class TestPersistDocs(BasePersistDocs):
    pass


class TestColumnMissing(BasePersistDocsColumnMissing):
    pass


class TestAllColumnsMissing(BasePersistDocsAllColumnsMissing):
    pass


class TestQuotedColumnCaseSensitive(BasePersistDocsQuotedColumnCaseSensitive):
    pass


class TestQuotedDescriptionNotAppliedOnMismatch(BasePersistDocsQuotedDescriptionNotAppliedOnMismatch):
    pass


class TestCommentOnQuotedColumn(BasePersistDocsCommentOnQuotedColumn):
    @pytest.fixture(scope="class")
    def models(self):
        """Quote names with backticks, as Spark does."""
        return {"quote_model.sql": in_spark(fixtures._MODELS__MODEL_USING_QUOTE_UTIL)}
