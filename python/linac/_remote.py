"""A run elsewhere: at a site of sites.yaml (`linac launch`), or in the queue of a service (`linac submit`). The program's verbs know both by one
word, SITE:NAME or the run's id; what this reads of them it brings into the run's folder here, when it is asked for."""

import json
import os
import pathlib
import re
import secrets
import shutil
import time
from collections.abc import Mapping
from typing import Any

from linac import _columns, _upload, runs
from linac._program import LinacError, call, call_with_status
from linac._run import FOLDER, Run

NOTE = "remote.json"  # in the folder `python` of the run: what was asked for, and by which name it is known since
_PAUSE_S = (0.5, 5.0)
_ENDED = {"SUCCEEDED": "succeeded", "FAILED": "failed", "FAILED_PRECHECKS": "failed", "CANCELLED": "interrupted", "LOST": "lost"}
_BEGINS = ("PENDING", "STARTING")
_NOT_FOUND = (2, 3)


class RemoteRun(Run):
    """As a Run of this host, with the same properties. `name`: SITE:NAME, or its id at the service `server`. One whose beginning was cut off, by a
    kernel that was killed, is begun here: where it had been already, that is found by its name or key, and nothing begins twice."""

    def __init__(self, folder: "str | os.PathLike[str]") -> None:
        super().__init__(folder)
        note = json.loads((self.folder / FOLDER / NOTE).read_text(encoding="utf-8"))
        self.server = str(note["on"]) if is_service(note["on"]) else ""
        self._last: dict[str, Any] = {}
        if "name" not in note:
            note["name"] = _submitted(note) if self.server else _launched(note)
            _write(self.folder, note)
        self.name = str(note["name"])

    def _words(self) -> list[str]:
        return ["--server", self.server] if self.server else []

    def _standing(self) -> dict[str, Any]:
        """How it stands there; once ended it is not asked again."""
        if self._last.get("state") not in _ENDED:
            self._last = json.loads(call("status", self.name, "--json", *self._words()))
        return self._last

    @property
    def status(self) -> str:
        """As of a Run of this host; `starting` also while it waits in a queue."""
        state = str(self._standing()["state"])
        return _ENDED.get(state, "starting" if state in _BEGINS else "running")

    @property
    def error(self) -> "LinacError | None":
        if self.status in ("starting", "running", "succeeded"):
            return None
        record = self._record() or {}
        said = record.get("error") or {}
        why = said.get("message") or self._standing().get("reason") or f"it ended as {self._standing()['state']}"
        return LinacError(f"[run] {self.name}: {why}", said.get("exit_code"))

    def log(self) -> str:
        return call("logs", self.name, *self._words())

    def wait(self, timeout_s: "float | None" = None) -> "RemoteRun":
        """Until it ends, or TimeoutError; a failure is raised as LinacError. Ctrl-C ends the waiting alone: cancel() stops the run."""
        deadline, pause = None if timeout_s is None else time.monotonic() + timeout_s, _PAUSE_S[0]
        while self.status in ("starting", "running"):
            if deadline is not None and time.monotonic() + pause > deadline:
                raise TimeoutError(f"{self.name}: has not ended in {timeout_s} s, and goes on")
            time.sleep(pause)
            pause = min(1.2 * pause, _PAUSE_S[1])
        self._raise_failure()
        return self

    def cancel(self, timeout_s: float = 300.0) -> "RemoteRun":
        """Stops it after a checkpoint, and returns when it has ended."""
        if self.status in ("starting", "running"):
            call("cancel", self.name, *self._words())
            deadline = time.monotonic() + timeout_s
            while self.status in ("starting", "running"):
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{self.name}: was told to stop, and has not in {timeout_s} s")
                time.sleep(_PAUSE_S[0])
        return self

    def resume(self, *, epochs: "int | None" = None, workers: "int | None" = None, settings: "Mapping[str, Any] | None" = None) -> "RemoteRun":
        """Goes on from the newest checkpoint there, with the job and the workers that it had."""
        if epochs is not None or workers is not None or settings:
            raise _columns.refused("run", f"{self.name} goes on elsewhere, with the job that it had", "leave epochs, workers and settings out")
        call("resume", self.name, *self._words())
        self._last = {}
        return self

    # --- Its files, brought here ---

    def _fetch(self, file: str) -> None:
        """The newest of a file of the run, if it is there yet; one that has arrived after its end is not asked for again."""
        path = self.folder / file
        ended = self._standing()["state"] in _ENDED
        if ended and (self.folder / FOLDER / "fetched.txt").exists() and file in (self.folder / FOLDER / "fetched.txt").read_text().splitlines():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            _, status = call_with_status(("artifacts", "get", self.name, file, part, *self._words()), _NOT_FOUND)
            if status == 0:
                part.replace(path)
                if ended:
                    with open(self.folder / FOLDER / "fetched.txt", "a", encoding="utf-8") as fetched:
                        fetched.write(f"{file}\n")
        finally:
            part.unlink(missing_ok=True)

    def _record(self) -> "dict[str, Any] | None":
        self._fetch("run.json")
        return super()._record()

    def _lines(self, kind: str) -> list[dict[str, Any]]:
        self._fetch("metrics.jsonl")
        return super()._lines(kind)

    def _process(self) -> "int | None":
        return None

    def _named(self) -> str:
        if not (self.folder / "checkpoints").exists():
            self.fetch()
        return super()._named()

    @property
    def model_file(self) -> pathlib.Path:
        """What others use of it, as it lies in models/, when it has succeeded."""
        if self.status != "succeeded":
            raise LinacError(f"[run] {self.name}: is {self.status}, and its model is brought at its end; run.wait()", 2)
        for name in ("model.keras", "generator.keras", "model.pt2", "model.pt", "model.chain", "generator.chain"):
            self._fetch(f"models/{name}")
            if (self.folder / "models" / name).exists():
                return self.folder / "models" / name
        raise LinacError(f"[run] {self.name}: it left no model that Python opens; `linac artifacts {self.name}` brings all its files", 3)

    def fetch(self) -> "RemoteRun":
        """All its files into the run's folder here; then the program's verbs take that."""
        call("artifacts", self.name, "--out", self.folder, *self._words())
        return self


def is_service(on: str) -> bool:
    return on.startswith(("http://", "https://"))


def bring(part: pathlib.Path, final: pathlib.Path, job: dict[str, Any], on: str, upload: "str | os.PathLike[str] | None") -> None:
    """Writes into `job` where the files that it names are read there: what this package wrote into `part`, which will be `final`. They are brought
    to `upload`, or to the site's folder, or stay where they are."""
    to = os.fspath(upload) if upload is not None else None
    if to is None and not is_service(on):
        folder = _upload.folder_of_site(on)
        to = None if folder is None else f"{folder}/events"

    def there(file: str) -> str:
        own = part / file
        if "/" in file or not own.is_file():
            return file
        return str(final / file) if to is None else _upload.bring(own, to)

    for section, key in (("data", "train"), ("data", "test")):
        if key in job[section]:
            job[section][key] = [there(file) for file in job[section][key]]
    if job["model"].get("file"):
        job["model"]["file"] = there(job["model"]["file"])


def begin(folder: pathlib.Path, job: Any, on: str, words: list[str]) -> RemoteRun:
    """Launches, or submits, the job whose files have absolute paths or addresses; `words` of `linac train`. What is asked for is written down before.
    Raises LinacError where it could not begin there, and then leaves no run."""
    key = secrets.token_hex(12)
    label = "run-" + re.sub(r"[^a-z0-9]+", "-", folder.name.lower())[:30].strip("-") + "-" + key[:8]
    _write(folder, {"job": str(job), "on": on, "words": words, "key": key, "label": label})
    runs._note(folder)
    try:
        return RemoteRun(folder)
    except LinacError:
        shutil.rmtree(folder / FOLDER, ignore_errors=True)
        raise


def _write(folder: pathlib.Path, note: "Mapping[str, Any]") -> None:
    part = folder / FOLDER / f"{NOTE}.{os.getpid()}"
    part.write_text(json.dumps(note), encoding="utf-8")
    part.replace(folder / FOLDER / NOTE)


def _submitted(note: "Mapping[str, Any]") -> str:
    answer = json.loads(call("submit", note["job"], "--server", note["on"], "--key", note["key"], "--json", *_as_settings(note["words"])))
    return str(answer["runs"][0]["id"])


def _launched(note: "Mapping[str, Any]") -> str:
    call("launch", note["job"], "--on", note["on"], "--name", note["label"], *note["words"])
    return f"{note['on']}:{note['label']}"


def _as_settings(words: list[str]) -> list[str]:
    """`linac submit` has no --workers: the job says it."""
    return [word for flag, value in zip(words[::2], words[1::2], strict=True) for word in (("--set", f"workers={value}") if flag == "--workers" else (flag, value))]
