#!/usr/bin/env python3
"""A verb that is asked to stop while a server says nothing, or that it is busy, ends with 75 and leaves nothing behind: it waits for no answer."""

import pathlib
import socket
import subprocess
import tempfile
import threading

from lib import runs
from lib.checks import check

VERBS = {"copy": ["data", "copy", "{url}", "{out}.h5"], "convert": ["data", "convert", "{url}", "{out}.parquet"],
         "verify": ["data", "verify", "{url}"], "stats": ["data", "stats", "{url}"]}


def stopped(root: pathlib.Path, verb: str, scheme: str, answer: bytes) -> None:
    """After the server has the first request, and has answered with these bytes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        url = {"http": f"http://{address}/a.h5", "s3": "s3://bucket/a.h5"}[scheme]
        keys = {"AWS_ENDPOINT_URL": f"http://{address}", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
        words = [word.format(url=url, out=root / "out") for word in VERBS[verb]]
        process = subprocess.Popen([runs.LINAC, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env=runs.environment(LINAC_CACHE=str(root / "cache"), **keys))
        with server.accept()[0] as connection:
            connection.recv(1)
            if answer:
                connection.sendall(answer)
                threading.Thread(target=turn_away, args=(server, answer), daemon=True).start()
                for line in process.stdout:
                    if "attempt 2" in line:
                        break
            process.terminate()
            said = process.communicate(timeout=100)[0]
    check(process.returncode == 75 and "stopped by a signal" in said, f"{verb} of {scheme}, {'busy' if answer else 'silent'}: {process.returncode}, {said.strip()}")
    left = [path.name for path in root.iterdir() if path.name != "cache"]
    check(not left, f"nothing is left: {left}")


def turn_away(server: socket.socket, answer: bytes) -> None:
    while True:
        try:
            with server.accept()[0] as connection:
                connection.recv(1)
                connection.sendall(answer)
        except OSError:
            return


def main() -> None:
    busy = b"HTTP/1.1 503 Busy\r\nRetry-After: 30\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    with tempfile.TemporaryDirectory() as folder:
        for verb in VERBS:
            for scheme in ("http", "s3"):
                for answer in (b"", busy):
                    stopped(pathlib.Path(folder), verb, scheme, answer)


if __name__ == "__main__":
    main()
