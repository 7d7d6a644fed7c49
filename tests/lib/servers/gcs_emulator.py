"""An object store that speaks as Google's: `with GcsEmulator() as store:`, then `store.environment` and bucket "test". In memory, on a free
port of 127.0.0.1. `GcsEmulator.available()` says whether it is installed (tests/servers/get.sh gcsemulator)."""

import pathlib
import tempfile

from . import port_server
from ..ports import free_port

PYTHON = port_server.programs() / "gcs" / "bin" / "python"


class GcsEmulator(port_server.PortServer):
    BUCKET = "test"

    @staticmethod
    def available() -> bool:
        return PYTHON.is_file()

    def __enter__(self) -> "GcsEmulator":
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="linac-gcs-"))
        self.port = free_port()
        self.environment = {"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{self.port}"}
        words = [PYTHON, pathlib.Path(__file__).parent / "gcs_start.py", str(self.port), self.BUCKET]
        self.process = port_server.start(words, self.port, self.folder / "log", cwd=self.folder)
        return self
