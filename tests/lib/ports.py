"""Ports for servers that do not choose one themselves."""

import socket


def free_port() -> int:
    """On 127.0.0.1, free a moment ago."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
