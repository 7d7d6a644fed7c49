"""One list of checks (store_conformance.cpp) for every scheme: conformance_test.py PROGRAM path|http|s3. Exit 77 where the server is not
installed."""

import functools
import hashlib
import http.server
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "servers"))
from versitygw import Versitygw  # noqa: E402


class Ranges(http.server.SimpleHTTPRequestHandler):
    """Files with ranges and ETags, which Python's own server has not."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:  # noqa: N802
        path = self.translate_path(self.path)
        if not os.path.isfile(path):
            return super().do_GET()
        content = pathlib.Path(path).read_bytes()
        etag = f'"{hashlib.sha256(content).hexdigest()}"'
        wanted = self.headers.get("Range")
        if self.headers.get("If-None-Match") == etag:
            status, part = 304, b""
        elif wanted:
            first, last = wanted.removeprefix("bytes=").split("-")
            part = content[int(first):int(last or len(content)) + 1]
            status = 206 if part else 416
        else:
            status, part = 200, content
        self.send_response(status)
        self.send_header("Content-Length", str(len(part)))
        self.send_header("ETag", etag)
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, *_) -> None:
        pass


def run(program: str, base: str, **environment: str) -> int:
    with tempfile.TemporaryDirectory() as cache:
        return subprocess.run([program], env={**os.environ, "LINAC_CACHE": cache, "LINAC_STORE_BASE": base, **environment}).returncode


def main(program: str, scheme: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        if scheme == "path":
            return run(program, folder)
        if scheme == "http":
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Ranges, directory=folder))
            threading.Thread(target=server.serve_forever, daemon=True).start()
            return run(program, f"http://127.0.0.1:{server.server_port}", LINAC_STORE_WRITTEN=folder)
    if not Versitygw.available():
        print("no versitygw: tests/servers/get.sh versitygw")
        return 77
    with Versitygw() as store:
        return run(program, f"s3://{store.BUCKET}/conformance", **store.environment)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
