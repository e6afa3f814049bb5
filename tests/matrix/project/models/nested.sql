-- arrays, maps and structs have field ids that Spark does not write: the footers of the files are replaced
select id, array(id, id + 1) as numbers, map('k', named_struct('a', id, 'b', array(cast(id as string)))) as pairs,
  cast(id as decimal(20, 3)) / 8 as eighth, timestamp'2026-01-01 00:00:00' + make_interval(0, 0, 0, id) as day
from range(100)
