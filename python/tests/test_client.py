"""A service as an object: against one that runs, and against strangers. The same calls, awaited."""

import asyncio
import json
import pathlib
import pickle

import pytest
from strangers import ANSWERS, Stranger

import linac
from linac import _service

STUDY = {"search": {"x": {"kind": "uniform", "low": -1.0, "high": 1.0}}, "objective": {"metric": "loss"}, "budget": {"trials": 6}, "sampler": {"name": "random"}, "seed": 1}


@pytest.fixture(scope="module")
def client(service):
    return linac.Client(service.url, service.token)


@pytest.fixture(scope="module")
def logged(service):
    """Two runs that were logged, with curves and a file."""
    ids = []
    for name, offset in (("one", 0.0), ("it's", 0.5)):
        with linac.log(name, experiment="calo", parameters={"lr": 1e-3}, server=service.url, token=service.token, system=False) as log:
            for step in range(1, 21):
                log(step, loss=1 / step + offset, **{"test/auc": 0.5 + step / 100})
            path = pathlib.Path(log.folder / "note.txt")
            path.write_text("a note")
            log.file(path, "notes/note.txt")
            end = log.end(wait_s=30)
        assert end
        ids.append(log.run)
    return ids


def test_runs_and_curves(client, logged, tmp_path):
    runs = client.runs("metrics.loss < 1", order_by="metrics.loss", experiments=["calo"])
    assert list(runs["id"]) == logged and list(runs["name"]) == ["one", "it's"] and runs["params.lr"].iloc[0] == "0.001"
    assert runs["started"].dt.year.min() >= 2020 and runs["metrics.test/auc"].iloc[0] == pytest.approx(0.7)
    assert len(client.runs(limit=1)) == 1
    curves = client.curves("it's", "loss")
    assert list(curves.index) == list(range(1, 21)) and curves["loss"].iloc[-1] == pytest.approx(0.55)
    assert set(client.curves(logged[0]).columns) == {"loss", "test/auc"}
    assert client.run("one")["state"] == "SUCCEEDED" and client.me()["role"] == "admin" and client.log("one") == ""
    assert "notes" in set(client.artifacts("one")["path"])
    assert client.download("one", "notes/note.txt").read_text() == "a note"
    (tmp_path / "b.txt").write_text("b")
    client.upload("one", "notes/bü #?.txt", tmp_path / "b.txt")
    assert client.download("one", "notes/bü #?.txt", tmp_path / "c").read_text() == "b"
    assert "calo" in set(client.experiments()["name"]) and len(client.models()) == len(client.versions("nobody's")) == 0


def test_study(client):
    study = client.create_study("mine", STUDY)
    assert client.create_study("mine", STUDY).name == "mine"
    for number, point, report in study.trials():
        assert report(1, point["x"] ** 2) in (True, False)
        study.tell(number, float("nan") if number == 2 else point["x"] ** 2)
    assert study.ask() is None and len(study.history()) == 6 and "mine" in set(client.studies()["name"])
    with pytest.raises(linac.ServiceError) as caught:
        study.tell(1, 17.0)
    assert caught.value.status == 409
    study.delete()


def test_awaited(service, logged):
    async def all_at_once():
        client = linac.AsyncClient(service.url, service.token)
        runs, curves, me = await asyncio.gather(client.runs(experiments=["calo"]), client.curves(logged[0], "loss"), client.me())
        assert len(runs) == 2 and len(curves) == 20 and me["role"] == "admin"
        study = await client.create_study("awaited", STUDY)
        told = 0
        async for number, point, _ in study.trials():
            told += (await study.tell(number, point["x"]))["trial"] == number
        assert told == 6 and "runs" in dir(client)
        await study.delete()
        with pytest.raises(linac.ServiceError):
            await client.run("0" * 32)
        with pytest.raises(AttributeError):
            client.nothing()

    asyncio.run(all_at_once())


def test_login(service, tmp_path, monkeypatch):
    """As the verbs find it; a token is sent to the service alone."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "linac").mkdir()
    kept = tmp_path / "linac" / "login.json"
    kept.write_text(json.dumps({"server": service.url, "tokens": {service.url: service.token}}))
    assert linac.Client().me()["role"] == "admin"
    monkeypatch.setenv("LINAC_TOKEN", "linac_wrong_token")
    with pytest.raises(linac.ServiceError, match="linac login") as caught:
        linac.Client().me()
    assert caught.value.status == 401 and pickle.loads(pickle.dumps(caught.value)).status == 401
    kept.write_text("{half")
    with pytest.raises(linac.LinacError, match="login.json: damaged"):
        linac.Client()
    for server, said in (("http://example.org", "unencrypted"), ("ftp://a", "no address"), ("http://u:p@127.0.0.1", "no address"), ("http://a b", "no address")):
        with pytest.raises(linac.LinacError, match=said):
            linac.Client(server)
    with pytest.raises(linac.LinacError, match="control characters"):
        linac.Client(service.url, "linac_a\r\nX: b")


def test_refused(client, logged, tmp_path):
    for call, said in (
        (lambda: client.run("nobody"), "no run is called"), (lambda: client.runs("metrics.loss <"), "filter"), (lambda: client.runs(experiments=["none"]), "no experiment 'none'"),
        (lambda: client.download("one", "nothing"), "nothing"), (lambda: client.download("one", "../../x"), "."), (lambda: client.upload("one", "a", tmp_path), "no file"),
        (lambda: client.download("one", "notes/note.txt", "/proc/nobody/x"), "cannot be written"), (lambda: client.study("none").state(), "none"),
        (lambda: client.create_study("a b", STUDY), "a b"), (lambda: client.create_study("bad", {"search": 3}), "search"), (lambda: client.cancel("one"), "."),
    ):  # fmt: skip
        with pytest.raises(linac.LinacError, match=said):
            call()
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("kind", [*ANSWERS, "nobody"])
def test_strangers(kind, monkeypatch, tmp_path):
    monkeypatch.setattr(_service, "_ANSWER_BYTES_MAX", 4 << 20)
    with Stranger(kind if kind != "nobody" else "503") as stranger:
        if kind == "nobody":
            stranger.__exit__()
        client = linac.Client(stranger.url, "linac_a_b", timeout_s=1.0)
        with pytest.raises(linac.ServiceError) as caught:
            client.me()
        assert caught.value.exit_status in (2, 4) and stranger.url in str(caught.value)
        with pytest.raises(linac.ServiceError):
            client.download("0" * 32, "a", tmp_path / "a") if kind not in ("html", "list", "endless") else client.me()
        assert not list(tmp_path.iterdir()) and all(b"linac_a_b" in one for one in stranger.requests)
        token = f"linac_a_b_{64 * 'c'}"  # which names its service's certificate
        with pytest.raises(linac.ServiceError) as caught:
            linac.Client(stranger.url, token, timeout_s=1.0).me()
        assert caught.value.exit_status == 4 and not any(token.encode() in one for one in stranger.requests)


def test_patience(service, monkeypatch):
    """A service that asks to be asked again, and then answers."""
    client = linac.Client(service.url, service.token)
    real, tries = client.service._json, []

    def busy(*words):
        tries.append(words)
        if len(tries) < 3:
            raise linac.ServiceError("busy", 4, 503)
        return real(*words)

    monkeypatch.setattr(client.service, "_json", busy)
    assert client.service.json("GET", "/api/v1/me", patience_s=60)["role"] == "admin" and len(tries) == 3
    del tries[:]
    with pytest.raises(linac.ServiceError, match="busy"):
        client.service.json("GET", "/api/v1/me")
