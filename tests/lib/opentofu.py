"""OpenTofu for a test, with the providers that are there: `Tofu(module, folder)` works on a copy of a module of deploy/.

`Tofu.available()` says whether it can be (tests/servers/get.sh opentofu).
"""

import json
import os
import pathlib
import re
import shutil
import subprocess

from .runs import ROOT
from .servers import port_server

MODULES = pathlib.Path(ROOT, "deploy")
PROVIDERS = ("kubernetes", "openstack")


def programs() -> pathlib.Path:
    return port_server.programs() / "opentofu"


class Tofu:
    def __init__(self, module: str, folder: pathlib.Path):
        self.folder = folder / module
        shutil.copytree(MODULES / module, self.folder)
        for other in re.findall(r'source += "\.\./([^"]+)"', (self.folder / "main.tf").read_text()):
            shutil.copytree(MODULES / other, folder / other, dirs_exist_ok=True)
        rules = folder / "tofu.rc"
        rules.write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{programs()}/providers"\n  }}\n}}\n')
        self.environment = {**os.environ, "TF_CLI_CONFIG_FILE": str(rules), "TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1"}

    @staticmethod
    def available() -> bool:
        """Whoever was killed as he brought them has left some of them."""
        return (programs() / "tofu").is_file() and all(any((programs() / "providers").rglob(f"terraform-provider-{name}*")) for name in PROVIDERS)

    @property
    def program(self) -> pathlib.Path:
        return programs() / "tofu"

    def ask(self, *words: str, text: str | None = None, **variables: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.program, *words], cwd=self.folder, env=self.environment | variables, input=text, text=True,
                              capture_output=True, timeout=240)

    def need(self, *words: str, text: str | None = None, **variables: str) -> str:
        done = self.ask(*words, text=text, **variables)
        if done.returncode != 0:
            raise SystemExit(f"tofu {' '.join(words)} of {self.folder.name}: {done.stdout}{done.stderr}")
        return done.stdout

    def write_variables(self, values: dict) -> None:
        (self.folder / "terraform.tfvars.json").write_text(json.dumps(values))

    def planned(self, provider: str, known: str = "") -> dict:
        """The outputs of a plan that is carried out by a made-up provider, which has the schema of the real one. `known`: blocks of what it says."""
        (self.folder / "planned.tftest.hcl").write_text(f'mock_provider "{provider}" {{\n{known}\n}}\nrun "made" {{\n  command = apply\n}}\n')
        lines = [json.loads(line) for line in self.need("test", "-json", "-verbose").splitlines()]
        return next(line["test_state"] for line in lines if line.get("type") == "test_state")["values"]["outputs"]
