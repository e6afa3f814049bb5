"""Where the time of a dbt command goes: its phases, and the processor time of Python, of Java's compilers and of Spark's threads.

It runs the command once in a project, in a new process, and prints the seconds of each phase and what the threads of all processes used.
It reads `/proc`, so it needs Linux.

    python benchmarks/where.py /tmp/shop build --threads 1
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

PHASES = (
    ("MainReportVersion", "dbt's modules"),
    ("FoundStats", "parse, with the adapter's modules"),
    ("LogStartLine", "before the first node"),
    ("FinishedRunningStats", "nodes"),
)
"""(the first event that ends a phase, the phase)."""
THREADS = (
    (r"C[12] Compil", "Java's compilers"),
    (r"GC |G1 |VM ", "Java's garbage collector and virtual machine"),
    (r"Executor task", "Spark's tasks"),
    (r"python|dbt", "Python: dbt, the adapter, the catalog"),
    (r".*", "Spark's driver: its start, analysis, planning, scheduling"),
)
"""(the beginning of a thread's name, what it does)."""
TICKS = os.sysconf("SC_CLK_TCK")


def processes(root: int) -> Iterator[int]:
    """Yield the ids of a process and of those that it started."""
    yield root
    try:
        for thread in os.listdir(f"/proc/{root}/task"):
            for child in Path(f"/proc/{root}/task/{thread}/children").read_text().split():
                yield from processes(int(child))
    except OSError:  # it has ended
        return


def note_threads(root: int, found: dict[tuple[int, str], tuple[str, float]]) -> None:
    """Note the processor time of each thread: (process, thread) → its name and seconds."""
    for process in processes(root):
        try:
            for thread in os.listdir(f"/proc/{process}/task"):
                text = Path(f"/proc/{process}/task/{thread}/stat").read_text()
                fields = text[text.rindex(")") + 2 :].split()
                found[process, thread] = (text[text.index("(") + 1 : text.rindex(")")], (int(fields[11]) + int(fields[12])) / TICKS)
        except OSError:
            continue


def main() -> None:
    """Run the command and print where its time went."""
    folder, *arguments = sys.argv[1:]
    dbt = [str(Path(sys.executable).with_name("dbt")), "--log-format", "json", *arguments, "--profiles-dir", ".", "--project-dir", "."]
    threads: dict[tuple[int, str], tuple[str, float]] = {}
    log = Path(folder, "where.log")
    with log.open("w") as sink:
        begun = time.time()
        running = subprocess.Popen(dbt, cwd=folder, stdout=sink, stderr=subprocess.STDOUT)
        while running.poll() is None:
            note_threads(running.pid, threads)
            time.sleep(0.1)
        ended = time.time()
    if running.returncode:
        raise SystemExit(f"dbt {' '.join(arguments)} failed; see {log}")
    events: dict[str, float] = {}
    for line in log.read_text().splitlines():
        info = json.loads(line)["info"]
        events.setdefault(info["name"], datetime.fromisoformat(info["ts"].replace("Z", "+00:00")).timestamp())
    print(f"dbt {' '.join(arguments)}: {ended - begun:.1f} s")
    before = begun
    for event, phase in PHASES:
        if event in events:
            print(f"  {events[event] - before:6.2f} s  {phase}")
            before = events[event]
    print(f"  {ended - before:6.2f} s  the end")
    used: Counter[str] = Counter()
    for name, seconds in threads.values():
        used[next(kind for pattern, kind in THREADS if re.match(pattern, name))] += seconds
    print(f"  processor time {used.total():.1f} s of {(ended - begun) * (os.cpu_count() or 1):.1f}")
    for kind, seconds in used.most_common():
        print(f"  {seconds:6.2f} s  {kind}")


if __name__ == "__main__":
    main()
