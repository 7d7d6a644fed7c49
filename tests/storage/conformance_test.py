"""One list of checks (store_conformance.cpp) for every scheme: conformance_test.py PROGRAM path|http|s3. Exit 77 where the server is not
installed."""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "servers"))
from range_server import RangeServer  # noqa: E402
from versitygw import Versitygw  # noqa: E402


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
    if not Versitygw.available():
        print("no versitygw: tests/servers/get.sh versitygw")
        return 77
    with Versitygw() as store:
        return run(program, f"s3://{store.BUCKET}/conformance", **store.environment)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
