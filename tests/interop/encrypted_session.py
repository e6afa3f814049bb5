"""A process that changes an encrypted lake in many ways while a thread searches every file of the process for plain rows.

Run as `python -m tests.interop.encrypted_session FOLDER DATA_PATH`; the folder is empty, and TMPDIR is a folder in it. Prints what was
found.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pandas as pd

from dbt.adapters.ducklake.session import Lake, LakeSession, LakeSettings
from dbt.adapters.ducklake.spark.session.settings import SparkSettings

MARKER = "GEHEIM" + "NIS"
"""Made of two parts, so that the text of this program and of statements is not found; the statements make it likewise."""
MARKED = "concat('GEHEIM', 'NIS', id)"


class Search(threading.Thread):
    """Searches the files below a folder again and again."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder = folder
        self.found: set[str] = set()
        self.seen: set[str] = set()
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.01):
            self.once()

    def once(self) -> None:
        for path in self.folder.rglob("*"):
            try:
                content = path.read_bytes() if path.is_file() else b""
            except OSError:
                continue
            self.seen.add(path.suffix)
            if MARKER.encode() in content or MARKER.encode("utf-16-le") in content or content[:4] == b"PAR1" or content[-4:] == b"PAR1":
                self.found.add(str(path))


def change(session: LakeSession) -> None:
    """Write, read, shuffle, cache and spill rows with the marker."""
    session.execute(f"CREATE TABLE t AS SELECT id, {MARKED} AS v FROM range(20000)")
    session.load_seed("main", "seed", [("id", "INT"), ("v", "STRING")], [(number, f"{MARKER}{number}") for number in range(2000)])
    rows = pd.DataFrame({"id": range(20000), "v": [f"{MARKER}{number}" for number in range(20000)]})
    session.create_temp_view("given", session.to_dataframe(rows))
    session.execute("CREATE TABLE frame AS SELECT * FROM given")
    session.execute("CREATE TABLE counted AS SELECT v, count(*) AS n FROM (SELECT v FROM t UNION ALL SELECT v FROM frame) GROUP BY v")
    session.execute(
        "MERGE INTO t USING (SELECT id * 2 AS id, v FROM frame) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
    )
    session.execute("DELETE FROM t WHERE id % 7 = 0")
    session.execute(f"UPDATE t SET v = {MARKED} WHERE id = 8")
    session.execute("CREATE TEMPORARY VIEW kept AS SELECT a.id, b.v FROM t a JOIN counted b ON a.v = b.v ORDER BY b.v")
    assert session.cache("kept") > 0
    session.execute("CALL ducklake_merge_adjacent_files('lake')")
    session.execute("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)")


def main(folder: Path, data_path: str) -> None:
    search = Search(folder)
    config = {"spark.local.dir": str(folder / "spark"), "spark.sql.shuffle.partitions": "3"}
    settings = LakeSettings(
        str(folder / "lake.sqlite"),
        data_path,
        encrypted=True,
        data_inlining_row_limit=0,
        spark=SparkSettings(master="local[2]", fast_start=True, config=config),
    )
    with Lake.open(settings) as lake, lake.session() as session:
        search.start()
        change(session)
        search.ended.set()
        search.join()
        search.once()
    catalog = str(folder / "lake.sqlite")  # has the least and greatest value of each column
    print(sorted(each for each in search.found if not each.startswith(catalog)))
    print(sorted(search.seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
