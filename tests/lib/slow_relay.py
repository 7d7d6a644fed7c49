"""Stands between clients and a server as a long link does: each request waits `delay_s`, and the answers of all connections share `bytes_per_s`."""

import socket
import threading
import time


class SlowRelay:
    """To `port` of 127.0.0.1. `bytes_per_s` of one connection: `connection_bytes_per_s`; 0: as fast as it goes."""

    def __init__(self, port: int, delay_s: float, bytes_per_s: float = 0, connection_bytes_per_s: float = 0):
        self.target, self.delay_s, self.bytes_per_s, self.connection_bytes_per_s = port, delay_s, bytes_per_s, connection_bytes_per_s
        self._free_at = 0.0  # when the link has carried what was sent
        self._lock = threading.Lock()

    def __enter__(self) -> "SlowRelay":
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self.target)) as server:
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            answers = threading.Thread(target=self._pump, args=(server, client, self._carried), daemon=True)
            answers.start()
            self._pump(client, server, lambda _: time.sleep(self.delay_s))
            answers.join()

    def _carried(self, size: int) -> None:
        """Waits until the link has carried so many bytes more."""
        if self.bytes_per_s:
            with self._lock:
                self._free_at = max(self._free_at, time.monotonic()) + size / self.bytes_per_s
                until = self._free_at
            time.sleep(max(0, until - time.monotonic()))
        if self.connection_bytes_per_s:
            time.sleep(size / self.connection_bytes_per_s)

    def _pump(self, source: socket.socket, sink: socket.socket, wait) -> None:
        try:
            while piece := source.recv(1 << 18):
                wait(len(piece))
                sink.sendall(piece)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
