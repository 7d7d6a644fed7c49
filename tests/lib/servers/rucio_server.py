"""A Rucio server for a test: `with Rucio() as rucio:`, then `rucio.register(...)` (rucio_setup.py) and `rucio.environment`.

On SQLite in a temporary folder, on a free port of 127.0.0.1, with a password of its own; ended by its own process id.
`Rucio.available()` says whether it is installed (tests/servers/get.sh rucio).
"""

import json
import os
import pathlib
import secrets
import shutil
import subprocess
import tempfile

from . import port_server
from ..ports import free_port

SETUP = pathlib.Path(__file__).parent / "rucio_setup.py"


class Rucio:
    @staticmethod
    def folder_of_programs() -> pathlib.Path:
        return port_server.programs() / "rucio" / "bin"

    @classmethod
    def available(cls) -> bool:
        return (cls.folder_of_programs() / "gunicorn").is_file()

    def __enter__(self) -> "Rucio":
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="linac-rucio-"))
        self.port, self.password = free_port(), secrets.token_hex(16)
        self.url = f"http://127.0.0.1:{self.port}"
        self.config = self.folder / "rucio.cfg"
        self.config.write_text(f"""[common]
logdir = {self.folder}
[client]
rucio_host = {self.url}
auth_host = {self.url}
auth_type = userpass
username = root
password = {self.password}
account = root
request_retries = 1
auth_token_file_path = {self.folder}/token
[database]
default = sqlite:///{self.folder}/rucio.db
[bootstrap]
userpass_identity = root
userpass_pwd = {self.password}
userpass_email = root@localhost
[policy]
permission = generic
schema = generic
lfn2pfn_algorithm_default = hash
support = root@localhost
[monitor]
enable_metrics = False
""")
        self.environment = {"RUCIO_CONFIG": str(self.config)}
        self.process = None
        self._setup("database")
        self.start()
        return self

    def start(self) -> None:
        words = [self.folder_of_programs() / "gunicorn", "-b", f"127.0.0.1:{self.port}", "-w", "1", "--threads", "2", "rucio.web.rest.main:application"]
        self.process = port_server.start(words, self.port, self.folder / "log", 60, cwd=self.folder, env={**os.environ, **self.environment})

    def stop(self) -> None:
        if self.process:
            self.process.terminate()  # gunicorn ends its worker
            self.process.wait()

    def register(self, wanted: dict) -> None:
        self._setup("register", json.dumps(wanted))

    def _setup(self, what: str, said: str = "") -> None:
        done = subprocess.run([self.folder_of_programs() / "python", SETUP, what], input=said, text=True, capture_output=True, cwd=self.folder,
                              env={**os.environ, **self.environment})
        if done.returncode:
            self.__exit__()
            raise SystemExit(f"Rucio's {what}: {done.stdout}{done.stderr}")

    def __exit__(self, *_) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
