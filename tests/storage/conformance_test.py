"""One list of checks (store_conformance.cpp) for every scheme: conformance_test.py PROGRAM path|http|s3. Exit 77 where the server is not
installed."""

import functools
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
    """Files with ranges, which Python's own server has not."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:  # noqa: N802
        path = self.translate_path(self.path)
        wanted = self.headers.get("Range")
        if not wanted or not os.path.isfile(path):
            return super().do_GET()
        content = pathlib.Path(path).read_bytes()
        first, last = wanted.removeprefix("bytes=").split("-")
        begin, end = int(first), min(int(last or len(content)), len(content) - 1)
        self.send_response(206 if begin < len(content) else 416)
        part = content[begin:end + 1] if begin < len(content) else b""
        self.send_header("Content-Length", str(len(part)))
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
