"""The service that gives a machine of Amazon the keys of its role."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def metadata_service(key_id: str) -> Iterator[str]:
    """Run a service that answers as that of an EC2 machine with a role, and yield its URL."""
    folder = "/latest/meta-data/iam/security-credentials/"
    times = {"LastUpdated": "2026-01-01T00:00:00Z", "Expiration": "2100-01-01T00:00:00Z"}
    keys = {"AccessKeyId": key_id, "SecretAccessKey": "role-secret", "Token": "role-token"}
    answers = {
        "/latest/api/token": "session",
        folder: "lake-role",
        f"{folder}lake-role": json.dumps({"Code": "Success", "Type": "AWS-HMAC", **times, **keys}),
    }

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def _answer(self) -> None:
            answer = answers.get(self.path) or answers.get(self.path + "/")
            self.send_response(404 if answer is None else 200)
            self.send_header("X-aws-ec2-metadata-token-ttl-seconds", "21600")
            self.end_headers()
            self.wfile.write((answer or "").encode())

        do_GET = do_PUT = _answer

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
