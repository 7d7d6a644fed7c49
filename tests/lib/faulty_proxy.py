"""Stands between clients and an object store and lets requests meet what happens in a year: connections that are reset, answers 503, bodies that
are cut, silence, a server that is away for a while; and, if asked for, bodies that are altered on the way and look whole. Which request meets what, a
seed and the order of requests decide."""

import collections
import random
import re
import socket
import time

from .relay import STORM, Connection, Relay

REQUEST = re.compile(rb"(GET|HEAD|PUT|POST|DELETE) /")
KINDS = {"reset": 4, "503": 4, "cut": 6, "silence": 2, "away": 0.2}  # how often, beside each other
SILENCE_S, AWAY_S = (0.2, 2.5), (0.3, 2.0)
CUT_BYTES = 60_000
ALTERATIONS = ("flip", "other", "short")
LENGTH = re.compile(rb"(?i)(\r\ncontent-length: *)(\d+)")


def altered(kind: str, head: bytes, body: bytes, size: float) -> tuple[bytes, bytes]:
    """An answer with one bit turned over, with the bytes of another object under its headers, or with fewer bytes, which its headers call all; `size`
    of [0, 1) says where."""
    at = int(size * len(body))
    if kind == "flip":
        return head, body[:at] + bytes([body[at] ^ (1 << at % 8)]) + body[at + 1:]
    if kind == "other":
        return head, random.Random(at).randbytes(len(body))
    return LENGTH.sub(lambda found: found[1] + str(at).encode(), head), body[:at]


class FaultyProxy(Relay):
    """`share`: of requests that meet a fault; `altered`: of ranges of objects whose keys begin as `of` that are altered on the way, as one of
    `alterations`. `count`: faults that came to a request or answer, by kind."""

    def __init__(self, port: int, share: float, seed: int, altered: float = 0, of: str = "", alterations: tuple = ALTERATIONS):
        super().__init__(port)
        self.share, self.dice = share, random.Random(seed)
        self.altered, self.alterations = altered, alterations
        self.place: float | None = None  # where in a body, if it is not drawn
        self._ranges = re.compile(rb"GET /[^/ ]+/" + re.escape(of.encode()) + rb"[^\r]*\r\n(?:[^\r]+\r\n)*?(?i:range): ")
        self.count: collections.Counter = collections.Counter()
        self.requests = 0
        self._away_until = 0.0
        self._alterations: dict[Connection, tuple[str, float] | None] = {}  # of the next answer

    def draw(self) -> tuple[str | None, float]:
        """For one more request: the fault, and a number of [0, 1) for its size."""
        with self._lock:
            self.requests += 1
            share, size = self.dice.random(), self.dice.random()
            kind = self.dice.choices(list(KINDS), KINDS.values())[0] if share < self.share else None
            if time.monotonic() < self._away_until:
                kind = "refused while away"
            elif kind == "away":
                self._away_until = time.monotonic() + AWAY_S[0] + size * (AWAY_S[1] - AWAY_S[0])
            if kind and kind != "cut":  # a cut counts when it has met an answer
                self.count[kind] += 1
            return kind, size

    def draw_alteration(self, request: bytes) -> tuple[str, float] | None:
        """What happens to the answer, and where in its body."""
        if self.altered == 0 or not self._ranges.match(request):
            return None
        with self._lock:
            if self.dice.random() >= self.altered:
                return None
            kind, size = self.dice.choice(self.alterations), self.dice.random()
            return kind, size if self.place is None else self.place

    def asks(self, connection: Connection, piece: bytes) -> bytes | None:
        if REQUEST.match(piece):
            kind, size = self.draw()
            if kind == "503":
                connection.client.sendall(STORM)
                return None
            if kind in ("reset", "away", "refused while away"):
                connection.reset()
                return None
            if kind == "silence":
                time.sleep(SILENCE_S[0] + size * (SILENCE_S[1] - SILENCE_S[0]))
            if kind == "cut":
                connection.left = int(size**2 * CUT_BYTES)
            self._alterations[connection] = self.draw_alteration(piece)
        return piece

    def answers(self, connection: Connection, piece: bytes) -> bytes:
        alteration = self._alterations.pop(connection, None)
        return self._altered(connection.server, piece, *alteration) if alteration else piece

    def is_cut(self, connection: Connection) -> None:
        with self._lock:
            self.count["cut"] += 1
        connection.reset()

    def _altered(self, server: socket.socket, answer: bytes, kind: str, size: float) -> bytes:
        """The whole answer that begins so."""
        while b"\r\n\r\n" not in answer and (piece := server.recv(65536)):
            answer += piece
        head, _, body = answer.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        if not head.startswith(b"HTTP/1.1 206") or length is None or int(length[2]) == 0:
            return answer
        while len(body) < int(length[2]) and (piece := server.recv(1 << 20)):
            body += piece
        with self._lock:
            self.count[kind] += 1
        head, body = altered(kind, head, body, size)
        return head + b"\r\n\r\n" + body
