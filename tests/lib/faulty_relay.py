"""Stands between a client and an object store and breaks every n-th connection in turn: reset, silence cut short, 503, half an answer.
Counts the bytes that it lets through to the client."""

import itertools
import socket
import threading

STORM = (b"HTTP/1.1 503 Slow Down\r\nContent-Type: application/xml\r\nContent-Length: 76\r\nConnection: close\r\n\r\n"
         b"<Error><Code>SlowDown</Code><Message>reduce your request rate</Message></Error>")
STORM = STORM.replace(b"76", str(len(STORM.split(b"\r\n\r\n")[1])).encode())


class FaultyRelay:
    def __init__(self, port: int, every: int):
        """To `port` of 127.0.0.1; `every`: 0 breaks nothing."""
        self.target, self.every = port, every
        self.bytes_out = self.faults = 0
        self._number = itertools.count(1)
        self._lock = threading.Lock()

    def __enter__(self) -> "FaultyRelay":
        self._listener = socket.create_server(("127.0.0.1", 0))
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
            threading.Thread(target=self._serve, args=(client, next(self._number)), daemon=True).start()

    def _serve(self, client: socket.socket, number: int) -> None:
        fault = (number // self.every) % 3 if self.every and number % self.every == 0 else None
        limit = 20_000 if fault == 2 else None
        if fault is not None:
            with self._lock:
                self.faults += 1
        with client:
            if fault == 0:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # closes with a reset
                return
            if fault == 1:
                client.recv(65536)
                client.sendall(STORM)
                return
            with socket.create_connection(("127.0.0.1", self.target)) as server:
                threading.Thread(target=self._pump, args=(client, server, None), daemon=True).start()
                self._pump(server, client, limit)

    def _pump(self, source: socket.socket, sink: socket.socket, limit: int | None) -> None:
        """`limit`: the connection ends after so many bytes."""
        sent = 0
        try:
            while piece := source.recv(65536):
                if limit is not None and sent + len(piece) > limit:
                    sink.sendall(piece[:limit - sent])
                    break
                sink.sendall(piece)
                sent += len(piece)
                if sink.getpeername()[1] != self.target:
                    with self._lock:
                        self.bytes_out += len(piece)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
