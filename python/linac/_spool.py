"""What a log has said, on the disk until a service has it: a folder for each log, which whoever has its lock sends.

  run.json      the run: key, name, experiment, server, parameters, when it began
  points.jsonl  a batch of points a line, {"loss": [[step, time_ms, value], ...]}; the number of the line is the batch's
  files/        files for the run's folder; each goes when it has arrived
  end.json      how it ended, and the status with which the process left
  lock          held by the process that writes the log, and then by who sends the rest

The service counts a batch once, whoever sends it and however often, and knows a run by its key: so nothing here is written down as sent but by being
gone. A process that was killed leaves at most half a line, which nobody reads. No token lies here: who sends has one."""

import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from linac._service import Service, ServiceError, named

BATCH_POINTS_MAX, BATCH_NAMES_MAX, NAME_BYTES_MAX = 5000, 1000, 250  # docs/reference/bounds.md
_LINE_BYTES_MAX = 4 << 20
_TEXT_MAX = 6000
_PARAMETERS = 100  # in a request
_REFUSED = (400, 413)  # this batch, however often it is sent

# Locks belong to a process, so that one that is forked does not keep them; of its own spools it must know by itself.
_own: "set[str]" = set()


def folder() -> pathlib.Path:
    """Of all spools of this user: $XDG_STATE_HOME/linac/spool, else ~/.local/state/linac/spool."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return pathlib.Path(state) / "linac" / "spool"


class Lock:
    """Of one spool, as long as the process lives or until release()."""

    def __init__(self, spool: pathlib.Path) -> None:
        self._key = str(spool.absolute())
        self._file = open(spool / "lock", "ab")

    @staticmethod
    def of(spool: pathlib.Path) -> "Lock | None":
        """None where somebody has it."""
        if str(spool.absolute()) in _own:
            return None
        lock = Lock(spool)
        try:
            fcntl.lockf(lock._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock._file.close()
            return None
        _own.add(lock._key)
        return lock

    def release(self) -> None:
        _own.discard(self._key)
        self._file.close()


def write(path: pathlib.Path, content: "Mapping[str, Any]") -> None:
    """Whole, or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(content), encoding="utf-8")
    part.replace(path)


def read(path: pathlib.Path) -> dict[str, Any]:
    """{} for what is not there, or no object."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


class Sender:
    """Brings one spool to the service, again and again as it grows: each call of send() what is new. Not thread-safe; who has the lock uses it."""

    def __init__(self, spool: pathlib.Path, service: Service, tell: "Callable[[str], None]") -> None:
        self._spool, self._service, self._tell = spool, service, tell
        self._run, self._number, self._offset, self._after = "", 0, 0, 0
        self._told_parameters: "set[str]" = set()

    @property
    def run(self) -> str:
        """Its id, once the service knows it."""
        return self._run

    def send(self, go_on: "Callable[[], bool]" = lambda: True) -> bool:
        """Whether all is there, and nothing more will come; then the spool is gone. Raises ServiceError where the service is away or refuses."""
        about = read(self._spool / "run.json")
        if not about:
            return False
        if not self._run:
            self._begin(about)
        self._parameters(about["parameters"])
        for number, points in self._batches():
            if not go_on():
                return False
            self._batch(number, points, about)
        for path in _files(self._spool / "files"):
            if not go_on():
                return False
            self._file(path)
        end = read(self._spool / "end.json")
        if not end or not go_on():
            return False
        if end.get("exit_status"):
            self._tag(self._run, "linac.exit_status", str(end["exit_status"]))
        self._update(status=end["status"], end_time=end["ended_ms"])
        shutil.rmtree(self._spool, ignore_errors=True)
        return True

    def _begin(self, about: "Mapping[str, Any]") -> None:
        words = {name: about[name] for name in ("key", "name", "experiment", "started_ms")}
        run = str(self._service.json("POST", "/api/v1/ingest", words)["id"])
        self._tag(run, "mlflow.source.name", about["source"])
        sent = int(self._service.json("GET", f"/api/v1/runs/{run}/acknowledged", query={"sender": about["key"]})["acknowledged"])
        self._run, self._number, self._offset = run, 0, 0
        for number, _ in self._batches():
            if number > sent:
                break
            self._number, self._offset = number, self._after

    def _parameters(self, parameters: "Mapping[str, str]") -> None:
        new = [{"key": name, "value": value} for name, value in parameters.items() if name not in self._told_parameters]
        for begin in range(0, len(new), _PARAMETERS):
            part = new[begin : begin + _PARAMETERS]
            try:
                self._service.json("POST", "/api/2.0/mlflow/runs/log-batch", {"run_id": self._run, "params": part})
            except ServiceError as error:
                if error.status not in _REFUSED:
                    raise
                self._tell(f"parameters are refused ({error})")
            self._told_parameters.update(one["key"] for one in part)

    def _batches(self) -> "Iterator[tuple[int, dict[str, Any]]]":
        """Whole lines behind what is sent, with their numbers."""
        number, self._after = self._number, self._offset
        with contextlib.suppress(FileNotFoundError), open(self._spool / "points.jsonl", "rb") as file:
            file.seek(self._offset)
            while (line := file.readline(_LINE_BYTES_MAX)).endswith(b"\n"):
                number, self._after = number + 1, self._after + len(line)
                try:
                    points = json.loads(line)
                except ValueError:  # the disk's fault; an empty one takes its number
                    points = {}
                yield number, points if isinstance(points, dict) else {}

    def _batch(self, number: int, points: "Mapping[str, Any]", about: "Mapping[str, Any]") -> None:
        path, body = f"/api/v1/runs/{self._run}/points", {"sender": about["key"], "sequence": number}
        try:
            self._service.json("POST", path, {**body, "points": points})
        except ServiceError as error:
            if error.status not in _REFUSED:
                raise
            self._tell(f"a batch of {sum(map(len, points.values()))} points is refused ({error})")
            self._service.json("POST", path, {**body, "points": {}})  # those behind it count on its number
        self._number, self._offset = number, self._after

    def _file(self, path: pathlib.Path) -> None:
        name = path.relative_to(self._spool / "files").as_posix()
        try:
            with open(path, "rb") as source:
                b"".join(self._service.pieces("PUT", f"/api/v1/runs/{self._run}/files/{named(name)}", source))
        except ServiceError as error:
            if error.status not in _REFUSED:
                raise
            self._tell(f"the file {name} is refused ({error})")
        path.unlink(missing_ok=True)

    def _tag(self, run: str, key: str, value: str) -> None:
        self._service.json("POST", "/api/2.0/mlflow/runs/set-tag", {"run_id": run, "key": key, "value": value})

    def _update(self, **words: Any) -> None:
        self._service.json("POST", "/api/2.0/mlflow/runs/update", {"run_id": self._run, **words})


def _files(place: pathlib.Path) -> list[pathlib.Path]:
    """Those that are whole."""
    return sorted(path for path in place.rglob("*") if path.is_file() and not path.name.endswith(".part"))


def send_logs(
    server: "str | None" = None, token: "str | None" = None, place: "str | os.PathLike[str] | None" = None,
    wanted: "Callable[[Mapping[str, Any]], bool]" = lambda about: True,
) -> dict[str, str]:  # fmt: skip
    """Sends what logs of this user have left on this host: those of processes that ended while the service was away, or were killed. Returns what
    became of each, by its key: "sent", "in use" (its process lives, or another sends it), or why not. `server`: without, each goes where it
    was meant to; `place`: the folder of spools, if it is another; `wanted`: of run.json, which are sent."""
    became: "dict[str, str]" = {}
    root = pathlib.Path(place) if place is not None else folder()
    for spool in sorted(root.glob("*/run.json")):
        if wanted(read(spool)):
            became[spool.parent.name] = _send_one(spool.parent, server, token)
    return became


def _send_one(spool: pathlib.Path, server: "str | None", token: "str | None") -> str:
    try:
        lock = Lock.of(spool)
    except OSError as error:
        return str(error)
    if lock is None:
        return "in use"
    try:
        if not (spool / "end.json").exists():  # its process is gone without a word
            seen = max((path.stat().st_mtime for path in spool.iterdir()), default=time.time())
            write(spool / "end.json", {"status": "KILLED", "ended_ms": int(seen * 1000)})
        told: "list[str]" = []
        sent = Sender(spool, Service(server or read(spool / "run.json").get("server"), token), told.append).send()
        return "; ".join(["sent" if sent else "not all sent", *told])
    except (ServiceError, OSError, KeyError, ValueError) as error:
        return str(error)
    finally:
        lock.release()


def text_of(value: object) -> str:
    """A parameter's value, as the service keeps it."""
    text = value if isinstance(value, str) else json.dumps(value) if isinstance(value, (bool, int, float, list, dict, type(None))) else str(value)
    return text.encode("utf-8", "replace").decode()[:_TEXT_MAX]


def name_of(name: object) -> str:
    """A metric's name that every service takes: no control characters, at most so many bytes."""
    text = "".join(c if c.isprintable() else "_" for c in str(name)).strip().encode("utf-8", "replace")[:NAME_BYTES_MAX]
    return text.decode("utf-8", "ignore") or "_"
