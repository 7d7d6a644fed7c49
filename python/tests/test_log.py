"""A run that is logged from one's own loop, by Keras's and Lightning's too: what arrives, and attacks on it. The loop never waits, and is never ended."""

import json
import logging
import math
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import small_events, small_model
from strangers import Stranger

import linac
from linac import _log, _spool


@pytest.fixture
def client(service):
    return linac.Client(service.url, service.token)


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    monkeypatch.setattr(_log, "_GATHER_S", 0.05)
    monkeypatch.setattr(_log, "_SEND_S", (0.05, 0.2))


def began(service, name, **words):
    return linac.log(name, **({"server": service.url, "token": service.token, "system": False} | words))


def spools():
    return sorted(_spool.folder().glob("*/run.json"))


def test_arrives(service, client, tmp_path):
    with began(service, "mine", experiment="logged", parameters={"lr": 1e-3, "layers": [3, 4], "a\nb": None}, system=True) as log:
        for step in range(300):
            log(step, loss=np.float32(1 / (step + 1)))
        log.metrics({"nan": float("nan"), "inf": math.inf, "many\x00\nlines": 1, "x" * 400: 2, "text": "three", "tensor": np.array([4.0]), "big": 10**400, "object": object()})
        log.parameters({"more": True, "lr": 7})
        time.sleep(1.2)  # the first system figures
        log.file(__file__, "code/test.py")
        assert log.end(wait_s=30)
        log(1, loss=7)
        log.parameters({"late": 1})
    run = client.run(log.run)
    assert run["state"] == "SUCCEEDED" and run["name"] == "mine" and run["parameters"] == {"lr": "0.001", "layers": "[3, 4]", "a_b": "null", "more": "true"}
    curves = client.curves(log.run)
    assert len(curves["loss"].dropna()) == 300 and run["metrics"]["nan"]["last"] == "NaN" and run["metrics"]["inf"]["last"] == "Infinity"
    assert {"many__lines", "x" * 250, "tensor", "system/memory_mb", "system/cores_used"} <= set(run["metrics"]) and not {"text", "big", "object"} & set(run["metrics"])
    assert client.download(log.run, "code/test.py").read_bytes() == pathlib.Path(__file__).read_bytes()
    assert not spools()


def test_ends(service, client):
    with pytest.raises(ZeroDivisionError), began(service, "failed") as log:
        1 / 0
    assert client.run(log.run)["state"] == "FAILED"
    with pytest.raises(KeyboardInterrupt), began(service, "cancelled") as log:
        raise KeyboardInterrupt
    assert client.run(log.run)["state"] == "CANCELLED"


LEAVING = """
import sys, linac
log = linac.log(sys.argv[3], server=sys.argv[1], token=sys.argv[2], system=False)
log(1, loss=1)
"""


@pytest.mark.parametrize(
    ("how", "exit_status", "state"),
    [("sys.exit(3)", 3, "FAILED"), ("exit(259)", 3, "FAILED"), ("sys.exit('no events')", 1, "FAILED"), ("1 / 0", 1, "FAILED"), ("sys.exit()", 0, "SUCCEEDED"), ("pass", 0, "SUCCEEDED"),
     ("import threading; threading.Thread(target=sys.exit, args=(3,)).start()", 0, "SUCCEEDED"), ("try:\n  sys.exit(3)\nexcept SystemExit:\n  log(2, loss=2)", 0, "SUCCEEDED")],
)  # fmt: skip
def test_ends_with_the_process(how, exit_status, state, service, client):
    done = subprocess.run([sys.executable, "-c", LEAVING + how, service.url, service.token, f"leaves: {how!r}"[:60]], capture_output=True, text=True)
    assert done.returncode == exit_status, done.stderr
    run = client.run(client.runs(order_by="attributes.start_time DESC", limit=1).iloc[0]["id"])
    assert run["state"] == state and run["tags"].get("linac.exit_status") == (str(exit_status) if "exit(" in how and exit_status else None)


def test_keras(service, client):
    import keras

    x, y = small_events(200)
    model = small_model()
    logger = linac.keras.Logger(experiment="keras", server=service.url, token=service.token, every_steps=3, parameters={"who": "me"})
    model.fit(x, y, epochs=2, validation_split=0.5, verbose=0, callbacks=[logger])
    assert logger.log.end(wait_s=30)
    run = client.run(logger.log.run)
    assert {"loss", "accuracy", "test/loss", "test/accuracy", "learning_rate", "step/loss"} <= set(run["metrics"])
    assert float(run["parameters"]["optimizer.learning_rate"]) == pytest.approx(0.01) and run["parameters"]["who"] == "me" and run["parameters"]["epochs"] == "2"
    again = keras.saving.load_model(client.download(run["id"], "models/model.keras"))
    assert all(np.array_equal(a, b) for a, b in zip(model.get_weights(), again.get_weights(), strict=True))


def test_lightning(service, client):
    lightning, torch = pytest.importorskip("lightning"), pytest.importorskip("torch")

    class Line(lightning.LightningModule):
        def __init__(self, rate=0.1):
            super().__init__()
            self.save_hyperparameters()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch, _):
            loss = self.layer(batch[0]).square().mean()
            self.log("loss", loss)
            return loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=self.hparams.rate)

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(64, 4)), batch_size=8)
    logger = linac.lightning.Logger("line", experiment="lightning", server=service.url, token=service.token)
    trainer = lightning.Trainer(max_epochs=2, logger=logger, log_every_n_steps=2, enable_progress_bar=False, enable_model_summary=False, accelerator="cpu")
    trainer.fit(Line(), data)
    assert logger.experiment.end(wait_s=30)
    run = client.run(logger.experiment.run)
    assert run["parameters"]["rate"] == "0.1" and run["metrics"]["loss"]["count"] == 8 and run["state"] == "SUCCEEDED"
    assert len(client.artifacts(run["id"], "checkpoints")) == 1


# --- Attacks ---

LOOP = """
import sys, time, os, signal, linac
log = linac.log("killed", server=sys.argv[1], token=sys.argv[2], system=False)
for step in range(1, 2001):
    log(step, loss=step)
    if step == 1500:
        time.sleep(1.5)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_killed_while_the_service_is_away(service, client):
    done = subprocess.run([sys.executable, "-c", LOOP, "http://127.0.0.1:1", service.token], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL and "sent later" in done.stderr
    spool, = spools()
    assert service.token not in "".join(path.read_text() for path in spool.parent.iterdir() if path.is_file())
    with open(spool.parent / "points.jsonl", "a") as file:
        file.write('{"loss": [[1501, 1')  # half a line
    assert "no answer" in linac.send_logs()[spool.parent.name]
    # Several at once send what is left: once.
    threads = [threading.Thread(target=linac.send_logs, args=(service.url, service.token)) for _ in range(3)]
    others = [subprocess.Popen([sys.executable, "-c", "import linac, sys; linac.send_logs(*sys.argv[1:])", service.url, service.token]) for _ in range(2)]
    for one in threads:
        one.start()
    assert [one.wait() for one in others] == [0, 0]
    for one in threads:
        one.join()
    linac.send_logs(service.url, service.token)
    run = client.run("killed")
    assert run["state"] == "CANCELLED" and run["metrics"]["loss"]["count"] == 1500 and not spools()
    assert len(client.runs("attributes.run_name = 'killed'")) == 1


@pytest.mark.parametrize("kind", ["html", "silence", "503", "noise", "wrong token"])
def test_strange_services(kind, service, client, caplog):
    """The loop takes what it takes without; all arrives when the service is right."""
    with caplog.at_level(logging.WARNING, "linac"), Stranger("503" if kind == "wrong token" else kind) as stranger:
        words = {"token": "linac_wrong_token"} if kind == "wrong token" else {"server": stranger.url}
        log = began(service, f"strange {kind}", **words)
        log._service.timeout_s = 0.3
        for step in range(50):
            log(step, loss=step)
        assert not log.end(wait_s=0.6)
    assert 1 <= len(caplog.records) <= 3 and "sent later" in caplog.text
    log._sent.wait(30)
    assert log.folder.exists() and log.key in linac.send_logs(service.url, service.token)
    assert client.run(f"strange {kind}")["metrics"]["loss"]["count"] == 50 and not log.folder.exists()


def test_the_next_one_sends_the_rest(service, client):
    left = began(service, "left", token="linac_wrong_token")
    left(1, loss=1)
    assert not left.end(wait_s=0.1) and left._sent.wait(30)
    with began(service, "next") as log:
        for _ in range(200):
            if not left.folder.exists():
                break
            time.sleep(0.05)
    assert log.end(wait_s=30) and client.run("left")["metrics"]["loss"]["count"] == 1


def test_a_service_that_is_killed(tmp_path):
    """Again and again while it is sent to: each point is there once."""
    from lib.ports import free_port
    from lib.server_process import Service

    service = Service(data=str(tmp_path / "data"), listen=f"127.0.0.1:{free_port()}")
    with service:
        token = service.token
        log = linac.log("often", server=service.url, token=token, system=False)
        for step in range(400):
            log(step, loss=step)
            time.sleep(0.002)
            if step % 100 == 99:
                service.kill()
                service.url = None
                service.__enter__()
        assert log.end(wait_s=60) and linac.Client(service.url, token).run(log.run)["metrics"]["loss"]["count"] == 400


def test_two_of_one_spool(service, client, tmp_path):
    logs = [began(service, f"pair-{i}", spool=tmp_path / "spool") for i in range(2)]
    for step in range(100):
        for log in logs:
            log(step, loss=step)
    assert set(linac.send_logs(service.url, service.token, tmp_path / "spool").values()) == {"in use"}
    assert all(log.end(wait_s=30) for log in logs)
    assert [client.run(log.run)["metrics"]["loss"]["count"] for log in logs] == [100, 100]


def test_forked(service, client):
    """A child (a loader's worker) neither sends nor keeps the spool."""
    log = began(service, "forked")
    if (child := os.fork()) == 0:
        log(1, loss=7)
        log.end()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    log(2, loss=3)
    assert log.end(wait_s=30) and client.run(log.run)["metrics"]["loss"]["count"] == 1


def test_full_disk(service, client, monkeypatch, caplog):
    """The disk takes nothing for a while: nothing is lost, and no line is torn."""
    log = began(service, "full")
    real, broken = os.fstat, threading.Event()

    class Full:
        def __init__(self, path, mode, **words):
            self.file = open(path, mode, **words)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def fileno(self):
            return self.file.fileno()

        def write(self, line):
            if broken.is_set():
                self.file.write(line[:7])
                raise OSError(28, "No space left on device")
            return self.file.write(line)

    monkeypatch.setattr(_log, "open", Full, raising=False)
    broken.set()
    with caplog.at_level(logging.WARNING, "linac"):
        for step in range(50):
            log(step, loss=step)
        time.sleep(0.3)
        broken.clear()
        time.sleep(1.2)
        assert log.end(wait_s=30)
    assert "No space left" in caplog.text and client.run(log.run)["metrics"]["loss"]["count"] == 50 and log.dropped == 0


def test_no_place(service, tmp_path, caplog, monkeypatch):
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING, "linac"):
        log = began(service, "nowhere", spool=tmp_path / "file")
        log(1, loss=3)
        log.file("/nothing")
        log.file("/dev/zero")
        log.file(__file__, "../../x")
        log.file(__file__, "a\nb")
        log.model(3)
        assert not log.end(wait_s=0.5)
        unknown = linac.log("unknown", server="http://example.org", token="linac_a_b", spool=tmp_path / "spool", system=False)
        unknown(1, loss=2)
        assert not unknown.end(wait_s=0.2)
    assert "cannot be written" in caplog.text and "no model" in caplog.text and "unencrypted" in caplog.text and "no name for a file" in caplog.text
    monkeypatch.setattr(_log, "_WAITING_MAX", 10)
    many = began(service, "many", spool=tmp_path / "file")
    for step in range(100):
        many(step, loss=1)
    many.end(wait_s=0.1)
    assert many.dropped == 100


def test_what_the_service_refuses(service, client, caplog):
    """A batch that it never takes does not hold up those behind it."""
    log = began(service, "refused")
    log(1, loss=1)
    assert log._threads
    for _ in range(100):
        if (log.folder / "points.jsonl").exists():
            break
        time.sleep(0.05)
    with open(log.folder / "points.jsonl", "a") as file:
        file.write(json.dumps({"": [[1, 1, 1]]}) + "\n" + json.dumps({"loss": [["one"]]}) + "\nno JSON\n")
    log(2, loss=2)
    with caplog.at_level(logging.WARNING, "linac"):
        assert log.end(wait_s=30)
    assert client.run(log.run)["metrics"]["loss"]["count"] == 2


def test_never_slow(service, monkeypatch):
    """Calls only put into a queue: neither the disk nor the service is touched on the way."""
    log = began(service, "fast")
    monkeypatch.setattr(threading.current_thread(), "_linac_loop", True, raising=False)

    def of_the_loop(*_, **__):
        assert not hasattr(threading.current_thread(), "_linac_loop"), "the loop touches a file"
        raise OSError(28, "not now")

    monkeypatch.setattr(_log, "open", of_the_loop, raising=False)
    log(1, loss=1)
    log.metrics({"a": 2})
    assert log.end(wait_s=0.1) is False
