"""A run: the folder that a training leaves, and the process that carries it out, which belongs to nobody's kernel."""

import json
import os
import pathlib
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

from linac import runs
from linac._axes import Point
from linac._curves import Curves
from linac._program import LinacError, call, command, environment, failure

if TYPE_CHECKING:
    import pandas

    from linac._verbs import Report

FOLDER = "python"  # of a run: what this package wrote before the training began
_BEGIN_S = 10.0  # so long start() waits for the record of a run
_PAUSE_S = 0.1

# Processes that this one started: until it asks how they ended, the system keeps them as if they were there.
_children: dict[int, "subprocess.Popen[bytes]"] = {}


class Run:
    """The run in `folder`, whoever began it: linac.fit(), `linac train`, another kernel. Of one that goes on elsewhere its files are brought as they
    are asked for."""

    def __new__(cls, folder: "str | os.PathLike[str]") -> "Run":
        if cls is Run and os.path.exists(os.path.join(folder, FOLDER, "remote.json")):
            from linac._remote import RemoteRun

            return super().__new__(RemoteRun)
        return super().__new__(cls)

    def __init__(self, folder: "str | os.PathLike[str]") -> None:
        self._module: Any = None  # of PyTorch, as it was handed to fit()
        self.folder = pathlib.Path(os.path.abspath(folder))
        if not any((self.folder / name).exists() for name in ("run.json", f"{FOLDER}/start.json", f"{FOLDER}/remote.json")):
            raise LinacError(f"[run] {self.folder}: there is no run; name the folder of one, or see linac.runs.all()", 2)

    def __repr__(self) -> str:
        return f"linac.Run({str(self.folder)!r}): {self.status}, {self._length()}"

    # --- How it stands ---

    @property
    def status(self) -> str:
        """`starting`, `running`, `succeeded`, `interrupted` (there is a checkpoint; resume() goes on), `failed`, or `lost`: its processes were
        killed, and resume() goes on from the last checkpoint."""
        record = self._record()
        if self._process() is not None:
            return "running" if record else "starting"
        record = record or self._record()  # written just now
        if record is None:
            return "failed"
        status = str(record.get("status"))
        return "lost" if status == "running" else status

    @property
    def error(self) -> "LinacError | None":
        """Why it ended; None while it goes on and after a success."""
        status = self.status
        if status in ("starting", "running", "succeeded"):
            return None
        record = self._record()
        child = _children.get(int(self._start().get("pid", 0)))
        code = child.poll() if child is not None else None
        code = 128 - code if code is not None and code < 0 else code
        if record is not None and "error" in record:
            return LinacError(record["error"]["message"], record["error"]["exit_code"])
        if record is not None:
            return LinacError(f"[run] {self.folder}: its processes are gone, and it has not come to its end; run.resume() goes on", code)
        output = self._read(FOLDER, "output.txt")
        return failure(output, code) if output or code else LinacError(f"[run] {self.folder}: it has not begun; see run.log()", code)

    @property
    def history(self) -> "pandas.DataFrame":
        """A row for each epoch that is done, numbered from 0 as Keras does; columns in Keras's words: loss, accuracy, val_loss, ..."""
        import pandas as pd

        epochs = self._epochs()
        return pd.DataFrame(list(epochs.values()), index=pd.Index(list(epochs), name="epoch"))

    def log(self) -> str:
        """What the program and all workers have said."""
        return self._read("log.txt") or self._read(FOLDER, "output.txt")

    def curves(self) -> Curves:
        """Of each measure, training and validation: by epoch, or by step until two epochs are done."""
        epochs = self._epochs()
        if len(epochs) > 1:
            points = {name: [(float(e + 1), row[name]) for e, row in epochs.items() if name in row] for row in epochs.values() for name in row}
            return Curves("epoch", points)
        by_step: dict[str, list[Point]] = {}
        for line in self._lines("step"):
            for name, value in _measures(line["loss"]).items():
                by_step.setdefault(name, []).append((float(line["global_step"]), value))
        return Curves("step", by_step)

    def plot(self) -> Curves:
        """The curves as a picture: a notebook shows it, and .save("curves.svg") writes it."""
        return self.curves()

    def report(self) -> "Report":
        """Where the time of the run went (`linac report`)."""
        from linac._verbs import report

        return report(self)

    # --- What comes of it ---

    @property
    def model_file(self) -> pathlib.Path:
        """What others use, as it lies in models/; of a run that is not at its end, its newest checkpoint, written there as python/last.keras."""
        for name in ("model.keras", "generator.keras", "model.pt2", "model.pt", "model.chain"):
            if self.status == "succeeded" and (self.folder / "models" / name).exists():
                return self.folder / "models" / name
        (self.folder / FOLDER).mkdir(exist_ok=True)
        if (self.folder / FOLDER / "model.pt2").exists():
            raise LinacError(f"[run] {self.folder}: a module of PyTorch is written at the end of the training; run.wait(), or run.resume()", 2)
        path = self.folder / FOLDER / "last.keras"
        call("export", f"{self.folder}@last", "--out", path)
        return path

    @property
    def model(self) -> Any:
        """The Keras model with its new weights, compiled as the training left it; or the module of PyTorch with them, a copy of the one that was
        handed to fit(). Another kernel, which has no such module, gets the exported program as one, with the same names of weights."""
        path = self.model_file
        if path.suffix == ".pt2":
            from linac import _torch

            return _torch.trained(self._module, path)
        if path.suffix != ".keras":
            raise LinacError(f"[run] {path} is no model of Keras; open it where it is from", 2)
        import keras

        import linac.keras  # noqa: F401  makes its layer known to Keras

        return keras.saving.load_model(path)

    # --- What is done with it ---

    def wait(self, timeout_s: "float | None" = None) -> "Run":
        """Until it ends, or TimeoutError; a failure is raised as LinacError, and a stop after a checkpoint is none. Ctrl-C stops the training after a
        checkpoint, and a second one leaves it to itself."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        try:
            while self._process() is not None:
                if deadline is not None and time.monotonic() > deadline:
                    raise TimeoutError(f"{self.folder}: has not ended in {timeout_s} s, and goes on")
                time.sleep(_PAUSE_S)
        except KeyboardInterrupt:
            self.cancel()
            raise
        self._raise_failure()
        return self

    def cancel(self, timeout_s: float = 300.0) -> "Run":
        """Stops it after a checkpoint, and returns when that is written."""
        if (pid := self._process()) is not None:
            _signal(pid, signal.SIGTERM)
            _signal(pid, signal.SIGCONT)  # one that is stopped hears nothing else
            deadline = time.monotonic() + timeout_s
            while self._process() is not None:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{self.folder}: process {pid} was told to stop, and has not in {timeout_s} s")
                time.sleep(_PAUSE_S)
        return self

    def resume(
        self, *, epochs: "int | None" = None, workers: "int | None" = None, settings: "Mapping[str, Any] | None" = None
    ) -> "Run":  # fmt: skip
        """Goes on from the newest checkpoint, on any number of workers, with the same bits. `epochs`: so many in all."""
        if (pid := self._process()) is not None:
            raise LinacError(f"[run] {self.folder}: process {pid} still works on it; run.wait(), or run.cancel()", 2)
        words = [] if workers is None else ["--workers", str(workers)]
        for key, value in {**({} if epochs is None else {"train.epochs": epochs}), **(settings or {})}.items():
            words += ["--set", f"{key}={json.dumps(value, ensure_ascii=False)}"]
        job: Any = self._start().get("job")
        if job is None or "://" not in job and not os.path.exists(job):  # moved, or begun by the program itself
            job = next((path for path in (self.folder / FOLDER / "job.yaml", self.folder / "job.yaml") if path.exists()), None)
        if job is None:
            raise LinacError(f"[run] {self.folder}: its job is gone; `linac train JOB --out {self.folder} --resume` with the job file", 2)
        # Where nothing was written yet there is nothing to go on from.
        begun = (self.folder / "run.json").exists()
        run = start(self.folder, job, ["--resume" if begun else "--resume-or-start", *words])
        run._module = self._module
        return run

    def watch(self, pause_s: float = 1.0) -> None:
        """Shows the curves while it trains, and returns when it ends: a picture in a notebook, a line for each epoch in a terminal. Ctrl-C ends the
        watching, and the training goes on."""
        shown = 0
        update = _notebook_display(self)
        try:
            while True:
                ended = self.status not in ("starting", "running")
                if update is not None:
                    update()
                else:
                    epochs = list(self._epochs().items())
                    for epoch, row in epochs[shown:]:
                        print(f"epoch {epoch + 1}: " + "  ".join(f"{name} {value:.4g}" for name, value in row.items()), flush=True)
                    shown = len(epochs)
                if ended:
                    break
                time.sleep(pause_s)
        except KeyboardInterrupt:
            return
        self._raise_failure()

    def _repr_html_(self) -> str:
        from html import escape

        error = self.error
        words = f"<p><b>{escape(self.folder.name)}</b>: {escape(self.status)}, {self._length()}, {escape(str(self.folder))}</p>"
        if error is not None:
            words += f"<pre>{escape(str(error))}</pre>"
        return words + self.curves()._repr_html_()

    # --- Its files ---

    def _read(self, *names: str) -> str:
        try:
            with _opened(self.folder.joinpath(*names)) as file:
                return file.read()
        except OSError:
            return ""

    def _named(self) -> str:
        """As the program's verbs call it, its files being here: one that is not at its end by its newest checkpoint."""
        return str(self.folder) if self.status == "succeeded" else f"{self.folder}@last"

    def _start(self) -> dict[str, Any]:
        return _object(self._read(FOLDER, "start.json"))

    def _record(self) -> "dict[str, Any] | None":
        """run.json of the last start; None as long as that has not written it."""
        path = self.folder / "run.json"
        if self._start().get("record_before") == _stamp(path):
            return None
        return _object(self._read("run.json")) or None

    def _process(self) -> "int | None":
        """Who trains, if it is a process of this machine."""
        claim = _object(self._read(".linac-claim"))
        started = self._start()
        for process in (started, {"host": claim.get("host"), **(claim.get("process") or {})}):
            if process.get("host") == socket.gethostname() and is_alive(process):
                return int(process["pid"])
        return None

    def _lines(self, kind: str) -> list[dict[str, Any]]:
        """Of metrics.jsonl; the last one may be half written."""
        mark = f'"kind":"{kind}"'
        lines: list[dict[str, Any]] = []
        try:
            with _opened(self.folder / "metrics.jsonl") as file:
                for line in file:
                    if mark in line and line.endswith("\n"):
                        found = _object(line)
                        if found.get("kind") == kind:
                            lines.append(found)
        except OSError:
            pass
        return lines

    def _length(self) -> str:
        count = len(self._epochs())
        return f"{count} epoch{'' if count == 1 else 's'}"

    def _epochs(self) -> dict[int, dict[str, float]]:
        """A rollback has an epoch twice, and the later one counts."""
        rows: dict[int, dict[str, float]] = {}
        for line in self._lines("epoch"):
            test = {f"val_{name}": value for name, value in _measures(line["test"]).items()}
            rows[int(line["epoch"])] = _measures(line["train"]) | test
        return dict(sorted(rows.items()))

    def _raise_failure(self) -> None:
        error = self.error
        if error is not None and self.status != "interrupted":
            raise error


def start(folder: pathlib.Path, job: Any, words: "Sequence[str]" = ()) -> Run:
    """Begins a training as a process that outlives this one. Returns when it has written its record; raises what it refused."""
    own = folder / FOLDER
    line = command("train", job, "--out", folder, *words)
    before = _stamp(folder / "run.json")
    try:
        own.mkdir(exist_ok=True)
        with open(own / "output.txt", "wb") as output:
            child = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, env=environment())
        _children[child.pid] = child
        part = own / f"start.{child.pid}.json"
        part.write_text(json.dumps({**identity(child.pid), "job": str(job), "record_before": before}))
        part.replace(own / "start.json")
    except OSError as error:
        raise LinacError(f"[run] {folder}: cannot be begun ({error}); see to the folder and the program {line[0]}", 4) from error
    runs._note(folder)
    run = Run(folder)
    deadline = time.monotonic() + _BEGIN_S
    while child.poll() is None and run._record() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    if child.poll() is not None and run._record() is None:
        raise failure(run._read(FOLDER, "output.txt"), child.returncode)
    return run


def identity(pid: int) -> dict[str, Any]:
    return {"host": socket.gethostname(), "boot": _boot(), "pid": pid, "start_ticks": (_state(pid) or ("", 0))[1]}


def is_alive(process: "Mapping[str, Any]") -> bool:
    """Of identity(): numbers of processes come again, with other times of their start, and after a boot."""
    pid = int(process.get("pid") or 0)
    if pid in _children:  # whose first thread may be gone while others still end
        return _children[pid].poll() is None
    state = _state(pid)
    return state is not None and state[0] not in "ZX" and process.get("boot") == _boot() and state[1] == process.get("start_ticks")


def _state(pid: int) -> "tuple[str, int] | None":
    """State and time of its start in ticks (proc(5))."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return fields[0], int(fields[19])
    except (OSError, IndexError, ValueError):
        return None


def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def _opened(path: pathlib.Path) -> IO[str]:
    """Text of a file; a pipe that somebody put there would be waited for."""
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), encoding="utf-8", errors="replace")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(f"{path} is no file")
    return file


def _stamp(path: pathlib.Path) -> "int | None":
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def _object(text: str) -> dict[str, Any]:
    """The JSON object, or {} for what is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _measures(values: "Mapping[str, Any]") -> dict[str, float]:
    """Of a measure with parts the whole; NaN and infinities are texts in the file."""
    found = {}
    for name, value in values.items():
        found[name] = float(value["total"] if isinstance(value, dict) else value)
    return found


def _notebook_display(run: Run) -> Any:
    """What shows `run` anew in its cell; None outside of a notebook."""
    shell = sys.modules.get("IPython")
    kernel = shell.get_ipython() if shell is not None else None
    if kernel is None or type(kernel).__name__ == "TerminalInteractiveShell":
        return None
    from IPython.display import display

    handle = display(run, display_id=True)
    return (lambda: handle.update(run)) if handle is not None else None


