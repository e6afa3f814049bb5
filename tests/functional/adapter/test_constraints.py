"""dbt.tests.adapter.constraints: NOT NULL and CHECK are enforced; keys are stored, and dbt warns that they are not enforced."""

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
from dbt.tests.util import run_dbt

from tests.places import FULL_MATRIX

ROWS = """
    select id, color, date_day
    from (
        -- depends_on: <foreign_key_model_identifier>
        select 'blue' as color, 1 as id, '2019-01-01' as date_day
    ) as model_subq
"""
HEADER = {"set session time zone": "set time zone", "current_setting('timezone')": "current_timezone()"}


class ColumnsEqual:
    """dbt and its errors use Spark's type names, even if the contract uses PostgreSQL's."""

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
        """Return values in Spark's dialect: of all types for a table, because one macro compares the types for all materializations."""
        found = [
            ["1", "integer", "int"],
            ["'1'", "text", "string"],
            ["true", "bool", "boolean"],
            ["timestamp '2013-11-03 00:00:00-07'", "timestamptz", "timestamp"],
            ["array('a', 'b', 'c')", "text[]", "array<string>"],
            ["named_struct('bar', 'baz', 'active', false)", "struct<bar:string,active:boolean>", "struct"],
        ]
        return found if FULL_MATRIX or isinstance(self, BaseTableConstraintsColumnsEqual) else [found[0], found[-1]]


class TestTableColumnsEqual(ColumnsEqual, BaseTableConstraintsColumnsEqual):
    pass


class TestViewColumnsEqual(ColumnsEqual, BaseViewConstraintsColumnsEqual):
    pass


class TestIncrementalColumnsEqual(ColumnsEqual, BaseIncrementalConstraintsColumnsEqual):
    pass


class OurDdl:
    """One statement creates the table and its rows; the types are Spark's."""

    @pytest.fixture(scope="class")
    def expected_sql(self):
        constraints = "not null primary key check ((id > 0)) check (id >= 1) references <foreign_key_model_identifier> (id) unique"
        return f"create or replace table <model_identifier> (id int {constraints}, color string, date_day string) as {ROWS}"


class TestTableDdl(OurDdl, BaseConstraintsRuntimeDdlEnforcement):
    pass


class TestIncrementalDdl(OurDdl, BaseIncrementalConstraintsRuntimeDdlEnforcement):
    pass


class TestModelConstraints(BaseModelConstraintsRuntimeEnforcement):
    @pytest.fixture(scope="class")
    def expected_sql(self):
        columns = "id int not null, color string, date_day string"
        key = "foreign key (id) references <foreign_key_model_identifier> (id)"
        constraints = f"check ((id > 0)), check (id >= 1), primary key (id), constraint strange_uniqueness_requirement unique (color, date_day), {key}"
        return f"create or replace table <model_identifier> ({columns}, {constraints}) as {ROWS}"


class TestQuotedColumn(BaseConstraintQuotedColumn):
    @pytest.fixture(scope="class")
    def models(self):
        """Quote names with back-quotes."""
        schema = fixtures.model_quoted_column_schema_yml.replace("(\"from\" = 'blue')", "(`from` = 'blue')")
        return {"my_model.sql": fixtures.my_model_with_quoted_column_name_sql, "constraints_schema.yml": schema}

    @pytest.fixture(scope="class")
    def expected_sql(self):
        """Quote names with back-quotes."""
        return """
            create or replace table <model_identifier> (id int not null, `from` string not null, date_day string, check ((`from` = 'blue'))) as
            select id, `from`, date_day
            from (select 'blue' as `from`, 1 as id, '2019-01-01' as date_day) as model_subq
        """


class OurError:
    @pytest.fixture(scope="class")
    def expected_error_messages(self):
        """Return our message for a NULL in a NOT NULL column."""
        return ["column id is NOT NULL", "a row has a NULL in it"]


class TestTableRollback(OurError, BaseConstraintsRollback):
    pass


class TestIncrementalRollback(OurError, BaseIncrementalConstraintsRollback):
    pass


class OurHeader:
    @pytest.fixture(scope="class")
    def models(self):
        """Use a header and a query in Spark's SQL."""
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


class TestContractOfIncrement:
    @pytest.fixture(scope="class")
    def models(self):
        config = "{{ config(materialized='incremental', on_schema_change='append_new_columns', contract={'enforced': true}) }}"
        columns = "[{name: id, data_type: int}, {name: amount, data_type: int}]"
        return {
            "grown.sql": f"{config} select {{{{ var('query', '1 as id, 2 as amount') }}}}",
            "schema.yml": f"models: [{{name: grown, columns: {columns}}}]",
        }

    def test_another_run_is_compared_with_the_contract_and_adds_nothing_if_it_differs(self, project):
        run_dbt(["run"])
        for query in ("2 as id", "2 as id, 2 as amount, 3 as more", "2 as id, 'x' as amount"):
            results = run_dbt(["run", "--vars", f'query: "{query}"'], expect_pass=False)
            assert "This model has an enforced contract that failed" in results[0].message, query
        run_dbt(["run", "--vars", "query: 3 as id, 4 as amount"])
        assert project.run_sql("select * from {schema}.grown order by id", fetch="all") == [(1, 2), (3, 4)]
