"""A proxy that passes requests to an S3 server, counts them by kind, and notes who signed them."""

from __future__ import annotations

import http.client
import re
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import parse_qs, urlsplit

COPIED, LISTED, DELETED = "server-side copy", "LIST", "bulk DELETE"
"""The names of some kinds of requests."""
_ACCESS_KEY = re.compile(r"Credential=([^/]+)/")


def kind_of(method: str, target: str, headers: dict[str, str]) -> str:
    """Return what a request does: its method, or the operation that its query or its headers name."""
    parts = urlsplit(target)
    query = parse_qs(parts.query, keep_blank_values=True)
    if method == "PUT" and "x-amz-copy-source" in headers:
        return "part copy" if "uploadId" in query else COPIED
    if method == "POST" and "delete" in query:
        return DELETED
    if method == "POST":
        return "start of an upload" if "uploads" in query else "end of an upload"
    if method == "PUT" and "uploadId" in query:
        return "part"
    if method == "PUT" and parts.path.endswith("/"):
        return "directory marker"
    if method == "GET" and ("list-type" in query or "prefix" in query or "delimiter" in query):
        return LISTED
    return method


class CountingProxy:
    """Counts the requests to a server; clients use `endpoint` instead of the server's own address.

    Args:
        upstream: the URL of the server.
    """

    def __init__(self, upstream: str) -> None:
        self._upstream = urlsplit(upstream)
        self._lock = threading.Lock()
        self._requests: list[str] = []
        self.refused: set[str] = set()
        """Kinds of requests that the proxy answers with 501 in place of the server."""
        self.access_keys: set[str | None] = set()
        """The access keys that requests were signed with; None for requests without a signature."""
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:
                pass

            def _pass(self) -> None:
                proxy._answer(self)

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> CountingProxy:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    def counted(self) -> Counter[str]:
        """Return the number of requests of each kind since the last call."""
        with self._lock:
            found, self._requests = self._requests, []
        return Counter(found)

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        headers = {name.lower(): value for name, value in handler.headers.items()}
        kind = kind_of(handler.command, handler.path, headers)
        with self._lock:
            self._requests.append(kind)
            signed = _ACCESS_KEY.search(headers.get("authorization", ""))
            self.access_keys.add(signed and signed[1])
        body = _body(handler, headers)
        if kind in self.refused:
            handler.send_response_only(501, "Not Implemented")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        connection = http.client.HTTPConnection(self._upstream.hostname or "", self._upstream.port, timeout=60)
        connection.putrequest(handler.command, handler.path, skip_host=True, skip_accept_encoding=True)
        for name, value in handler.headers.items():
            if name.lower() not in ("expect", "transfer-encoding", "connection", "content-length"):
                connection.putheader(name, value)
        if body or handler.command in ("PUT", "POST"):
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        content = answer.read()
        handler.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                handler.send_header(name, value)
        length = answer.getheader("Content-Length") if handler.command == "HEAD" else str(len(content))
        handler.send_header("Content-Length", length or "0")
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(content)
        connection.close()


def _body(handler: BaseHTTPRequestHandler, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return handler.rfile.read(int(headers.get("content-length", "0")))
    pieces = []
    while size := int(handler.rfile.readline().split(b";")[0], 16):
        pieces.append(handler.rfile.read(size))
        handler.rfile.readline()
    handler.rfile.readline()
    return b"".join(pieces)
