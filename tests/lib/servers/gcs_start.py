"""Starts the emulator of Google's store, gcs_start.py PORT BUCKET, with a thread a connection: alone it serves one connection until that is
closed, and a reader with several waits for ever."""

import http.server
import sys

http.server.HTTPServer = http.server.ThreadingHTTPServer
from gcp_storage_emulator.server import create_server  # noqa: E402

port, bucket = sys.argv[1:]
server = create_server("127.0.0.1", int(port), in_memory=True, default_bucket=bucket)
server.run()
