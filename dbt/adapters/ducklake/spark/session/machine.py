"""What this process may use of its machine: processors and memory, also in a container."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

CGROUPS = Path("/sys/fs/cgroup")
"""Where Linux describes the limits of groups of processes."""
OWN_GROUP = Path("/proc/self/cgroup")
"""The groups of this process, a line each: number, controllers and path, with colons between them."""


def available_cores() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def available_memory() -> int | None:
    """Return the bytes of memory that this process may use: the machine's, or the limit of its container. None if they are not known."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
    return min([total, *_limits()])


def _limits() -> list[int]:
    """Return the memory limits of the control groups of this process, in bytes."""
    found = []
    for folder, file in _groups():
        path = PurePosixPath("/", folder)
        for part in (path, *path.parents):  # each group limits those in it
            try:
                text = CGROUPS.joinpath(file[0], *part.parts[1:], file[1]).read_text("ascii").strip()
            except OSError:  # a container does not see the groups above its own
                continue
            if text.isdecimal():  # otherwise `max`
                found.append(int(text))
    return found


def _groups() -> list[tuple[str, tuple[str, str]]]:
    """Return the path of each group that can limit memory, and the folder and name of the files with limits, of cgroup version 2 or 1."""
    try:
        lines = OWN_GROUP.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    groups = [line.split(":", 2)[1:] for line in lines if line.count(":") >= 2]
    files = {"": ("", "memory.max"), "memory": ("memory", "memory.limit_in_bytes")}
    return [(path, files[name]) for controllers, path in groups for name in controllers.split(",") if name in files]
