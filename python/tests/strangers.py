"""Servers that answer otherwise than a service does, and count who asked."""

import socketserver
import threading
import time

HTML = b"<html><h1>Sign in</h1></html>"
ANSWERS = {
    "html": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(HTML), HTML),
    "list": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
    "cut": b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n{\"user\":",
    "noise": b"\x00\xff\x00\r\n\r\n",
    "elsewhere": b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    "503": b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
    "endless": b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (1 << 20),
    "silence": b"",
}


class Stranger:
    """Answers each request as `kind` says, until the block ends. `requests`: what was asked, the heads."""

    def __init__(self, kind: str):
        self.requests: list[bytes] = []
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                outer.requests.append(self.request.recv(1 << 16))
                answer = ANSWERS[kind]
                try:
                    if kind == "silence":
                        while not outer.ended.wait(0.05):
                            pass
                    self.request.sendall(answer)
                    end = time.monotonic() + 20
                    while kind == "endless" and not outer.ended.is_set() and time.monotonic() < end:
                        self.request.sendall(b"x" * (1 << 20))
                except OSError:
                    pass

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

            def handle_error(self, *_) -> None:
                pass

        self.ended = threading.Event()
        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]

    def __enter__(self) -> "Stranger":
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()
