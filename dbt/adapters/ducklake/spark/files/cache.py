"""A cache for what was read of files, with a maximum size in bytes."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from . import storage

T = TypeVar("T")


class FileCache(Generic[T]):
    """The contents of files, which never change in a lake. The least recently used are dropped first. Threads can share it.

    A local file that someone has replaced is read again, and one that is missing is an error, as without the cache.

    Args:
        max_bytes: the maximum size of all contents together. Contents of more than a quarter of that are not kept.
        size_of: returns the size of contents in bytes.
    """

    def __init__(self, max_bytes: int, size_of: Callable[[T], int]) -> None:
        self._max_bytes = max_bytes
        self._size_of = size_of
        self._bytes = 0
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, path: str, how: Hashable, read: Callable[[], T]) -> T:
        """Return the contents of a file.

        Args:
            path: the file.
            how: what decides how it is read, such as its encryption key.
            read: reads it.

        Raises:
            FileNotFoundError: the file is local and does not exist.
        """
        key = path, how, _state(path)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        found = read()
        size = self._size_of(found)
        with self._lock:
            if key not in self._kept and 4 * size <= self._max_bytes:
                self._kept[key] = found
                self._bytes += size
            while self._bytes > self._max_bytes:
                self._bytes -= self._size_of(self._kept.popitem(last=False)[1])
        return found


def _state(path: str) -> Hashable:
    """Return what changes when a local file is replaced; None for a file of an object store."""
    if not storage.is_local(path):
        return None
    found = os.stat(storage.filesystem(path)[1])
    return found.st_ino, found.st_size, found.st_mtime_ns
