"""fit() at a site and at a service: the same object, the same bits, files brought once; what is refused."""

import json
import os
import time
import zipfile

import numpy as np
import pytest

import linac
from linac import _upload
from linac._remote import RemoteRun

WORDS = {"epochs": 2, "batch_size": 24, "seed": 7, "workers": 2}


@pytest.fixture(autouse=True)
def sites(tmp_path, monkeypatch):
    """One of this host."""
    (tmp_path / "site").mkdir()
    (tmp_path / "sites.yaml").write_text(json.dumps({"here": {"kind": "local", "folder": str(tmp_path / "site"), "program": str(linac.program())}}))
    monkeypatch.setenv("LINAC_SITES", str(tmp_path / "sites.yaml"))
    return tmp_path / "site"


@pytest.fixture
def events():
    """Of a model that needs no Keras."""
    x = np.random.default_rng(1).normal(size=(240, 14)).astype(np.float32)
    return linac.models.classifier("hlf", hlf_units=[4]), x, x[:, :3].argmax(axis=1)


def until_running(run):
    end = time.monotonic() + 120
    while len(run.history) == 0:
        assert time.monotonic() < end and run.status in ("starting", "running"), run.log()
        time.sleep(0.5)


def weights(run):
    """Bytes; beside them the file says where its events were."""
    with zipfile.ZipFile(run.model_file) as file:
        return file.read("model.weights.h5")


def same(one, other):
    return list(one.history["loss"]) == list(other.history["loss"]) and weights(one) == weights(other)


def test_site(events, sites, capsys):
    here = linac.fit(*events, validation_split=0.25, **WORDS)
    run = linac.fit(*events, validation_split=0.25, on="here", **WORDS)
    run.watch(pause_s=0.2)
    assert capsys.readouterr().out.count("epoch") == 2
    assert isinstance(linac.Run(run.folder), RemoteRun) and linac.runs.last().folder == run.folder
    assert run.wait().status == "succeeded" and run.error is None and run.model_file.exists() and same(run, here.wait())
    assert "epoch 2/2" in run.log() and np.array_equal(linac.predict(run, events[1]), linac.predict(here, events[1]))
    brought, = (sites / "events").iterdir()
    before = brought.stat().st_mtime_ns
    again = linac.fit(*events, validation_split=0.25, on="here", **WORDS | {"epochs": 100_000})
    assert [one.stat().st_mtime_ns for one in (sites / "events").iterdir()] == [before]
    until_running(again)
    assert again.cancel().status == "interrupted" and again.error is not None
    assert again.resume().status in ("starting", "running") and again.cancel().status == "interrupted"
    with pytest.raises(linac.LinacError, match="leave epochs"):
        again.resume(epochs=3)


def test_events_at_a_store(events, monkeypatch):
    """upload="s3://...": read from there by the place elsewhere, written once, and no key in what is left."""
    from lib.servers.versitygw import Versitygw

    if not Versitygw.available():
        pytest.skip("no versitygw")
    here = linac.fit(*events, **WORDS)
    with Versitygw() as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        run = linac.fit(*events, on="here", upload="s3://test/fits", **WORDS)
        assert run.wait().status == "succeeded" and same(run, here.wait())
        brought, = (store.folder / "data/test/fits").iterdir()
        before = brought.stat().st_mtime_ns
        again = linac.fit(*events, on="here", upload="s3://test/fits/", **WORDS)
        assert again.wait().status == "succeeded" and [one.stat().st_mtime_ns for one in brought.parent.iterdir()] == [before]
        texts = [path.read_text(errors="replace") for path in run.folder.rglob("*") if path.suffix in (".json", ".yaml", ".jsonl", ".log")]
        assert any(f"s3://test/fits/{brought.name}" in text for text in texts) and not any(store.secret in text for text in texts)
        with pytest.raises(linac.LinacError, match="upload="):
            linac.fit(*events, on="here", upload="s3://nobodys/fits", **WORDS)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
        with pytest.raises(linac.LinacError, match="cannot be written") as refused:
            linac.fit(*events, on="here", upload="s3://test/fits", **WORDS)
        assert store.secret not in str(refused.value)


def test_service(events, service, monkeypatch):
    monkeypatch.setenv("LINAC_TOKEN", service.token)
    here = linac.fit(*events, **WORDS)
    run = linac.fit(*events, on=service.url, **WORDS)
    assert run.wait().status == "succeeded" and run.model_file.exists() and same(run, here.wait())
    assert linac.Run(run.folder).name == run.name and linac.Client(service.url).run(run.name)["state"] == "SUCCEEDED"


@pytest.mark.parametrize("elsewhere", ["here", "service"])
def test_a_kernel_that_is_killed_as_it_begins(elsewhere, events, service, sites, monkeypatch):
    """It had begun there, and nobody has heard: who opens the run finds it, and begins none."""
    from linac import _remote

    monkeypatch.setenv("LINAC_TOKEN", service.token)
    real = _remote.call

    def deadly(verb, *words):
        real(verb, *words)
        raise KeyboardInterrupt

    monkeypatch.setattr(_remote, "call", deadly)
    name = f"cut-off-{elsewhere}"
    with pytest.raises(KeyboardInterrupt):
        linac.fit(*events, folder="cut", name=name, on="here" if elsewhere == "here" else service.url, **WORDS | {"epochs": 1})
    monkeypatch.setattr(_remote, "call", real)
    run = linac.Run("cut")
    assert linac.Run("cut").name == run.name and run.wait().status == "succeeded"
    there = len(list(sites.glob("*/launch"))) if elsewhere == "here" else len(linac.Client(service.url).runs(f"attributes.run_name = '{name}'"))
    assert there == 1


def test_refused(events, service, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LINAC_TOKEN", "linac_wrong_token")
    for words, said in (
        ({"on": "nowhere"}, "no site 'nowhere'"), ({"on": service.url}, "login"), ({"on": "http://127.0.0.1:1"}, "no service"), ({"on": "here", "upload": tmp_path / "file"}, "cannot be written"),
        ({"on": "here", "upload": "ftp://a/b"}, "upload="), ({"on": "here", "settings": {"train.epoks": 3}}, "epochs"),
    ):  # fmt: skip
        with pytest.raises(linac.LinacError, match=said):
            linac.fit(*events, folder=tmp_path / "run", **words)
        assert not (tmp_path / "run" / "python").exists(), "no run is left that was none"


def test_upload(tmp_path, monkeypatch):
    file = tmp_path / "events.arrow"
    file.write_bytes(os.urandom(100_000))
    one = _upload.bring(file, str(tmp_path / "there"))
    assert open(one, "rb").read() == file.read_bytes()
    os.chmod(one, 0o644)
    open(one, "r+b").write(b"damaged")
    assert _upload.bring(file, f"file://{tmp_path}/there") == f"file://{one}" and open(one, "rb").read() == file.read_bytes()
    real, pieces = _upload._is_there, []
    monkeypatch.setattr(_upload, "_is_there", lambda *words: pieces.append(words) and False)
    with pytest.raises(linac.LinacError, match="read as something else"):
        _upload.bring(file, str(tmp_path / "other"))
    assert not list((tmp_path / "other").iterdir()) and real is not _upload._is_there
