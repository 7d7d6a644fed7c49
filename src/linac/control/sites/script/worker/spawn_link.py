"""How the runners of one launch speak with each other, and print."""

import hashlib
import hmac
import json
import os
import socket
import threading
import time

BEAT_S = 5.0      # a link says something so often
SILENCE_S = 60.0  # and is given up after so long without a word
HANDSHAKE_S = 10.0
MESSAGE_MAX = 1 << 20


def say_bytes(text):
    """A line of the log. A disk that is full stops no training."""
    try:
        os.write(1, text + b"\n")
    except OSError:
        pass


def say(text):
    say_bytes(("linac spawn: " + text).encode(errors="replace"))


class Stranger(Exception):
    pass


def hang_up(connection):
    """Whoever waits for it waits no longer."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


class Link:
    """A connection of two runners. Each message has a code by the key of the launch: nobody else can say anything in it."""

    def __init__(self, connection, key, mine):
        self.connection, self.mine, self.lock = connection, mine, threading.Lock()
        connection.settimeout(HANDSHAKE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.input = connection.makefile("rb")
        self.sent = self.received = 0
        own = os.urandom(16).hex()
        self._write(own.encode())
        other = self._line(64).decode(errors="replace")
        # Both sides in the order of their roles, so that neither can answer with what it was asked.
        both = "|".join([own, other] if mine == "coordinator" else [other, own])
        theirs = "member" if mine == "coordinator" else "coordinator"
        self._write(self._code(key, mine + both).encode())
        if not hmac.compare_digest(self._line(128), self._code(key, theirs + both).encode()):
            raise Stranger("it has another key")
        self.session = self._code(key, "session" + both).encode()
        self.theirs = theirs
        connection.settimeout(SILENCE_S)

    @staticmethod
    def _code(key, text):
        return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()

    def _write(self, line):
        self.connection.sendall(line + b"\n")

    def _line(self, most):
        line = self.input.readline(most + 1)
        if not line.endswith(b"\n"):
            raise OSError("the link is closed")
        return line[:-1]

    def send(self, **message):
        """False if the link is gone."""
        text = json.dumps(message)
        with self.lock:
            try:
                self._write((self._code(self.session, "%s%d%s" % (self.mine, self.sent, text)) + text).encode())
            except OSError:
                return False
            self.sent += 1
        return True

    def receive(self):
        """None if the link is gone, or somebody else has spoken."""
        try:
            line = self._line(MESSAGE_MAX).decode()
            code, text = line[:64], line[64:]
            if not hmac.compare_digest(code, self._code(self.session, "%s%d%s" % (self.theirs, self.received, text))):
                return None
            self.received += 1
            return json.loads(text)
        except (OSError, ValueError):
            return None

    def close(self):
        hang_up(self.connection)
        self.connection.close()


def beat(link):
    """Until the link is gone."""
    while link.send(do="beat"):
        time.sleep(BEAT_S)
