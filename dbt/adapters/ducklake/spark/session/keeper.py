"""The process that owns a kept JVM: it lends the JVM to one client after another, and ends it after some idle time.

It runs as a script with the standard library only, so that it starts fast and stays small. `kept` has the clients. Messages are lines of
JSON:

- The first client starts this process with one end of a socket pair, which is its lease, and sends an `Order`. The answer is
  `{"started": true}`, or `{"started": false}` if another keeper has the lock. When the JVM listens, the client sends its port and secret.
- Later clients connect to the socket of the order, and send `{"want": "lease"}`, `{"want": "status"}` or `{"want": "stop"}`.
- A client that ends its lease sends `{"want": "end"}`. If the connection is closed without it, the client was killed, and its jobs may
  still run, so the JVM ends too.

The JVM ends with this process, however that ends, because its standard input is closed then.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import selectors
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

POLL_SECONDS = 1.0
"""How often to check whether the JVM has ended or is idle for too long."""
END_SECONDS = 20
"""How long the JVM may take to end before it is killed."""
ANSWER_SECONDS = 5
"""How long to wait for the rest of a message."""
MAX_LINE_BYTES = 1 << 20


@dataclass(frozen=True)
class Order:
    """What to keep.

    Args:
        command: the command that starts the JVM; it inherits the environment, the working directory and the output of this process.
        socket: the path of the socket for later clients.
        lock: the path of a lock file, so that these settings have only one keeper.
        folder: the temporary folder of the JVM, which is removed after its end.
        descriptors: the file descriptors of this folder's lock, which the JVM inherits.
        idle_seconds: how long the JVM is kept without a client.
        max_commands: the number of leases after which the JVM ends, because each leaves some objects in its memory.
    """

    command: list[str]
    socket: str
    lock: str
    folder: str
    descriptors: list[int]
    idle_seconds: float
    max_commands: int


class Keeper:
    """Keeps one JVM.

    Args:
        order: what to keep.
        process: the JVM.
        lease: the connection of the first client.
    """

    def __init__(self, order: Order, process: subprocess.Popen[bytes], lease: socket.socket) -> None:
        self._order, self._process = order, process
        self._lease: socket.socket | None = lease
        self._address: dict[str, Any] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(lease, selectors.EVENT_READ)
        self._listener = _listen(order.socket)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._commands, self._started, self._idle_since = 1, time.time(), time.monotonic()
        self._ends = False

    def serve(self) -> int:
        """Serve until the JVM ends or is no longer needed, and return its exit status."""
        try:
            while not self._ends and self._process.poll() is None and not self._is_idle():
                for key, _ in self._selector.select(POLL_SECONDS):
                    if key.fileobj is self._listener:
                        self._accept()
                    elif isinstance(key.fileobj, socket.socket):
                        self._receive(key.fileobj)
        finally:
            self._listener.close()
            with contextlib.suppress(OSError):
                os.unlink(self._order.socket)
        return self._end()

    def _is_idle(self) -> bool:
        return self._lease is None and time.monotonic() - self._idle_since >= self._order.idle_seconds

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        connection.settimeout(ANSWER_SECONDS)
        self._selector.register(connection, selectors.EVENT_READ)

    def _receive(self, connection: socket.socket) -> None:
        message = read(connection)
        if connection is self._lease:
            self._receive_from_lease(message)
            return
        match message and message.get("want"):
            case "lease" if self._lease is None and not self._ends:
                self._lease, self._commands = connection, self._commands + 1
                send(connection, self._address)
                return
            case "status":
                send(connection, self._status())
            case "stop":
                self._ends = self._lease is None
                send(connection, {**self._status(), "stopped": self._ends})
            case _:
                send(connection, {})
        self._forget(connection)

    def _receive_from_lease(self, message: dict[str, Any] | None) -> None:
        assert self._lease is not None
        if message is not None and message.get("want") != "end":
            self._address = message
            return
        self._ends = message is None or self._commands >= self._order.max_commands
        self._forget(self._lease)
        self._lease, self._idle_since = None, time.monotonic()

    def _forget(self, connection: socket.socket) -> None:
        self._selector.unregister(connection)
        connection.close()

    def _status(self) -> dict[str, Any]:
        idle = None if self._lease is not None else round(time.monotonic() - self._idle_since)
        return {"pid": self._process.pid, "started": self._started, "commands": self._commands, "idle_seconds": idle}

    def _end(self) -> int:
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            return self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def read(connection: socket.socket) -> dict[str, Any] | None:
    """Read one message; None if the connection is closed or the message is damaged."""
    data = b""
    try:
        while not data.endswith(b"\n") and len(data) < MAX_LINE_BYTES:
            part = connection.recv(65536, socket.MSG_PEEK)
            if not part:
                return None
            data += connection.recv(part.find(b"\n") + 1 or len(part))
        message = json.loads(data)
    except (OSError, ValueError):
        return None
    return message if isinstance(message, dict) else None


def send(connection: socket.socket, message: dict[str, Any]) -> None:
    """Send a message; a closed connection is noticed when it is read."""
    with contextlib.suppress(OSError):
        connection.sendall(json.dumps(message).encode() + b"\n")


def _listen(path: str) -> socket.socket:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)  # of a keeper that was killed: this one has the lock
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    return listener


def remove(folder: str) -> None:
    """Remove the JVM's folder, its lock last, as `temporary_folder` does, which this script cannot import."""
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(folder)):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.name != "lock":
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)
        if set(os.listdir(folder)) <= {"lock"}:
            shutil.rmtree(folder, ignore_errors=True)


def main(descriptor: int) -> int:
    """Keep the JVM that the client at the other end of a socket asks for, and return the JVM's exit status."""
    lease = socket.socket(fileno=descriptor)
    message = read(lease)
    if message is None:
        return 1
    order = Order(**message)
    with open(order.lock, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            send(lease, {"started": False})
            return 1
        with subprocess.Popen(order.command, stdin=subprocess.PIPE, pass_fds=order.descriptors) as process:
            keeper = Keeper(order, process, lease)
            send(lease, {"started": True})
            status = keeper.serve()
        remove(order.folder)
        return status


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
