"""A web server with ranges and ETags, which Python's own has not: `with RangeServer(folder) as server:`, then `server.url`.

Counts what it sends. `bytes_per_s` slows each connection down; `versions` False: no ETag and no date."""

import functools
import hashlib
import http.server
import os
import pathlib
import sys
import threading
import time


class Ranges(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:  # noqa: N802
        server = self.server
        path = self.translate_path(self.path)
        if not os.path.isfile(path):
            return super().do_GET()
        content = pathlib.Path(path).read_bytes()
        etag = f'"{hashlib.sha256(content).hexdigest()}"'
        wanted = self.headers.get("Range")
        if getattr(server, "versions", True) and self.headers.get("If-None-Match") == etag:
            status, part = 304, b""
        elif wanted:
            first, last = wanted.removeprefix("bytes=").split("-")
            part = content[int(first):int(last or len(content)) + 1]
            status = 206 if part else 416
        else:
            status, part = 200, content
        self.send_response(status)
        self.send_header("Content-Length", str(len(part)))
        if status == 206:
            self.send_header("Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{len(content)}")
        if status == 416:
            self.send_header("Content-Range", f"bytes */{len(content)}")
        if getattr(server, "versions", True):
            self.send_header("ETag", etag)
        self.end_headers()
        self._send(part)

    def _send(self, part: bytes) -> None:
        pace = getattr(self.server, "bytes_per_s", 0)
        step = max(1, pace // 20) if pace else max(1, len(part))
        for begin in range(0, len(part), step):
            piece = part[begin:begin + step]
            try:
                self.wfile.write(piece)
            except OSError:
                self.close_connection = True
                return
            self.server.count(len(piece))
            pace = getattr(self.server, "bytes_per_s", 0)  # may change on the way
            if pace:
                time.sleep(len(piece) / pace)

    def log_message(self, *_) -> None:
        pass


class RangeServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder: os.PathLike | str, bytes_per_s: int = 0, versions: bool = True, address: str = "127.0.0.1", port: int = 0):
        super().__init__((address, port), functools.partial(Ranges, directory=folder))
        self.bytes_per_s, self.versions, self.sent, self.asked = bytes_per_s, versions, 0, 0
        self._lock = threading.Lock()
        self.url = f"http://{address}:{self.server_port}"

    def count(self, sent: int) -> None:
        with self._lock:
            self.sent += sent
            self.asked += 1

    def __enter__(self) -> "RangeServer":
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self.shutdown()
        self.server_close()


def main() -> None:
    """range_server.py FOLDER ADDRESS PORT COUNT: on a host of its own (lib/hosts.py); COUNT becomes the bytes that were sent."""
    folder, address, port, counted = sys.argv[1:]
    server = RangeServer(folder, address=address, port=int(port))
    with open(counted, "r+b", buffering=0) as out:
        count = server.count

        def told(sent: int) -> None:
            count(sent)
            os.pwrite(out.fileno(), f"{server.sent:020}".encode(), 0)
        server.count = told
        server.serve_forever()


if __name__ == "__main__":
    main()
