"""dbt.tests.adapter.column_types, with the types of a lake."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.column_types.test_column_types import BasePostgresColumnTypes

MODEL = """
select
    cast(1 as tinyint) as tinyint_col,
    cast(2 as smallint) as smallint_col,
    cast(3 as int) as int_col,
    cast(4 as bigint) as bigint_col,
    cast(5.0 as float) as float_col,
    cast(6.0 as double) as double_col,
    cast(7.0 as decimal(10,2)) as decimal_col,
    cast('8' as string) as string_col,
    cast('9' as varchar(20)) as varchar_col,
    true as boolean_col,
    date '2020-01-01' as date_col,
    array(1) as array_col
"""
SCHEMA = """
models:
  - name: model
    data_tests:
      - is_type:
          column_map:
            tinyint_col: ['integer', 'number', 'not float', 'not numeric', 'not string']
            smallint_col: ['integer', 'number']
            int_col: ['integer', 'number']
            bigint_col: ['integer', 'number']
            float_col: ['float', 'number', 'not integer']
            double_col: ['float', 'number']
            decimal_col: ['numeric', 'number', 'not float']
            string_col: ['string', 'not number']
            varchar_col: ['string', 'not number']
            boolean_col: ['not string', 'not number']
            date_col: ['not string', 'not number']
            array_col: ['not string', 'not number']
"""


class TestColumnTypes(BasePostgresColumnTypes):
    @pytest.fixture(scope="class")
    def models(self):
        """Use Spark's types instead of PostgreSQL's."""
        return {"model.sql": MODEL, "schema.yml": SCHEMA}
