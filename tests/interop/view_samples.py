"""Tables, expressions and queries for tests of views that are translated between DuckDB and Spark, one per line.

`test_view_translation.py` runs them on both engines; `tests/unit/translate/test_shared_sql.py` checks which can be translated.
"""

from __future__ import annotations

COLUMNS = """k INTEGER, i INTEGER, j BIGINT, n DECIMAL(10,2), x DOUBLE, f FLOAT, s VARCHAR, d DATE, ts TIMESTAMP, z TIMESTAMPTZ, o BOOLEAN,
    l INTEGER[], m MAP(INTEGER, VARCHAR), ms MAP(VARCHAR, INTEGER), st STRUCT(p INTEGER, q VARCHAR), ls VARCHAR[]"""
ROWS = r"""
(1, 1, 10, 1.50, 1.5, 0.1, 'abc', '2024-02-29', '2024-02-29 23:59:59.999999', '2024-02-29 23:59:59+00', true,
 [1, 2, NULL], MAP {1: 'a', 2: 'b'}, MAP {'a': 1}, {'p': 1, 'q': 'x'}, ['a', NULL]),
(2, -7, -70, -2.50, -2.5, -0.5, 'A b\c%_', '2023-12-31', '2023-12-31 00:00:00', '2023-12-31 12:30:00+00', false,
 [], MAP {0: 'z'}, MAP {}, {'p': NULL, 'q': 'É'}, []),
(3, 7, 70, 0.00, 'nan', 2.5, '', '1969-12-28', '1969-12-31 23:59:59.5', '1969-12-31 23:59:59.5+00', NULL,
 NULL, MAP {}, MAP {'b': NULL}, NULL, NULL),
(4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
(5, 0, 9007199254740993, 123456.99, 2.675, 16777216, 'Straße ÄÖ', '2024-03-31', '2024-03-31 02:30:00', '2024-03-31 02:30:00+00', true,
 [3], MAP {-1: 'm'}, MAP {'abc': 5}, {'p': 7, 'q': ''}, ['b', 'a']),
(6, 21474836, 3, -0.01, -0.0, 3.25, '  x ', '0999-01-01', '1582-10-15 01:02:03', '1900-01-01 00:00:00+00', false,
 [NULL], MAP {1: NULL}, MAP {'x y': 2}, {'p': 2, 'q': NULL}, ['é']),
(7, 3, 2, 2.675, 1e15, 1e10, '😀 日本', '2024-12-30', '2024-12-30 12:00:00', '2024-12-30 12:00:00+00', true,
 [-1, 5, 2], MAP {7: '😀'}, MAP {'😀': 3}, {'p': 3, 'q': 'y'}, ['😀'])
"""
TABLES = [
    f"CREATE TABLE t ({COLUMNS})",
    f"INSERT INTO t VALUES {ROWS}",
    "CREATE TABLE u (k INTEGER, name VARCHAR, i INTEGER)",
    "INSERT INTO u VALUES (1, 'one', 10), (2, 'two', NULL), (2, 'zwei', 20), (9, 'nine', 90), (NULL, 'none', 0)",
]

EXPRESSIONS = r"""
i + 1
i - k
i * 2
-i
+i
i % 3
i // 2
j // k
i / 2
n / 3
x / 2
i & 3
i | 8
xor(i, 5)
xor(i, 5) & 3
xor(i, k) + 1
i - xor(k, 1)
mod(i, 3) * 2
2 * mod(i, k)
~i
~i + 5
n + 1.25
n - n
n * n
n * 2
x * 2
x + i
n + x
1.5 * 2.25
1e3
.5
abs(i)
abs(n)
abs(x)
sqrt(abs(x))
ln(abs(i) + 1)
pow(i, 2)
i ** 2
round(n)
round(n, 1)
round(x)
ceil(n)
floor(n)
i = 1
i <> 1
i < k
i <= k
x > 1
x >= x
x = x
s < 'b'
s = 'abc'
s >= ''
d > '2020-01-01'
d = DATE '2024-02-29'
ts >= TIMESTAMP '2024-01-01 00:00:00'
ts < d
o = true
o AND i > 0
o OR i > 0
NOT o
o IS TRUE
o IS NOT TRUE
o IS FALSE
i IS NULL
s IS NOT NULL
i IS DISTINCT FROM k
i IS NOT DISTINCT FROM k
i BETWEEN 0 AND 5
i NOT BETWEEN 0 AND 5
i IN (1, 7, NULL)
i NOT IN (1, 7)
s IN ('abc', '')
s LIKE 'a%'
s LIKE '%_c%'
s NOT LIKE '%b%'
s LIKE ''
s ILIKE 'A%'
s NOT ILIKE 'a%'
CASE WHEN i > 0 THEN 'pos' WHEN i < 0 THEN 'neg' END
CASE i WHEN 1 THEN 'one' ELSE 'other' END
CASE WHEN o THEN i ELSE j END
CASE WHEN o THEN n ELSE i END
CASE WHEN o THEN x ELSE i END
if(o, 1, 2)
coalesce(i, 0)
coalesce(s, 'none')
coalesce(n, 0)
coalesce(d, DATE '2000-01-01')
ifnull(i, k)
nullif(i, 7)
nullif(s, '')
greatest(i, k)
least(i, k, 2)
greatest(x, 1.0)
s || '!'
s || NULL
s || i
'<' || n || '>'
d || ''
ts || ''
concat(s, NULL, '-', i)
concat(s, o)
concat_ws(',', s, NULL, i)
concat_ws('', s, n)
upper(s)
lower(s)
length(s)
trim(s)
ltrim(s)
rtrim(s)
trim(BOTH ' x' FROM s)
trim(' a　')
substring(s, 1, 2)
substring(s FROM 2 FOR 3)
substr(s, 2)
left(s, 2)
right(s, 2)
left(s, 0)
replace(s, 'b', 'xx')
replace(s, '\', '/')
translate(s, 'abc', 'xy')
lpad(s, 5, '*')
rpad(s, 5, '-+')
repeat(s, 2)
strpos(s, 'c')
position('b' IN s)
instr(s, 'b')
starts_with(s, 'a')
prefix(s, 'A')
ends_with(s, 'c')
suffix(s, 'c%_')
contains(s, 'b')
split_part(s, ' ', 2)
split_part('a.b.c', '.', 2)
md5(s)
regexp_matches(s, 'a[bc]+')
regexp_matches(s, 'b') IS NULL
regexp_matches(s, 'b') = o
regexp_matches(s, 'b') AND o
s ~ '[a-c]*'
s SIMILAR TO 'abc'
regexp_matches(s, '^\d')
'a\b'
'it''s'
''
strftime(d, '%Y-%m-%d')
strftime(ts, '%Y/%m')
i::BIGINT
j::VARCHAR
n::VARCHAR
o::VARCHAR
d::VARCHAR
ts::VARCHAR
i::VARCHAR(2)
(CASE WHEN k < 7 THEN f END)::INTEGER
nullif(x, 'nan')::BIGINT
CAST(floor(nullif(x, 'nan') / 10) AS BIGINT)
lower('İΣ')
upper('ẞßé')
n::INTEGER
n::BIGINT
o::INTEGER
(i > 0)::INTEGER
'12'::INTEGER
' -7 '::INTEGER
k::VARCHAR::INTEGER
k::SMALLINT
i::DOUBLE
n::DOUBLE
'1.5'::DOUBLE
i::DECIMAL(12,2)
n::DECIMAL(10,1)
n::DECIMAL
'2.675'::DECIMAL(10,2)
k::BOOLEAN
d::TIMESTAMP
ts::DATE
ts::TIMESTAMP
z::TIMESTAMP
z::TIMESTAMP + INTERVAL (k) HOUR
(CASE WHEN k > 9 THEN 'x' END)::TIMESTAMP
'2024-01-02'::DATE
'2024-01-02 03:04:05.5'::TIMESTAMP
(d::VARCHAR)::DATE
(ts::VARCHAR)::TIMESTAMP
DATE '2024-01-01'
TIMESTAMP '2024-01-01 01:02:03'
year(d)
month(d)
day(ts)
quarter(d)
hour(ts)
minute(ts)
second(ts)
dayofweek(d)
isodow(d)
dayofyear(d)
dayofmonth(d)
week(d)
weekofyear(ts)
extract(year FROM ts)
extract(month FROM d)
extract(day FROM d)
extract(dow FROM d)
extract(isodow FROM d)
extract(doy FROM d)
extract(week FROM d)
extract(quarter FROM d)
extract(hour FROM ts)
extract(minute FROM ts)
extract(second FROM ts)
date_part('year', d)
date_part('dow', ts)
hour(d)
date_trunc('year', d)
date_trunc('quarter', d)
date_trunc('month', d)
date_trunc('week', d)
date_trunc('day', d)
date_trunc('month', ts)
date_trunc('week', ts)
date_trunc('day', ts)
date_trunc('hour', ts)
date_trunc('minute', ts)
date_trunc('month', z)
date_trunc('day', z)
date_trunc('hour', z)
date_trunc('month', d)::DATE
date_diff('day', d, ts)
date_diff('month', d, DATE '2024-03-01')
datediff('year', d, ts)
date_diff('quarter', d, ts)
last_day(d)
last_day(ts)
d + 1
d - 3
d + INTERVAL 1 DAY
d - INTERVAL '2' MONTH
ts + INTERVAL 3 HOUR
ts - INTERVAL 90 MINUTE
ts + INTERVAL 5 SECOND
ts - INTERVAL 24 HOUR
ts + INTERVAL 920 HOUR
ts + INTERVAL 1000 HOUR
d + INTERVAL 48 HOUR
z - INTERVAL 100000 SECOND
z + INTERVAL 1 MONTH
z - INTERVAL 1 DAY
d + INTERVAL '1 year'
d + INTERVAL 1 WEEK
d + INTERVAL 1 QUARTER
d + INTERVAL (k) DAY
ts + INTERVAL (i % 5) MONTH
d + INTERVAL (n::INTEGER) DAY
d + INTERVAL (n) DAY
d + to_days(n::INTEGER)
INTERVAL 1 DAY + d
l[1]
l[2]
l[-1]
l[k]
ls[1]
m[1]
m[7]
m[-1]
ms['a']
st.p
st['q']
{'p': i, 'q': s}
{'p': {'q': i}}
struct_pack(a := i).a
struct_extract(st, 'p')
[i, k]
[1, 2]
['a', s]
list_value(n, 1.5)
map {'a': i}
map {1: s, 2: 'x'}
array_length(l)
list_transform(l, lambda x: x + 1)
list_transform(l, x -> x * 2 + k)
list_apply(ls, s -> s || '!')
[e * 2 for e in l]
l || [9]
l = [1, 2, NULL]
i = (SELECT max(u.k) FROM u)
EXISTS (SELECT 1 FROM u WHERE u.k = t.k)
(SELECT count(*) FROM u WHERE u.k = t.k)
row_number() OVER (ORDER BY k)
rank() OVER (ORDER BY i DESC)
dense_rank() OVER (ORDER BY i)
percent_rank() OVER (ORDER BY k)
cume_dist() OVER (ORDER BY k)
ntile(3) OVER (ORDER BY k)
lag(i) OVER (ORDER BY k)
lead(s, 2, 'end') OVER (ORDER BY k DESC)
lag(i, 1) OVER (PARTITION BY o ORDER BY k)
lag(i IGNORE NULLS) OVER (ORDER BY k)
first_value(s) OVER (ORDER BY i, k)
last_value(i) OVER (ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
first_value(i IGNORE NULLS) OVER (ORDER BY k DESC)
sum(i) OVER (PARTITION BY o ORDER BY k)
sum(i) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
avg(n) OVER (PARTITION BY o)
avg(i) FILTER (WHERE i > 0) OVER (ORDER BY k)
count(*) OVER ()
max(d) OVER (ORDER BY k ROWS 2 PRECEDING)
min(s) OVER (ORDER BY s RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
"""
"""Expressions of DuckDB, in SELECT … FROM t."""

AGGREGATES = r"""
count(*)
count(i)
count(DISTINCT o)
sum(i)
sum(n)
sum(DISTINCT i)
sum(x) FILTER (WHERE k < 3)
avg(i)
avg(n)
avg(x) FILTER (WHERE k < 3)
avg(DISTINCT n)
avg(i) FILTER (WHERE k > 100)
min(i)
max(s)
min(d)
max(ts)
max(x)
min(x)
min(o)
max(z)
bool_and(o)
bool_or(o)
any_value(s) FILTER (WHERE k = 1)
sum(i) / count(*)
sum(CASE WHEN o THEN n ELSE 0 END)
round(sum(n) * 2, 1)
100.00 * sum(n) / sum(i)
count(*) FILTER (WHERE i > 0)
coalesce(sum(i), 0)
"""
"""Expressions of DuckDB, in SELECT … FROM t GROUP BY o."""

QUERIES = r"""
SELECT k, s FROM t WHERE i > 0 ORDER BY k LIMIT 2
SELECT k FROM t ORDER BY i LIMIT 3
SELECT k FROM t ORDER BY i DESC LIMIT 3
SELECT k FROM t ORDER BY s NULLS FIRST, k DESC LIMIT 4 OFFSET 1
SELECT DISTINCT o FROM t
SELECT * FROM t
SELECT t.* FROM t JOIN u ON t.k = u.k
SELECT t.*, u.name FROM t JOIN u USING (i)
SELECT t.*, u.name, i + 1 AS j1, u.i AS ui FROM t LEFT JOIN u USING (i) WHERE i >= 0
SELECT u.*, t.*, i AS ii FROM u LEFT OUTER JOIN t USING (i)
SELECT u.* EXCLUDE (k), k, a.* FROM u JOIN (SELECT i, k, name AS other FROM u) AS a USING (i, k)
SELECT u.*, t.s, k AS uk FROM u LEFT JOIN t USING (k) ORDER BY k DESC, name DESC LIMIT 4
SELECT t.s, t.d, k AS uk, t.* EXCLUDE (l, m, ms, st, ls) FROM u LEFT JOIN t USING (k) WHERE EXISTS (SELECT 1 FROM t AS a WHERE a.k = u.k)
SELECT u.*, k AS uk FROM u JOIN t USING (k) QUALIFY row_number() OVER (PARTITION BY k ORDER BY name) = 1
SELECT u.* FROM u SEMI JOIN t USING (i) WHERE i = 0
SELECT t.* FROM t ANTI JOIN u USING (i)
SELECT * EXCLUDE (m, ms) FROM t
SELECT t.k, name FROM t JOIN u ON t.k = u.k
SELECT t.k, name FROM t LEFT JOIN u ON t.k = u.k AND u.i > 5
SELECT t.k, u.name FROM t RIGHT JOIN u ON t.k = u.k
SELECT t.k, u.name FROM t FULL JOIN u ON t.k = u.k
SELECT k, s, name FROM t FULL JOIN u USING (k)
SELECT k, name FROM t RIGHT JOIN u USING (k)
SELECT k, name FROM t LEFT JOIN u USING (k)
SELECT * FROM t JOIN u USING (i)
SELECT * FROM u LEFT JOIN t USING (k) WHERE k > 1 ORDER BY k, u.i LIMIT 3
SELECT * EXCLUDE (k, s) FROM u LEFT JOIN t USING (k, i)
SELECT * FROM u SEMI JOIN t USING (i, k)
SELECT * FROM u ANTI JOIN t USING (i)
SELECT *, u.*, i AS ii FROM t JOIN u USING (i)
SELECT * FROM u LEFT JOIN t USING (k) LEFT JOIN (SELECT k, s AS s2 FROM t) AS a USING (k)
SELECT *, u.name AS un FROM u LEFT JOIN t USING (k) JOIN (SELECT d, k AS ak FROM t) AS a USING (d) WHERE t.s > '' AND a.ak < 7
SELECT k FROM (SELECT * FROM u JOIN (SELECT k, s FROM t) AS a USING (k)) AS q
SELECT a.* FROM t JOIN u USING (i) JOIN u AS a USING (i)
SELECT t.* FROM t RIGHT JOIN u USING (i)
SELECT t.*, k AS key, u.name FROM t RIGHT JOIN u USING (k) WHERE k > 1
SELECT u.* FROM t FULL JOIN u USING (i)
SELECT u.*, k FROM t FULL JOIN u USING (k)
SELECT u.*, t.s FROM t JOIN u USING (k) ORDER BY k DESC, name LIMIT 2
SELECT t.k, u.name FROM t CROSS JOIN u
SELECT t.k, u.name FROM t, u RIGHT JOIN u AS a ON u.k = a.k
SELECT t.k, u.name, a.i FROM t, u FULL JOIN u AS a ON u.k = a.i
SELECT t.k, u.name FROM t, u JOIN u AS a USING (k)
SELECT * FROM u, (SELECT k AS k1, s FROM t) AS x RIGHT JOIN (SELECT k AS k2 FROM u) AS y ON x.k1 = y.k2, (SELECT max(i) AS m FROM t) AS z
SELECT * FROM u, (SELECT k, s FROM t) AS x JOIN (SELECT k, d FROM t) AS y USING (k)
SELECT t.k, u.name FROM t, u WHERE t.k = u.k
SELECT t.k, u.name, a.i FROM t, u LEFT JOIN u AS a ON u.k = a.k WHERE t.k = u.k
SELECT t.k, u.name, a.i FROM t CROSS JOIN u RIGHT JOIN u AS a ON u.k = a.k AND t.k = u.k
SELECT k FROM t SEMI JOIN u USING (k)
SELECT k FROM t ANTI JOIN u ON t.k = u.k
SELECT o, count(*) AS n, sum(i) AS total FROM t GROUP BY o HAVING count(*) > 1
SELECT o, i > 0 AS p, count(*) AS n FROM t GROUP BY ALL
SELECT o, count(*) AS n FROM t GROUP BY 1
SELECT o, i > 0 AS p, count(*) AS n FROM t GROUP BY ROLLUP (o, i > 0)
SELECT o, d, grouping(o) AS g, count(*) AS n FROM t GROUP BY GROUPING SETS ((o), (d), ())
SELECT o, d, count(*) AS n FROM t GROUP BY CUBE (o, d)
SELECT lower(s) AS s, count(*) AS c FROM t WHERE k <> 5 GROUP BY s
SELECT k, i FROM t QUALIFY row_number() OVER (PARTITION BY o ORDER BY k DESC) = 1
SELECT * FROM u QUALIFY row_number() OVER (PARTITION BY k ORDER BY i, name) = 1
SELECT t.*, u.name FROM t JOIN u ON t.k = u.k QUALIFY row_number() OVER (PARTITION BY u.k ORDER BY u.name) = 1
SELECT DISTINCT k FROM u QUALIFY row_number() OVER (PARTITION BY k ORDER BY i) < 3
SELECT k, name FROM u QUALIFY row_number() OVER (PARTITION BY k ORDER BY i, name) = 1 ORDER BY k DESC LIMIT 2 OFFSET 1
SELECT k, row_number() OVER (ORDER BY name) AS i FROM u QUALIFY i >= 20
SELECT k, sum(i) AS total FROM u GROUP BY k QUALIFY row_number() OVER (ORDER BY sum(i), k) = 1
SELECT k FROM t QUALIFY row_number() OVER (PARTITION BY o ORDER BY k) = 1 ORDER BY i LIMIT 1
SELECT * FROM t QUALIFY row_number() OVER (PARTITION BY o ORDER BY k) = 1 ORDER BY t.i DESC, k LIMIT 2
SELECT -k AS k, -i AS j FROM t QUALIFY row_number() OVER (PARTITION BY o ORDER BY t.k) = 1 ORDER BY t.k DESC, abs(i), j LIMIT 2
SELECT k, sum(i) AS total FROM u GROUP BY k QUALIFY rank() OVER (ORDER BY k) < 3 ORDER BY count(*) DESC, max(name) LIMIT 1
SELECT u.name, t.s FROM t JOIN u USING (k) QUALIFY row_number() OVER (PARTITION BY k ORDER BY u.name) = 1 ORDER BY u.i, k LIMIT 1
SELECT 1 AS a, * FROM u QUALIFY rank() OVER (ORDER BY k) = 1 UNION ALL SELECT 2 AS a, * FROM u WHERE k = 9
SELECT k FROM t UNION SELECT k FROM u
SELECT k, s FROM t UNION ALL SELECT k, name FROM u
SELECT k FROM t EXCEPT SELECT k FROM u
SELECT k FROM u INTERSECT ALL SELECT k FROM t
(SELECT k FROM t ORDER BY k LIMIT 1) UNION ALL (SELECT k FROM u WHERE k > 5)
SELECT i FROM t UNION ALL SELECT n FROM t
WITH a AS (SELECT k, i FROM t WHERE o), b AS MATERIALIZED (SELECT max(k) AS k FROM u) SELECT a.k, b.k AS bk FROM a, b
WITH a(x, y) AS (SELECT k, s FROM t) SELECT x, y FROM a WHERE x IN (SELECT k FROM u)
SELECT x.k FROM (SELECT k FROM t WHERE k < 4) AS x
SELECT * FROM (VALUES (-1, DATE '2024-01-01', 1.50, true), (2::BIGINT, NULL, -2.25, false)) AS v(a, b, c, d)
SELECT * FROM (VALUES (1, 'a'), (2, NULL)) AS v(a, b)
VALUES (1, 'a'), (2, 'b')
SELECT k + 1 AS a, a * 2 AS b FROM t
SELECT i AS k, k + 1 AS b FROM t
SELECT a.k FROM t AS a WHERE a.i > (SELECT avg(b.i) FROM t AS b WHERE b.o = a.o)
SELECT k, sum(i) OVER w AS total FROM t WINDOW w AS (ORDER BY k)
SELECT upper(s) AS up, count(*) AS n FROM t GROUP BY upper(s)
FROM u SELECT k, name
SELECT k FROM t WHERE i IN (SELECT u.k FROM u) OR o
SELECT k FROM t WHERE i NOT IN (SELECT u.k FROM u WHERE u.k IS NOT NULL) AND k < 6
SELECT k FROM t WHERE k NOT IN (SELECT u.k FROM u)
SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)
SELECT -k AS k FROM t ORDER BY k LIMIT 2
SELECT o, sum(i) AS i FROM t GROUP BY o HAVING i > 0
SELECT k, row_number() OVER (PARTITION BY o ORDER BY k) AS rn FROM t QUALIFY rn = 1
SELECT -k AS k FROM t WHERE k > 2
SELECT k % 2 AS k, count(*) AS n FROM t GROUP BY k % 2
SELECT k % 2 AS k, count(*) AS n FROM t GROUP BY k
SELECT -k AS k, row_number() OVER (ORDER BY k) AS r FROM t
SELECT -k AS k, k + 1 AS b FROM t
SELECT year(d) AS y, month(d) AS m, sum(n) AS total FROM t GROUP BY year(d), month(d)
SELECT date_trunc('month', d) AS m, count(*) AS c FROM t GROUP BY 1
SELECT CAST(i AS BIGINT) AS c, count(*) AS n FROM t GROUP BY CAST(i AS BIGINT)
SELECT k FROM t WHERE l = [1, 2, NULL]
SELECT DISTINCT l FROM t
SELECT x, count(*) AS c FROM t GROUP BY x
SELECT a.k, b.k AS j FROM t AS a JOIN t AS b ON a.x = b.x
SELECT k FROM t ORDER BY x, k LIMIT 3
SELECT k FROM t ORDER BY s, k LIMIT 5
"""

UNTRANSLATABLE = r"""
list(i) OVER ()
s[2:3]
l[1:2]
left(s, -1)
right(s, -1)
left(s, k - 3)
substring(s, 0, 2)
substring(s, -2)
substring(s, k)
substring(s, 2, -1)
log(abs(k))
log10(k)
log2(k)
round(i, -1)
trunc(x)
sign(n)
even(i)
TRY_CAST(s AS INTEGER)
'1.5'::INTEGER
'0x1A'::INTEGER
'1_000'::INTEGER
TRY_CAST(x AS INTEGER)
TRY_CAST(s AS DATE)
TRY_CAST(s AS TIMESTAMP)
TRY_CAST(s AS DOUBLE)
'2024-01-01 00:00:00+02'::TIMESTAMP
i::HUGEINT
i::UINTEGER
i::BLOB
s::BLOB
i::UUID
s::JSON
s::TIME
i::BIT
d::TIMESTAMP_S
s LIKE 'A b\c%'
s LIKE '%\%%'
s LIKE s
s LIKE 'a!%' ESCAPE '!'
s GLOB 'a*'
s ~ 'a.*'
s ~ '[[:alpha:]]+'
regexp_matches(s, '\s$')
regexp_matches(s, '(?i)ABC')
regexp_matches(s, '.')
regexp_replace(s, 'b', 'x')
regexp_replace(s, '(b)', '\1\1', 'g')
regexp_extract(s, 'b')
regexp_extract(s, '(b)(c)', 2)
regexp_extract_all(s, 'b')
regexp_split_to_array(s, 'b')
string_split(s, 'b')
reverse(s)
ascii(s)
chr(200)
unicode(s)
hex(s)
base64(s::BLOB)
md5(s::BLOB)
sha256(s)
hash(s)
levenshtein(s, 'abc')
strip_accents(s)
length_grapheme(s)
bit_length(s)
octet_length(s::BLOB)
format('{}', i)
printf('%d', i)
s < s COLLATE NOCASE
split_part(s, '', 1)
split_part(s, ' ', -1)
split_part(s, ' ', 0)
split_part(s, s, 1)
lpad(s, k, 'x')
replace(s, '', 'x')
replace(s, s, 'x')
translate(s, 'É😀', 'ab')
trim(s, s)
repeat(s, k)
age(ts, TIMESTAMP '2024-01-01')
date_diff('week', d, DATE '2024-01-01')
date_diff('hour', ts, TIMESTAMP '2024-01-01 00:30:00')
date_diff('minute', z, TIMESTAMPTZ '2024-01-01 00:30:00+00')
date_sub('month', d, DATE '2024-03-01')
extract(epoch FROM ts)
extract(millisecond FROM ts)
extract(microsecond FROM ts)
extract(century FROM d)
extract(isoyear FROM d)
extract(yearweek FROM d)
extract(era FROM d)
date_part(['year', 'month'], d)
date_trunc('second', ts)
date_trunc('decade', d)
date_trunc('millennium', d)
strftime(ts, '%H:%M')
strftime(ts, '%-d %B')
strftime(d, '%j')
strptime(s, '%Y')
make_date(2024, 1, 1)
make_timestamp(2024, 1, 1, 0, 0, 0)
to_timestamp(k)
epoch(ts)
epoch_ms(ts)
dayname(d)
monthname(d)
time_bucket(INTERVAL 1 DAY, ts)
ts AT TIME ZONE 'UTC'
d + INTERVAL '1 month 2 days'
ts + INTERVAL (k) SECOND
d + to_days(CAST(trunc(CAST(x AS INTEGER)) AS INTEGER))
ts + to_seconds(k)
INTERVAL 1 DAY
l[k:k+1]
list_contains(l, 1)
list_contains(l, NULL)
list_sort(l)
list_distinct(l)
list_filter(l, lambda x: x > 1)
[e FOR e IN l IF e > 1]
list_transform(l, lambda x, y: x + y)
list_apply(l, lambda x, y: y)
list_reduce([1, 2], lambda x, y: x + y)
list_sum(l)
list_position(l, 2)
list_concat(l, [1])
list_slice(l, 1, 2)
array_slice(l, 1, 2)
cardinality(m)
map_keys(m)
map_values(m)
map_entries(m)
element_at(m, 1)
map_extract(m, 1)
row(i, k)
(i, k) = (1, 1)
(i, k) IN ((1, 1))
struct_pack(i, k)
unnest(l)
i = ANY(SELECT u.k FROM u)
i > ALL(SELECT u.k FROM u)
i IN (SELECT u.k FROM u)
i NOT IN (SELECT u.k FROM u)
i << 2
i >> 1
bit_count(i)
factorial(3)
gcd(6, 4)
isnan(x)
isinf(x)
cbrt(x)
exp(1)
sin(1)
pi()
current_schema()
version()
current_user
typeof(i)
hash(i)
error('x')
getvariable('x')
ts::TIME
s -> '$.a'
s ->> '$.a'
json_extract(s, '$.a')
'{}'::JSON
sum(i) OVER (ORDER BY k RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)
sum(i) OVER (ORDER BY k GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW)
sum(i) OVER (ORDER BY k ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW)
nth_value(i, 2) OVER (ORDER BY k)
lag(i, k) OVER (ORDER BY k)
first(i) OVER (ORDER BY k)
list(i) OVER (ORDER BY k)
rtrim('a' || chr(9))
12345678901234567890123
list(i)
array_agg(i ORDER BY k)
array_agg(i)
first(i)
last(i)
arbitrary(i)
string_agg(s, ',')
string_agg(s, ',' ORDER BY s)
string_agg(DISTINCT s, ',')
group_concat(s)
count(DISTINCT (i, k))
min(i, 2)
max_by(i, k)
arg_min(s, k)
median(i)
median(n)
mode(i)
quantile(i, 0.5)
quantile_cont(n, 0.5)
approx_count_distinct(i)
stddev(i)
var_pop(i)
corr(i, k)
bit_and(i)
bit_xor(i)
product(i)
fsum(x)
kurtosis(i)
entropy(i)
histogram(i)
count_if(o)
map(list(k), list(k))
sum(i ORDER BY k)
"""
"""Expressions of DuckDB that cannot be translated to Spark's SQL."""

UNTRANSLATABLE_QUERIES = r"""
SELECT a FROM (VALUES (CAST(CAST('1e10' AS DOUBLE) AS VARCHAR))) AS v(a)
SELECT a FROM (VALUES (1, 2.5 / 2)) AS v(a, b)
SELECT a FROM (VALUES (CAST(1.5 AS FLOAT)), (0.285)) AS v(a)
SELECT a FROM (VALUES (CAST(1 AS BIGINT)), (0.1234567890123456789)) AS v(a)
SELECT a FROM (VALUES (1), (0.12345678901234567890123456789)) AS v(a)
SELECT a FROM (VALUES (CAST(CAST('2024-01-01' AS DATE) AS TIMESTAMPTZ))) AS v(a)
SELECT -k AS k FROM t QUALIFY row_number() OVER (ORDER BY k) = 1
SELECT DISTINCT k FROM t QUALIFY row_number() OVER (PARTITION BY o ORDER BY k) = 1 ORDER BY t.k
SELECT * FROM t RIGHT JOIN u USING (i)
SELECT * FROM t FULL JOIN u USING (i)
SELECT * FROM t JOIN u USING (i) RIGHT JOIN u AS a USING (i)
SELECT *, u.k AS uk FROM t LEFT JOIN u USING (k) JOIN u AS a USING (name)
SELECT u.* FROM t LEFT JOIN u USING (k) JOIN u AS a USING (name)
SELECT * FROM t, u JOIN u AS a USING (k) JOIN u AS b USING (name)
SELECT * EXCLUDE (u.k) FROM t JOIN u USING (i)
SELECT u.*, k FROM t FULL JOIN u USING (k) ORDER BY k
SELECT u.*, t.s FROM t LEFT JOIN u USING (k) ORDER BY k LIMIT 2
SELECT *, u.k AS uk, u.k FROM t LEFT JOIN u USING (k) ORDER BY k
SELECT u.*, t.i AS i FROM u JOIN t USING (i)
SELECT u.*, -i AS i FROM u JOIN t USING (i) ORDER BY i
SELECT u.*, st.p FROM u JOIN t USING (st)
SELECT u.* FROM u JOIN t USING (k) WHERE t.i > (SELECT count(*) FROM u AS a WHERE a.k = k)
SELECT u.* FROM u NATURAL JOIN t
SELECT count(u.*) AS c FROM u
SELECT * FROM t NATURAL JOIN u
SELECT * FROM t POSITIONAL JOIN u
SELECT * FROM t ASOF JOIN u ON t.k >= u.k
SELECT k FROM t UNION ALL BY NAME SELECT i, k FROM u
UNPIVOT (SELECT k, i, j FROM t) ON i, j INTO NAME name VALUE v
SELECT DISTINCT ON (o) o, k FROM t ORDER BY o, k
SELECT * REPLACE (1 AS i) FROM t
SELECT * RENAME (i AS ii) FROM t
SELECT COLUMNS('k|i') FROM t
SELECT k, unnest(l) AS e FROM t
SELECT k, e FROM t, unnest(l) AS x(e)
SELECT k FROM t ORDER BY ALL LIMIT 3
SELECT k FROM t LIMIT 10%
SELECT * FROM range(3)
SELECT * FROM generate_series(1, 3)
SELECT k FROM t USING SAMPLE 50%
SELECT k FROM t TABLESAMPLE 50%
WITH RECURSIVE r(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM r WHERE a < 3) SELECT a FROM r
SELECT -k AS k, i FROM t ORDER BY k + 0 LIMIT 2
SELECT -k AS k FROM t ORDER BY abs(k) DESC LIMIT 2
SELECT max(k) AS k FROM t ORDER BY max(k)
SELECT k FROM t WHERE CASE WHEN i IN (SELECT u.k FROM u) THEN true ELSE false END
SELECT k FROM t WHERE NOT (i IN (SELECT u.k FROM u) AND o)
SELECT k FROM t WHERE (i IN (SELECT u.k FROM u)) IS NULL
SELECT max(k) AS k FROM t HAVING max(k) IN (SELECT u.k FROM u)
"""

REFUSED_FOR_TYPES = r"""
CAST(k AS DECIMAL(2,2))::VARCHAR
CAST(k AS DECIMAL(2,2)) || 'x'
n = '1.505'
n > '2.675'
n IN ('1.505', '7')
n BETWEEN '1.505' AND '2.675'
nullif(n, '1.505')
coalesce(n, '1.505')
CASE WHEN o THEN n ELSE '1.505' END
[n, '1.505']
round(x, 2)
ceil(x)
floor(x)
x // 2
n // 2
n % 2
f / f
f + 1
f + 1.5
f * i
f = 0.1
f > 0.1
x::VARCHAR
f::VARCHAR
z::VARCHAR
l::VARCHAR
st::VARCHAR
m::VARCHAR
x || ''
concat(x, 'a')
concat(l, l)
concat_ws(',', x)
x::DECIMAL(10,2)
f::DECIMAL(10,2)
d - d
d - DATE '2024-01-01'
ts - ts
l < [1, 3]
st < {'p': 2, 'q': 'a'}
greatest(l, [1])
coalesce(f, 0)
CASE WHEN o THEN i ELSE f END
greatest(f, 0.1)
s = i
ts > '2024-02-29 10:00:00+05'
rank() OVER (ORDER BY l)
"""
"""Expressions whose results would differ because of the types of their operands."""

QUERIES_REFUSED_FOR_TYPES = r"""
SELECT min(l) AS a FROM t
SELECT max(st) AS a FROM t
SELECT round(avg(n), 2) AS a FROM t
SELECT CAST(avg(i) AS VARCHAR) AS a FROM t
SELECT s FROM t UNION ALL SELECT i FROM u
SELECT f FROM t UNION ALL SELECT x FROM t
SELECT k FROM t ORDER BY st LIMIT 2
"""

EXPRESSIONS_OF_SPARK = r"""
i + 1
i - k
-i
i % 3
i DIV 2
i / 2
x / 2
i & 3
i ^ 5
n + 1.25
n * n
n * 2
x + i
abs(n)
sqrt(abs(x))
ln(abs(i) + 1)
log(abs(i) + 1)
power(i, 2)
round(n)
round(n, 1)
round(x)
ceil(n)
floor(n)
1L
1.5D
1.5BD
1e3
i = 1
i == 1
i != 1
i <=> k
x >= x
x = x
s < 'b'
s = "abc"
'it''s'
"a""b"
concat('O''Brien', 'a' 'b', '"''', s)
s <> 'O''Brien'
d > '2020-01-01'
d = DATE '2024-02-29'
ts >= TIMESTAMP_NTZ '2024-01-01 00:00:00'
z >= TIMESTAMP '2024-01-01 00:00:00'
o AND i > 0
o OR i > 0
NOT o
!o
o IS TRUE
i IS NULL
isnull(i)
isnotnull(i)
i IS DISTINCT FROM k
i BETWEEN 0 AND 5
i IN (1, 7, NULL)
i NOT IN (1, 7)
s LIKE 'a%'
s NOT LIKE '%b%'
s ILIKE 'A%'
s RLIKE 'a[bc]+'
CASE WHEN i > 0 THEN 'pos' WHEN i < 0 THEN 'neg' END
CASE i WHEN 1 THEN 'one' ELSE 'other' END
CASE WHEN o THEN n ELSE i END
if(o, 1, 2)
coalesce(i, 0)
nvl(s, 'none')
ifnull(i, k)
nullif(i, 7)
greatest(i, k)
least(i, k, 2)
s || '!'
s || i
concat(s, NULL, '-')
concat(s, '-', i)
upper(s)
lower(s)
length(s)
char_length(s)
trim(s)
ltrim(s)
rtrim(s)
trim('\u00a0a ')
trim(BOTH ' x' FROM s)
substring(s, 1, 2)
substr(s, 2)
left(s, 2)
right(s, 2)
replace(s, 'b', 'xx')
replace(s, '\\', '/')
translate(s, 'abc', 'xy')
lpad(s, 5, '*')
rpad(s, 5, '-+')
repeat(s, 2)
locate('c', s)
instr(s, 'b')
position('b' IN s)
startswith(s, 'a')
endswith(s, 'c')
contains(s, 'b')
split_part(s, ' ', 2)
md5(s)
'a\\b'
'it\'s'
r'a\nb'
date_format(d, 'yyyy-MM-dd')
CAST(i AS BIGINT)
CAST(i AS STRING)
CAST(n AS STRING)
CAST(o AS STRING)
CAST(d AS STRING)
CAST(ts AS STRING)
CAST(n AS INT)
CAST(-0.5BD AS INT)
CAST(CAST(i % 2 * 0.45 AS DECIMAL(2,2)) AS BIGINT)
CAST(CASE WHEN k < 7 THEN f END AS INT)
CAST(CASE WHEN x < 10 THEN x END AS INT)
CAST(o AS INT)
CAST(i > 0 AS INT)
CAST(' -7 ' AS INT)
CAST(k AS SMALLINT)
CAST(i AS DOUBLE)
CAST(n AS DOUBLE)
CAST(i AS DECIMAL(12,2))
CAST(n AS DECIMAL(10,1))
CAST(k AS BOOLEAN)
CAST(d AS TIMESTAMP)
CAST(d AS TIMESTAMP_NTZ)
CAST(ts AS DATE)
CAST('2024-01-02 03:04:05.5' AS TIMESTAMP)
CAST('2024-01-02' AS DATE)
CAST(CAST(d AS STRING) AS DATE)
CAST(CAST(d AS STRING) AS TIMESTAMP)
to_date(CAST(d AS STRING))
date(ts)
year(d)
month(ts)
day(d)
quarter(d)
hour(ts)
minute(ts)
dayofweek(d)
weekday(d)
dayofyear(d)
weekofyear(d)
extract(YEAR FROM ts)
extract(WEEK FROM d)
date_part('month', d)
date_trunc('MONTH', d)
date_trunc('month', ts)
date_trunc('DAY', z)
date_trunc('week', ts)
date_trunc('HOUR', z)
trunc(d, 'MM')
trunc(d, 'YEAR')
trunc(ts, 'mon')
date_trunc('yy', ts)
date_format(d, 'dd.MM.yyyy')
datediff(d, DATE '2024-01-01')
datediff(ts, d)
date_add(d, 3)
date_sub(d, 3)
date_add(d, k)
d + 1
add_months(d, 2)
last_day(d)
ts + INTERVAL 3 HOUR
ts - INTERVAL '1' MONTH
z + INTERVAL 1 DAY
DATE '2024-01-31' + INTERVAL '1' MONTH
CAST(ts AS DATE) - INTERVAL 1 DAY
d < DATE '2024-01-01' + INTERVAL 1 YEAR
st.p
st['q']
ms['a']
element_at(ms, 'b')
try_element_at(m, 1)
named_struct('p', i, 'q', s)
struct(i AS p)
array(i, k)
array('a', s)
map('a', i)
size(l)
(SELECT max(u.k) FROM u)
EXISTS (SELECT 1 FROM u WHERE u.k = t.k)
row_number() OVER (ORDER BY k)
rank() OVER (ORDER BY i DESC)
ntile(3) OVER (ORDER BY k)
lag(i) OVER (ORDER BY k)
lead(s, 2, 'end') OVER (ORDER BY k DESC)
first_value(s) OVER (ORDER BY i, k)
last_value(i) OVER (ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
sum(i) OVER (PARTITION BY o ORDER BY k)
avg(i) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
concat_ws(',', s, i)
(1 | 2) & k
i & k & 3
i ^ (k & 3)
~i + 5
~j
~CAST(k AS TINYINT)
-mod(i + 1, 3)
2 * mod(i, 3)
(i & 1) + 1 = 1
isnull(s) = isnull(d)
isnull(o OR i > 2)
isnotnull(o AND i > 2)
o = isnull(i)
i = k IS NULL
i = k = o
concat(k = 1, 'x')
'a' || k || 'x'
"""

AGGREGATES_OF_SPARK = r"""
count(*)
count(1)
count(i)
count(DISTINCT o)
sum(i)
sum(n)
avg(i)
min(s)
max(ts)
max(x)
bool_and(o)
bool_or(o)
sum(CASE WHEN o THEN n ELSE 0 END)
count(*) FILTER (WHERE i > 0)
sum(i) / count(*)
collect_list(CASE WHEN k = 5 THEN i END)
"""

QUERIES_OF_SPARK = r"""
SELECT k, s FROM t WHERE i > 0 ORDER BY k LIMIT 2
SELECT k FROM t ORDER BY i, k LIMIT 3
SELECT k FROM t ORDER BY i DESC, k LIMIT 3
SELECT * FROM t
SELECT * EXCEPT (m, ms) FROM t
SELECT t.k, name FROM t LEFT JOIN u ON t.k = u.k AND u.i > 5
SELECT k, s, name FROM t FULL JOIN u USING (k)
SELECT t.k, u.name, a.i FROM t, u RIGHT JOIN u AS a ON u.k = a.k AND t.k = u.k
SELECT k FROM t LEFT SEMI JOIN u ON t.k = u.k
SELECT k FROM t LEFT ANTI JOIN u USING (k)
SELECT t.*, u.name FROM t JOIN u USING (i)
SELECT t.* FROM t LEFT JOIN u USING (i, k)
SELECT u.*, t.* EXCEPT (i, k), t.i AS ti FROM t RIGHT JOIN u USING (i)
SELECT t.*, u.name, i AS ii, u.i AS ui FROM t FULL JOIN u USING (i)
SELECT u.*, t.* EXCEPT (i, k), k AS kk FROM t FULL OUTER JOIN u USING (I, k)
SELECT u.* EXCEPT (i, K), t.* EXCEPT (j, m, ms) FROM t LEFT JOIN u USING (k)
SELECT b.*, a.* EXCEPT (i, k) FROM u AS a JOIN (SELECT i, k FROM u) AS b USING (k, i)
SELECT b.*, a.name FROM u AS a LEFT JOIN (SELECT k FROM t) AS b USING (k)
SELECT t.* EXCEPT (i, k), u.name AS n1, a.* FROM t JOIN u USING (i) FULL JOIN u AS a ON a.k = t.k
SELECT a.*, t.* EXCEPT (i, k), u.name AS n1 FROM t LEFT JOIN u USING (k) CROSS JOIN u AS a
SELECT u.* FROM u LEFT SEMI JOIN t USING (i)
SELECT t.* FROM t LEFT ANTI JOIN u USING (i)
SELECT o, count(*) AS n, sum(i) AS total FROM t GROUP BY o HAVING count(*) > 1
SELECT o, i > 0 AS p, count(*) AS n FROM t GROUP BY ALL
SELECT o, d, count(*) AS n FROM t GROUP BY ROLLUP (o, d)
SELECT o, d, count(*) AS n FROM t GROUP BY CUBE (o, d)
SELECT o, d, count(*) AS n FROM t GROUP BY o, d WITH ROLLUP
SELECT o, year(d) AS y, count(*) AS n FROM t GROUP BY o, year(d) WITH CUBE
SELECT k FROM t UNION SELECT k FROM u
SELECT k, s FROM t UNION ALL SELECT k, name FROM u
SELECT k FROM t MINUS SELECT k FROM u
WITH a AS (SELECT k, i FROM t WHERE o) SELECT a.k, b.name FROM a JOIN u AS b ON a.k = b.k
SELECT * FROM VALUES (-1, CAST('2024-01-01' AS DATE), 1.50, true), (CAST(2 AS BIGINT), NULL, -2.25, false) AS v(a, b, c, d)
SELECT * FROM VALUES (1, 'a'), (2, NULL) AS v(a, b)
SELECT x.k FROM (SELECT k, row_number() OVER (PARTITION BY o ORDER BY k) AS r FROM t) AS x WHERE x.r = 1
SELECT k FROM t WHERE k IN (SELECT u.k FROM u)
SELECT k, i FROM t QUALIFY row_number() OVER (PARTITION BY o ORDER BY k DESC) = 1
SELECT DISTINCT k FROM u QUALIFY row_number() OVER (PARTITION BY k ORDER BY i) < 3
SELECT * FROM u QUALIFY row_number() OVER (PARTITION BY k ORDER BY i, name) = 1 ORDER BY name LIMIT 2
SELECT k + 1 AS a, a * 2 AS b FROM t
"""

UNTRANSLATABLE_OF_SPARK = r"""
1 | 2 & 4
i | k & 4
i ^ k & 3
k | i ^ 3
i & k || 'x'
s || i + 1
i = 1 = k > 2
i > 1 = k IN (1, 2)
o = k BETWEEN 1 AND 2
(l || l)[0]
concat(l, l)[0]
element_at(l || l, 2)
l[k]
EXISTS (SELECT * FROM t AS a JOIN u USING (i))
EXISTS (SELECT u.* FROM t AS a JOIN u USING (i) JOIN u AS b USING (i))
EXISTS (SELECT u.* FROM t AS a JOIN u ON a.k = u.k JOIN u AS b USING (i))
EXISTS (SELECT u.* FROM u AS a, t AS b JOIN u USING (i))
EXISTS (SELECT st.* FROM t AS a JOIN u USING (i))
EXISTS (SELECT a.* EXCEPT (st.p) FROM t AS a JOIN u USING (i))
(SELECT count(u.*) FROM u)
(SELECT count(DISTINCT *) FROM u)
(SELECT count(* EXCEPT (k)) FROM u)
TRY_CAST(s AS INT)
try_cast(x AS INT)
bround(n)
signum(n)
log10(k)
log2(k)
pmod(i, 3)
shiftleft(i, 2)
substring(s, 0, 2)
substring(s, -2)
left(s, -1)
s LIKE 'A b\\c%'
s LIKE '%\\%%'
s RLIKE 'a.*'
s RLIKE '(?i)ABC'
regexp_replace(s, 'b', 'x')
regexp_extract(s, '(b)', 1)
split(s, 'b')
split(s, '.')
reverse(s)
ascii(s)
initcap(s)
hex(s)
base64(s)
soundex(s)
levenshtein(s, 'abc')
chr(200)
extract(SECOND FROM ts)
months_between(d, DATE '2024-01-15')
date_format(ts, 'HH:mm')
date_format(d, 'M/d')
date_format(d, 'EEEE')
date_format(d, 'y')
date_format(d, 'yyyyy')
date_format(d, 'yyyyyyyy')
date_format(d, s)
trunc(d, 'Y')
trunc(ts, 'Q')
date_trunc('Y', ts)
date_trunc('M', ts)
to_date(s, 'yyyy')
unix_timestamp(z)
from_unixtime(k)
to_timestamp(s)
make_date(2024, 1, 1)
next_day(d, 'MON')
trunc(d, 'DD')
date_trunc('SECOND', ts)
datediff(MONTH, d, DATE '2024-03-01')
timestampdiff(HOUR, ts, z)
dateadd(MONTH, 1, d)
array_contains(l, 1)
array_position(l, 1)
sort_array(l)
array_distinct(l)
slice(l, 1, 2)
transform(l, e -> e + 1)
filter(l, e -> e > 1)
exists(l, e -> e > 1)
aggregate(l, 0, (a, e) -> a + e)
array_join(ls, ',')
try_element_at(l, -1)
map_keys(m)
map_entries(m)
map_concat(m, m)
cardinality(l)
explode(l)
i IN (SELECT u.k FROM u)
s COLLATE UTF8_LCASE = 'ABC'
monotonically_increasing_id()
input_file_name()
hash(i)
xxhash64(i)
sha2(s, 256)
crc32(s)
decode(i, 1, 'a', 'b')
nvl2(i, 1, 2)
get_json_object(s, '$.a')
parse_json('{}')
nth_value(i, 2) OVER (ORDER BY k)
sum(i) OVER (ORDER BY k RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)
collect_list(i) OVER (ORDER BY k)
approx_percentile(i, 0.5) OVER ()
any_value(i) OVER (ORDER BY k)
bit_count(i)
try_divide(i, 0)
typeof(i)
X'AB'
"""

REFUSED_FOR_TYPES_OF_SPARK = r"""
CAST(k AS TIMESTAMP)
CAST(z AS BIGINT)
CAST(z AS DOUBLE)
CAST(1700000000 AS TIMESTAMP)
CAST(x AS TIMESTAMP)
CAST(n AS TIMESTAMP)
size(ms)
year('2024-05-01')
last_day('2024-02-01')
date_trunc('month', '2024-01-15')
d > '2024-01'
CAST(CAST(k AS DECIMAL(2,2)) AS STRING)
CAST(k AS DECIMAL(2,2)) || 'x'
concat_ws('-', CAST(k AS DECIMAL(2,2)), k)
CAST(CAST(x AS DECIMAL(10,2)) AS STRING)
CAST(x AS DECIMAL(10,2)) || ''
n = '1.505'
n > '2.675'
n IN ('1.505', '7')
n BETWEEN '1.505' AND '2.675'
n * '1.105'
nullif(n, '1.505')
coalesce(n, '1.505')
CASE WHEN o THEN n ELSE '1.505' END
array(n, '1.505')
datediff(DAY, ts, TIMESTAMP_NTZ '2024-01-01 01:00:00')
date_diff(DAY, z, z)
(d + 1) + INTERVAL 1 DAY
date_add(d, 1) + INTERVAL 1 MONTH
d + 1 - INTERVAL 1 YEAR
m[1]
n / 3
i / n
avg(n) OVER ()
n % 2
x::decimal(10,2)
CAST(x AS STRING)
CAST(z AS STRING)
CAST(l AS STRING)
CAST(s AS TIMESTAMP_NTZ)
round(x, 2)
ceil(x)
floor(x)
f = 0.1
f + i
s = i
coalesce(s, 0)
d - d
ts - ts
d + INTERVAL 1 DAY
d + INTERVAL 1 HOUR
CASE WHEN o THEN s ELSE i END
"""
