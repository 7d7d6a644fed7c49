"""Relays stand between clients and a server on this host and do to their connections what networks do: `with SlowRelay(port, 0.1) as relay:`, then
`relay.url`. What servers do to requests is in faulty_proxy.py, what happens to packets between hosts in hosts.py."""

import itertools
import socket
import threading
import time

STORM = (b"HTTP/1.1 503 Slow Down\r\nContent-Type: application/xml\r\nContent-Length: 79\r\nConnection: close\r\n\r\n"
         b"<Error><Code>SlowDown</Code><Message>reduce your request rate</Message></Error>")
RESET = b"\1\0\0\0\0\0\0\0"  # SO_LINGER of no seconds: close() resets


class Connection:
    """Of one client, the `number`th. `left`: bytes of answers until it is cut; None: it is not."""

    def __init__(self, client: socket.socket, number: int):
        self.client, self.number = client, number
        self.server: socket.socket | None = None  # once it is admitted
        self.left: int | None = None

    def reset(self) -> None:
        """When it is closed."""
        self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


class Relay:
    """To `port` of 127.0.0.1; passes on what both sides say. Subclasses change that: their methods are called by threads of the connection.
    `bytes_out`: of answers that went whole to clients."""

    def __init__(self, port: int):
        self.target, self.bytes_out = port, 0
        self._number, self._lock = itertools.count(1), threading.Lock()

    def admits(self, connection: Connection) -> bool:
        """Whether it is passed on; otherwise it is closed."""
        return True

    def asks(self, connection: Connection, piece: bytes) -> bytes | None:
        """What the server gets of what the client says; None: the connection ends."""
        return piece

    def answers(self, connection: Connection, piece: bytes) -> bytes | None:
        """What the client gets of what the server says; None: the connection ends."""
        return piece

    def is_cut(self, connection: Connection) -> None:
        """Nothing is left of its bytes."""

    def __enter__(self):
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
            threading.Thread(target=self._serve, args=(Connection(client, next(self._number)),), daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        with connection.client as client:
            if not self.admits(connection):
                return
            with socket.create_connection(("127.0.0.1", self.target)) as server:
                connection.server = server
                for end in (client, server):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                answers = threading.Thread(target=self._pump, args=(connection, server, client, self._answers), daemon=True)
                answers.start()
                self._pump(connection, client, server, self.asks)
                answers.join()

    def _answers(self, connection: Connection, piece: bytes) -> bytes | None:
        piece = self.answers(connection, piece)
        if piece is None:
            return None
        if connection.left is not None:
            if len(piece) > connection.left:
                connection.client.sendall(piece[:connection.left])
                self.is_cut(connection)
                return None
            connection.left -= len(piece)
        with self._lock:
            self.bytes_out += len(piece)
        return piece

    def _pump(self, connection: Connection, source: socket.socket, sink: socket.socket, change) -> None:
        try:
            while piece := source.recv(1 << 18):
                piece = change(connection, piece)
                if piece is None:
                    break
                sink.sendall(piece)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class SlowRelay(Relay):
    """A long link: each request waits `delay_s`, and the answers of all connections share `bytes_per_s`, those of one `connection_bytes_per_s`;
    0: as fast as it goes."""

    def __init__(self, port: int, delay_s: float, bytes_per_s: float = 0, connection_bytes_per_s: float = 0):
        super().__init__(port)
        self.delay_s, self.bytes_per_s, self.connection_bytes_per_s = delay_s, bytes_per_s, connection_bytes_per_s
        self._free_at = 0.0  # when the link has carried what was sent

    def asks(self, connection: Connection, piece: bytes) -> bytes:
        time.sleep(self.delay_s)
        return piece

    def answers(self, connection: Connection, piece: bytes) -> bytes:
        if self.bytes_per_s:
            with self._lock:
                self._free_at = max(self._free_at, time.monotonic()) + len(piece) / self.bytes_per_s
                until = self._free_at
            time.sleep(max(0, until - time.monotonic()))
        if self.connection_bytes_per_s:
            time.sleep(len(piece) / self.connection_bytes_per_s)
        return piece


class FaultyRelay(Relay):
    """Every n-th connection is broken in turn: reset, 503, half an answer. `every` 0 breaks none."""

    HALF_BYTES = 20_000

    def __init__(self, port: int, every: int):
        super().__init__(port)
        self.every, self.faults = every, 0

    def admits(self, connection: Connection) -> bool:
        if not self.every or connection.number % self.every:
            return True
        with self._lock:
            self.faults += 1
        fault = connection.number // self.every % 3
        if fault == 0:
            connection.reset()
        elif fault == 1:
            connection.client.recv(65536)
            connection.client.sendall(STORM)
        else:
            connection.left = self.HALF_BYTES
        return fault == 2


class CutRelay(Relay):
    """cut() ends all connections and lets none through until mend()."""

    def __init__(self, port: int):
        super().__init__(port)
        self._cut, self._open = False, []

    def cut(self) -> None:
        self._cut = True
        for client in self._open:
            try:
                client.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self._open = []

    def mend(self) -> None:
        self._cut = False

    def admits(self, connection: Connection) -> bool:
        if not self._cut:
            self._open.append(connection.client)
        return not self._cut


class StallingRelay(Relay):
    """Of an upload whose request begins with `start` some bytes are passed on, and then nothing more; `stalled` is set."""

    PASSED_BYTES = 20_000

    def __init__(self, port: int, start: bytes):
        super().__init__(port)
        self.start, self.stalled = start, threading.Event()
        self._passed: dict[Connection, int] = {}

    def asks(self, connection: Connection, piece: bytes) -> bytes | None:
        if piece.startswith(self.start):
            self._passed[connection] = 0
        if connection not in self._passed:
            return piece
        left = self.PASSED_BYTES - self._passed[connection]
        self._passed[connection] += len(piece)
        if len(piece) <= left:
            return piece
        connection.server.sendall(piece[:left])
        self.stalled.set()
        while connection.client.recv(65536):  # until the client is gone
            pass
        return None
