"""One list of checks (store_conformance.cpp) for every scheme: conformance_test.py PROGRAM path|http|s3|gs|az|root|dav. Exit 77 where the server is not
installed."""

import os
import subprocess
import sys
import tempfile

from lib.servers.azurite import Azurite
from lib.servers.gcs_emulator import GcsEmulator
from lib.servers.versitygw import Versitygw
from lib.servers.xrootd import Xrootd
from range_server import RangeServer


def run(program: str, base: str, **environment: str) -> int:
    with tempfile.TemporaryDirectory() as cache:
        return subprocess.run([program], env={**os.environ, "LINAC_CACHE": cache, "LINAC_STORE_BASE": base, **environment}).returncode


def main(program: str, scheme: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        if scheme == "path":
            return run(program, folder)
        if scheme == "http":
            with RangeServer(folder) as server:
                return run(program, server.url, LINAC_STORE_WRITTEN=folder)
    if scheme in ("root", "dav"):
        if not Xrootd.available():
            print("no server: tests/servers/get.sh xrootd; it also takes root and a network namespace")
            return 77
        Xrootd.enter()
        with Xrootd() as store:
            return run(program, getattr(store, scheme) + "/conformance")
    server = {"s3": Versitygw, "gs": GcsEmulator, "az": Azurite}[scheme]
    if not server.available():
        print(f"no server: tests/servers/get.sh {server.__name__.lower()}")
        return 77
    with server() as store:
        return run(program, f"{scheme}://{store.BUCKET}/conformance", **store.environment)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
