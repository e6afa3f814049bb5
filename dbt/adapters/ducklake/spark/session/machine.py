"""What this process may use of its machine: processors and memory, with the limits of a container."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path, PurePosixPath

CGROUPS = Path("/sys/fs/cgroup")
"""Where Linux describes the limits of groups of processes."""
OWN_GROUP = Path("/proc/self/cgroup")
"""The groups of this process, a line each: number, controllers and path, with colons between them."""


def available_cores() -> int:
    """Return the number of processors that this process may use, with the quota of its container, as Java counts them."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([cores, *_quotas()]))


def available_memory() -> int | None:
    """Return the bytes of memory that this process may use: the machine's, or the limit of its container. None if they are not known."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
    limits = (text for [text] in _limits("memory", "memory.max", "memory.limit_in_bytes"))
    return min([total, *(int(text) for text in limits if text.isdecimal())])  # otherwise `max`


def _quotas() -> list[int]:
    """Return the processors of each control group: its time in each period, rounded up."""
    found = []
    for texts in _limits("cpu", "cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"):
        quota, _, period = " ".join(texts).partition(" ")
        if quota.isdecimal() and period.isdecimal():  # `max` or -1: none
            found.append(-(-int(quota) // int(period)))
    return found


def _limits(controller: str, file: str, *old_files: str) -> list[list[str]]:
    """Return the limits of the control groups of this process, each as the texts of its files.

    Args:
        controller: the controller whose limits these are.
        file: the file with the limit in cgroup version 2.
        old_files: those in version 1.
    """
    found = []
    for folder, controllers in _groups():
        if controllers and controller not in controllers.split(","):
            continue
        path, files = PurePosixPath("/", folder), old_files if controllers else (file,)
        for part in (path, *path.parents):  # each group limits those in it
            place = CGROUPS.joinpath(controllers and controller, *part.parts[1:])
            with contextlib.suppress(OSError):  # a container does not see the groups above its own
                found.append([(place / name).read_text("ascii").strip() for name in files])
    return found


def _groups() -> list[tuple[str, str]]:
    """Return the path of each control group of this process, and its controllers; "" means all, in cgroup version 2."""
    try:
        lines = OWN_GROUP.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    fields = (line.split(":", 2) for line in lines if line.count(":") >= 2)
    return [(path, controllers) for _, controllers, path in fields]
