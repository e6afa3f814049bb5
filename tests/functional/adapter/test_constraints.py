"""dbt.tests.adapter.constraints: NOT NULL is the constraint that a lake has and enforces; dbt warns of the others and leaves them out."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.constraints import fixtures
from dbt.tests.adapter.constraints.test_constraints import (
    BaseConstraintQuotedColumn,
    BaseConstraintsRollback,
    BaseConstraintsRuntimeDdlEnforcement,
    BaseIncrementalConstraintsColumnsEqual,
    BaseIncrementalConstraintsRollback,
    BaseIncrementalConstraintsRuntimeDdlEnforcement,
    BaseIncrementalContractSqlHeader,
    BaseIncrementalForeignKeyConstraint,
    BaseModelConstraintsRuntimeEnforcement,
    BaseTableConstraintsColumnsEqual,
    BaseTableContractSqlHeader,
    BaseViewConstraintsColumnsEqual,
)

ROWS = """
    select id, color, date_day
    from (
        -- depends_on: <foreign_key_model_identifier>
        select 'blue' as color, 1 as id, '2019-01-01' as date_day
    ) as model_subq
"""
HEADER = {"set session time zone": "set time zone", "current_setting('timezone')": "current_timezone()"}


class ColumnsEqual:
    """dbt and its errors name types as Spark does, also where the contract names them as PostgreSQL does."""

    @pytest.fixture
    def string_type(self):
        return "string"

    @pytest.fixture
    def schema_string_type(self):
        return "text"

    @pytest.fixture
    def int_type(self):
        return "int"

    @pytest.fixture
    def schema_int_type(self):
        return "integer"

    @pytest.fixture
    def data_types(self):
        """Values in Spark's dialect."""
        return [
            ["1", "integer", "int"],
            ["'1'", "text", "string"],
            ["true", "bool", "boolean"],
            ["timestamp '2013-11-03 00:00:00-07'", "timestamptz", "timestamp"],
            ["array('a', 'b', 'c')", "text[]", "array<string>"],
            ["named_struct('bar', 'baz', 'active', false)", "struct<bar:string,active:boolean>", "struct"],
        ]


class TestTableColumnsEqual(ColumnsEqual, BaseTableConstraintsColumnsEqual):
    pass


class TestViewColumnsEqual(ColumnsEqual, BaseViewConstraintsColumnsEqual):
    pass


class TestIncrementalColumnsEqual(ColumnsEqual, BaseIncrementalConstraintsColumnsEqual):
    pass


class OurDdl:
    """One statement makes the table and its rows; types are Spark's, and of the constraints there is NOT NULL."""

    @pytest.fixture(scope="class")
    def expected_sql(self):
        return f"create or replace table <model_identifier> (id int not null, color string, date_day string) as {ROWS}"


class TestTableDdl(OurDdl, BaseConstraintsRuntimeDdlEnforcement):
    pass


class TestIncrementalDdl(OurDdl, BaseIncrementalConstraintsRuntimeDdlEnforcement):
    pass


class TestModelConstraints(OurDdl, BaseModelConstraintsRuntimeEnforcement):
    pass


class TestQuotedColumn(BaseConstraintQuotedColumn):
    @pytest.fixture(scope="class")
    def expected_sql(self):
        """Back-quotes."""
        return """
            create or replace table <model_identifier> (id int not null, `from` string not null, date_day string) as
            select id, `from`, date_day
            from (select 'blue' as `from`, 1 as id, '2019-01-01' as date_day) as model_subq
        """


class OurError:
    @pytest.fixture(scope="class")
    def expected_error_messages(self):
        """Our words for a NULL in a column that is NOT NULL."""
        return ["column id is NOT NULL", "a row has a NULL there"]


class TestTableRollback(OurError, BaseConstraintsRollback):
    pass


class TestIncrementalRollback(OurError, BaseIncrementalConstraintsRollback):
    pass


class OurHeader:
    @pytest.fixture(scope="class")
    def models(self):
        """The header and the query as Spark says them."""
        model = self.model
        for theirs, ours in HEADER.items():
            model = model.replace(theirs, ours)
        return {"my_model_contract_sql_header.sql": model, "constraints_schema.yml": fixtures.model_contract_header_schema_yml}


class TestTableSqlHeader(OurHeader, BaseTableContractSqlHeader):
    model = fixtures.my_model_contract_sql_header_sql


class TestIncrementalSqlHeader(OurHeader, BaseIncrementalContractSqlHeader):
    model = fixtures.my_model_incremental_contract_sql_header_sql


class TestForeignKey(BaseIncrementalForeignKeyConstraint):
    pass
