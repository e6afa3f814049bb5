"""Virtual columns in statements: they are replaced by real columns of their tables, and no star includes them."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.sql.references import references
from dbt.adapters.ducklake.sql.values import Reference

CASES = [
    ("select rowid, * from t", "select rowid, * EXCEPT (`t`.`rowid`) from [t+rowid] AS `t`"),
    ("select x.*, x.RowId from s.t as x", "select x.* EXCEPT (`x`.`rowid`), x.RowId from [s.t+rowid] as x"),
    ("select * from t where t.filename = 'a'", "select * EXCEPT (`t`.`filename`) from [t+filename] AS `t` where t.filename = 'a'"),
    ("select count(*), a * rowid from t", "select count(*), a * rowid from [t+rowid] AS `t`"),
    ("select * except (a) from t order by rowid", "select * except (`t`.`rowid`, a) from [t+rowid] AS `t` order by rowid"),
    (
        "select *, t.rowid from t join u x on t.rowid = x.rowid",
        "select * EXCEPT (`t`.`rowid`, `x`.`rowid`), t.rowid from [t+rowid] AS `t` join [u+rowid] x on t.rowid = x.rowid",
    ),
    (
        "select u.*, t.* from t, u where snapshot_id > 1 and rowid = 0",
        (
            "select u.* EXCEPT (`u`.`rowid`, `u`.`snapshot_id`), t.* EXCEPT (`t`.`rowid`, `t`.`snapshot_id`) "
            "from [t+rowid+snapshot_id] AS `t`, [u+rowid+snapshot_id] AS `u` where snapshot_id > 1 and rowid = 0"
        ),
    ),
    (
        "select * from t where exists (select * from u where u.k = t.rowid)",
        ("select * EXCEPT (`t`.`rowid`) from [t+rowid] AS `t` where exists (select * from [u] AS `u` where u.k = t.rowid)"),
    ),
    (
        "select (select max(u.k) from s.u where s.u.k < t.rowid and u.snapshot_id > 1) from t",
        "select (select max(u.k) from [s.u+snapshot_id] AS `u` where `u`.k < t.rowid and u.snapshot_id > 1) from [t+rowid] AS `t`",
    ),
    (
        "select *, x.rowid from t join u x using (a)",
        "select * EXCEPT (`x`.`rowid`), x.rowid from [t] AS `t` join [u+rowid] x using (a)",
    ),
    ("select x.filename, x.* from (s.t) x", "select x.filename, x.* EXCEPT (`x`.`filename`) from ([s.t+filename] AS `t`) x"),
    (
        "select upper(a) as filename from t where filename = 'x'",
        "select upper(a) as filename from [t+filename] AS `t` where filename = 'x'",
    ),
    (
        "select upper(a) as rowid from t join u on rowid = 1 group by rowid",
        "select upper(a) as rowid from [t+rowid] AS `t` join [u+rowid] AS `u` on rowid = 1 group by rowid",
    ),
    ("select s.rowid from t", "select s.rowid from [t] AS `t`"),
    (
        "select upper(p) as filename, count(*) from t group by filename",
        "select upper(p) as filename, count(*) from [t] AS `t` group by filename",
    ),
    ("select upper(p) filename, length(filename) from t", "select upper(p) filename, length(filename) from [t] AS `t`"),
    ("select 'x' filename, count(*) from t group by filename", "select 'x' filename, count(*) from [t] AS `t` group by filename"),
    ("select 1 rowid, a from t order by rowid", "select 1 rowid, a from [t] AS `t` order by rowid"),
    ("select name filename, a from t group by filename", "select name filename, a from [t] AS `t` group by filename"),
    ("select t.name filename, a from t group by filename", "select t.name filename, a from [t] AS `t` group by filename"),
    ("select `a b` `Filename`, a from t group by filename", "select `a b` `Filename`, a from [t] AS `t` group by filename"),
    ("select null rowid, a from t order by rowid", "select null rowid, a from [t] AS `t` order by rowid"),
    ("select rowid rowid from t where a > 1 group by rowid", "select rowid rowid from [t+rowid] AS `t` where a > 1 group by rowid"),
    ("select `rowid` rowid from t group by rowid", "select `rowid` rowid from [t+rowid] AS `t` group by rowid"),
    ("select distinct rowid from t order by a, rowid", "select distinct rowid from [t+rowid] AS `t` order by a, rowid"),
    (
        "select case when a then rowid else filename end b from t",
        "select case when a then rowid else filename end b from [t+rowid+filename] AS `t`",
    ),
    ("select a, case rowid when 1 then 2 end c from t", "select a, case rowid when 1 then 2 end c from [t+rowid] AS `t`"),
    ("select a is distinct from rowid from t", "select a is distinct from rowid from [t+rowid] AS `t`"),
    ("select a from t having not rowid between 1 and rowid", "select a from [t+rowid] AS `t` having not rowid between 1 and rowid"),
    ("select rowid as rowid from t where rowid > 1", "select rowid as rowid from [t+rowid] AS `t` where rowid > 1"),
    ("select max(rowid) as rowid from t", "select max(rowid) as rowid from [t+rowid] AS `t`"),
    ("select struct(a as rowid), rowid from t", "select struct(a as rowid), rowid from [t+rowid] AS `t`"),
    (
        "select * from t union all select a from u where rowid = 1",
        "select * from [t] AS `t` union all select a from [u+rowid] AS `u` where rowid = 1",
    ),
    ("with c as (select rowid r from t) select * from c", "with c as (select rowid r from [t+rowid] AS `t`) select * from c"),
    ("select a as rowid from t", "select a as rowid from [t] AS `t`"),
    (
        "select i from t q (i, j) where i in (select id from u where filename = 'x')",
        "select i from [t] q (i, j) where i in (select id from [u+filename] AS `u` where filename = 'x')",
    ),
    (
        "select * from (t) q (i, j) where i in (select id from u where filename = 'x')",
        "select * from ([t] AS `t`) q (i, j) where i in (select id from [u+filename] AS `u` where filename = 'x')",
    ),
    (
        "select * from t pivot (sum(v) for k in ('a')) where id in (select id from u where filename = 'x')",
        "select * from [t] AS `t` pivot (sum(v) for k in ('a')) where id in (select id from [u+filename] AS `u` where filename = 'x')",
    ),
    (
        "select * from t unpivot (v for k in (a, b)) where v in (select id from u where filename = 'x')",
        "select * from [t] AS `t` unpivot (v for k in (a, b)) where v in (select id from [u+filename] AS `u` where filename = 'x')",
    ),
    (
        "select count(*) from t natural join (select id from u where filename = 'x')",
        "select count(*) from [t] AS `t` natural join (select id from [u+filename] AS `u` where filename = 'x')",
    ),
    (
        "with c as (select 1) select a from t where exists (select 1 from c where x = rowid)",
        "with c as (select 1) select a from [t+rowid] AS `t` where exists (select 1 from c where x = rowid)",
    ),
    ("select f.filename(1), filename(2) from t", "select f.filename(1), filename(2) from [t] AS `t`"),
    ("from t |> where rowid = 1", "from [t] AS `t` |> where rowid = 1"),
    ("select * from t", "select * from [t] AS `t`"),
]


def shown(reference: Reference) -> tuple[str, ...]:
    return tuple(name for name in reference.virtual if str(reference.name) != "real")


def bound(text: str) -> str:
    return "".join(references(text).pieces(lambda each: f"[{'+'.join([str(each.name), *shown(each)])}]", virtual=shown))


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_virtual_columns_are_replaced_by_columns_that_no_star_includes(text: str, expected: str) -> None:
    assert bound(text) == expected


def test_a_star_includes_a_real_column_with_the_name_of_a_virtual_one() -> None:
    assert bound("select *, rowid from real") == "select *, rowid from [real] AS `real`"
