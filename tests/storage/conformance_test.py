"""One list of checks (store_conformance.cpp) for every scheme: conformance_test.py PROGRAM path|http|s3|gs|az|root|dav. Exit 77 where the server is not
installed."""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "servers"))
from azurite import Azurite  # noqa: E402
from gcs_emulator import GcsEmulator  # noqa: E402
from range_server import RangeServer  # noqa: E402
from versitygw import Versitygw  # noqa: E402
from xrootd import Xrootd  # noqa: E402


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
