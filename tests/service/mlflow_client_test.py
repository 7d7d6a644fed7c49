"""The real MLflow client from PyPI against the service, on each database: experiments, runs, metrics, search, artefacts, registry,
logged models, and autologging of scikit-learn and Keras.  `mlflow_client_test.py [WORD]`: only tests whose name has the word."""

import math
import os
import pathlib
import sys
import tempfile
import time
import traceback

os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
import mlflow  # noqa: E402
from mlflow.entities import Metric, Param, RunTag, ViewType  # noqa: E402
from mlflow.exceptions import MlflowException  # noqa: E402
from mlflow.tracking import MlflowClient  # noqa: E402

from attack_world import People  # noqa: E402
from lib.server_process import Service, databases  # noqa: E402
from lib.skips import skipped  # noqa: E402


def refused(code: str, action, *words) -> str:
    try:
        action()
    except MlflowException as e:
        assert e.error_code == code, (e.error_code, code, str(e))
        for word in words:
            assert word in str(e), (word, str(e))
        return str(e)
    raise AssertionError(f"not refused with {code}")


def test_experiments(client: MlflowClient):
    one = client.create_experiment("showers", tags={"site": "T2", "detector": "clic"})
    other = client.create_experiment("jets")
    found = client.get_experiment(one)
    assert (found.name, found.lifecycle_stage, found.tags["site"]) == ("showers", "active", "T2")
    assert found.artifact_location == f"mlflow-artifacts:/{one}" and found.creation_time > 1.6e12
    assert client.get_experiment_by_name("jets").experiment_id == other
    assert client.get_experiment_by_name("none") is None
    refused("RESOURCE_ALREADY_EXISTS", lambda: client.create_experiment("jets"))
    refused("RESOURCE_DOES_NOT_EXIST", lambda: client.get_experiment("99999"))
    refused("INVALID_PARAMETER_VALUE", lambda: client.get_experiment("abc"))
    client.set_experiment_tag(one, "note", "ä€😀")
    assert client.get_experiment(one).tags["note"] == "ä€😀"
    client.delete_experiment_tag(one, "note")
    assert "note" not in client.get_experiment(one).tags
    client.rename_experiment(other, "jets 2")
    client.delete_experiment(other)
    assert client.get_experiment(other).lifecycle_stage == "deleted"
    names = {e.name for e in client.search_experiments()}
    assert "showers" in names and "jets 2" not in names and "Default" in names
    assert [e.name for e in client.search_experiments(view_type=ViewType.DELETED_ONLY)] == ["jets 2"]
    client.restore_experiment(other)
    assert [e.name for e in client.search_experiments(filter_string="name LIKE 'je%'")] == ["jets 2"]
    assert [e.name for e in client.search_experiments(filter_string="tags.site = 'T2'")] == ["showers"]
    for i in range(12):
        client.create_experiment(f"page-{i:02}")
    seen, token = [], None
    while True:
        page = client.search_experiments(filter_string="name LIKE 'page-%'", order_by=["name ASC"], max_results=5, page_token=token)
        seen += [e.name for e in page]
        token = page.token
        if not token:
            break
    assert seen == [f"page-{i:02}" for i in range(12)], seen


def test_runs(client: MlflowClient):
    experiment = client.create_experiment("runs")
    run = client.create_run(experiment, run_name="first", tags={"a": "1"})
    id = run.info.run_id
    assert (run.info.status, run.info.run_name, run.data.tags["mlflow.runName"]) == ("RUNNING", "first", "first")
    assert run.info.artifact_uri == f"mlflow-artifacts:/{experiment}/{id}/artifacts"
    client.log_param(id, "lr", 0.001)
    client.log_param(id, "lr", 0.001)
    refused("INVALID_PARAMETER_VALUE", lambda: client.log_param(id, "lr", 0.1), "lr")
    client.set_tag(id, "b", "2")
    client.set_tag(id, "mlflow.runName", "renamed")
    client.delete_tag(id, "a")
    refused("RESOURCE_DOES_NOT_EXIST", lambda: client.delete_tag(id, "a"))
    run = client.get_run(id)
    assert run.data.params == {"lr": "0.001"} and run.data.tags["b"] == "2" and "a" not in run.data.tags
    assert run.info.run_name == "renamed"
    client.update_run(id, name="again")
    assert client.get_run(id).data.tags["mlflow.runName"] == "again"
    client.set_terminated(id, "FAILED")
    run = client.get_run(id)
    assert run.info.status == "FAILED" and run.info.end_time >= run.info.start_time
    client.delete_run(id)
    assert client.get_run(id).info.lifecycle_stage == "deleted"
    assert client.search_runs([experiment]) == []
    assert len(client.search_runs([experiment], run_view_type=ViewType.ALL)) == 1
    client.restore_run(id)
    assert len(client.search_runs([experiment])) == 1
    refused("RESOURCE_DOES_NOT_EXIST", lambda: client.get_run("0" * 32))
    refused("RESOURCE_DOES_NOT_EXIST", lambda: client.create_run("987654"))
    unnamed = client.create_run(experiment)
    assert unnamed.info.run_name and unnamed.data.tags["mlflow.runName"] == unnamed.info.run_name


def test_metrics(client: MlflowClient):
    experiment = client.create_experiment("metrics")
    id = client.create_run(experiment).info.run_id
    values = [1.5, math.nan, math.inf, -math.inf, 1e-308, -0.0, 0.1]
    for step, value in enumerate(values):
        client.log_metric(id, "loss", value, step=step, timestamp=1_700_000_000_000 + step)
    history = client.get_metric_history(id, "loss")
    assert [m.step for m in history] == list(range(len(values)))
    for metric, value in zip(history, values):
        assert (math.isnan(metric.value) and math.isnan(value)) or metric.value == value, (metric, value)
    assert client.get_run(id).data.metrics["loss"] == 0.1
    client.log_metric(id, "only nan", math.nan)
    assert math.isnan(client.get_run(id).data.metrics["only nan"])
    client.log_metric(id, "val/acc é", 0.5, step=-3)
    assert client.get_metric_history(id, "val/acc é")[0].step == -3
    assert client.get_metric_history(id, "none") == []
    now = int(time.time() * 1000)
    client.log_batch(id, metrics=[Metric("batch", i * 0.5, now + i, i) for i in range(1000)])
    client.log_batch(id, params=[Param(f"p{i}", str(i)) for i in range(100)], tags=[RunTag(f"t{i}", "x" * 5000) for i in range(100)])
    run = client.get_run(id)
    assert run.data.metrics["batch"] == 499.5 and run.data.params["p99"] == "99" and len(run.data.tags["t5"]) == 5000
    assert [m.value for m in client.get_metric_history(id, "batch")] == [i * 0.5 for i in range(1000)]
    refused("RESOURCE_DOES_NOT_EXIST", lambda: client.log_metric("f" * 32, "a", 1))
    # A batch is applied as a whole or not at all.
    refused("INVALID_PARAMETER_VALUE", lambda: client.log_batch(id, metrics=[Metric("all or none", 1, now, 0)],
                                                                params=[Param("p1", "other")]))
    assert "all or none" not in client.get_run(id).data.metrics
    client.delete_run(id)
    refused("INVALID_STATE", lambda: client._tracking_client.store.log_metric(id, Metric("late", 1, now, 0)))


def test_search(client: MlflowClient):
    experiment = client.create_experiment("search")
    for i in range(25):
        run = client.create_run(experiment, run_name=f"run-{i:02}", start_time=1_700_000_000_000 + i, tags={"site": f"T{i % 3}"})
        client.log_batch(run.info.run_id, metrics=[Metric("auc", i / 25, 1_700_000_000_000, 0)], params=[Param("lr", f"0.{i}")])
        if i % 5 == 0:
            client.set_terminated(run.info.run_id)

    def names(filter="", **more):
        return [r.info.run_name for r in client.search_runs([experiment], filter, **more)]

    assert names("metrics.auc > 0.9") == ["run-24", "run-23"]
    assert names("metrics.auc >= 0.92 AND tags.site = 'T0'") == ["run-24"]
    assert names("params.lr = '0.3'") == ["run-03"]
    assert sorted(names("attributes.status = 'FINISHED'")) == ["run-00", "run-05", "run-10", "run-15", "run-20"]
    assert names("attributes.run_name LIKE 'run-0%' AND params.lr IN ('0.1', '0.2')") == ["run-02", "run-01"]
    assert names("metrics.auc < 0.05 OR metrics.auc > 0.95") == ["run-24", "run-01", "run-00"]
    assert names(order_by=["metrics.auc ASC"], max_results=2) == ["run-00", "run-01"]
    assert names("tags.site ILIKE 't1'", order_by=["params.lr DESC"])[0] == "run-07"
    seen, token = [], None
    while True:
        page = client.search_runs([experiment], order_by=["attributes.start_time ASC"], max_results=7, page_token=token)
        seen += [r.info.run_name for r in page]
        token = page.token
        if not token:
            break
    assert seen == [f"run-{i:02}" for i in range(25)]
    refused("INVALID_PARAMETER_VALUE", lambda: names("metrics.auc >> 0.9"))
    refused("INVALID_PARAMETER_VALUE", lambda: names("what = 'x'"))
    frame = mlflow.search_runs([experiment], "metrics.auc > 0.9")
    assert list(frame["metrics.auc"]) == [0.96, 0.92]


def test_artifacts(client: MlflowClient):
    experiment = client.create_experiment("artifacts")
    id = client.create_run(experiment).info.run_id
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "model" / "deep er").mkdir(parents=True)
        (root / "a.txt").write_text("ä text")
        (root / "empty").write_bytes(b"")
        big = os.urandom(12 << 20)
        (root / "model" / "big.bin").write_bytes(big)
        (root / "model" / "deep er" / "x+1 é.json").write_text('{"a": 1}')
        client.log_artifact(id, str(root / "a.txt"))
        client.log_artifact(id, str(root / "empty"))
        client.log_artifacts(id, str(root / "model"), "model")
        client.log_text(id, "hello", "texts/hello.txt")
        client.log_dict(id, {"b": [1, 2]}, "d.json")
        top = {f.path: (f.is_dir, f.file_size) for f in client.list_artifacts(id)}
        assert top == {"a.txt": (False, 7), "empty": (False, 0), "model": (True, None), "texts": (True, None), "d.json": (False, top["d.json"][1])}, top
        assert {f.path for f in client.list_artifacts(id, "model")} == {"model/big.bin", "model/deep er"}
        assert client.list_artifacts(id, "a.txt") == [] and client.list_artifacts(id, "none") == []
        to = root / "back"
        to.mkdir()
        path = pathlib.Path(client.download_artifacts(id, "model", str(to)))
        assert (path / "big.bin").read_bytes() == big and (path / "deep er" / "x+1 é.json").read_text() == '{"a": 1}'
        assert pathlib.Path(client.download_artifacts(id, "a.txt", str(to))).read_text() == "ä text"
        # In parts.
        os.environ["MLFLOW_ENABLE_PROXY_MULTIPART_UPLOAD"] = "true"
        os.environ["MLFLOW_MULTIPART_UPLOAD_MINIMUM_FILE_SIZE"] = str(6 << 20)
        os.environ["MLFLOW_MULTIPART_UPLOAD_CHUNK_SIZE"] = str(5 << 20)
        try:
            client.log_artifact(id, str(root / "model" / "big.bin"), "parts")
        finally:
            for name in ("ENABLE_PROXY_MULTIPART_UPLOAD", "MULTIPART_UPLOAD_MINIMUM_FILE_SIZE", "MULTIPART_UPLOAD_CHUNK_SIZE"):
                del os.environ["MLFLOW_" + name]
        assert pathlib.Path(client.download_artifacts(id, "parts/big.bin", str(to))).read_bytes() == big
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    repository = get_artifact_repository(client.get_run(id).info.artifact_uri)
    repository.delete_artifacts("a.txt")
    repository.delete_artifacts("model")
    assert {f.path for f in client.list_artifacts(id)} == {"empty", "texts", "d.json", "parts"}


def test_registry(client: MlflowClient):
    experiment = client.create_experiment("registry")
    run = client.create_run(experiment)
    id = run.info.run_id
    client.create_registered_model("calo", tags={"physics": "showers"}, description="a GAN")
    refused("RESOURCE_ALREADY_EXISTS", lambda: client.create_registered_model("calo"))
    for i in range(3):
        version = client.create_model_version("calo", f"{run.info.artifact_uri}/model", id, tags={"n": str(i)}, description=f"v{i}")
        assert version.version == str(i + 1) or version.version == i + 1, version
    client.set_registered_model_alias("calo", "champion", "2")
    version = client.get_model_version_by_alias("calo", "champion")
    assert int(version.version) == 2 and version.run_id == id and version.tags == {"n": "1"}
    assert client.get_registered_model("calo").aliases == {"champion": "2"}
    client.set_registered_model_alias("calo", "champion", "3")
    assert client.get_model_version("calo", "3").aliases == ["champion"]
    client.delete_registered_model_alias("calo", "champion")
    refused("RESOURCE_DOES_NOT_EXIST", lambda: client.get_model_version_by_alias("calo", "champion"))
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client.transition_model_version_stage("calo", "1", "Production")
        moved = client.transition_model_version_stage("calo", "2", "Production", archive_existing_versions=True)
        assert moved.current_stage == "Production"
        assert client.get_model_version("calo", "1").current_stage == "Archived"
        latest = {v.current_stage: int(v.version) for v in client.get_latest_versions("calo")}
        assert latest == {"Archived": 1, "Production": 2, "None": 3}, latest
        refused("INVALID_PARAMETER_VALUE", lambda: client._get_registry_client().store.transition_model_version_stage("calo", "1", "Nowhere", False))
    client.set_model_version_tag("calo", "1", "gate", "passed")
    client.delete_model_version_tag("calo", "1", "n")
    assert client.get_model_version("calo", "1").tags == {"gate": "passed"}
    client.update_model_version("calo", "1", "better words")
    assert client.get_model_version("calo", "1").description == "better words"
    assert client.get_model_version_download_uri("calo", "1") == f"{run.info.artifact_uri}/model"
    assert sorted(int(v.version) for v in client.search_model_versions("name = 'calo'")) == [1, 2, 3]
    assert [int(v.version) for v in client.search_model_versions(f"run_id = '{id}' and tags.gate = 'passed'")] == [1]
    client.set_registered_model_tag("calo", "x", "y")
    client.update_registered_model("calo", "another")
    model = client.get_registered_model("calo")
    assert model.tags == {"physics": "showers", "x": "y"} and model.description == "another"
    assert [m.name for m in client.search_registered_models("name LIKE 'ca%'")] == ["calo"]
    client.rename_registered_model("calo", "calo2")
    assert int(client.get_model_version("calo2", "2").version) == 2
    client.delete_model_version("calo2", "1")
    refused("RESOURCE_DOES_NOT_EXIST", lambda: client.get_model_version("calo2", "1"))
    refused("INVALID_PARAMETER_VALUE", lambda: client.create_model_version("calo2", "/etc", id))
    client.delete_registered_model("calo2")
    refused("RESOURCE_DOES_NOT_EXIST", lambda: client.get_registered_model("calo2"))


def test_logged_models(client: MlflowClient):
    from mlflow.entities import LoggedModelStatus

    experiment = client.create_experiment("logged models")
    run = client.create_run(experiment)
    model = client.create_logged_model(experiment, name="net", source_run_id=run.info.run_id, tags={"a": "b"},
                                       params={f"p{i}": str(i) for i in range(150)}, model_type="classifier")
    assert model.status == LoggedModelStatus.PENDING and len(model.params) == 150
    client.finalize_logged_model(model.model_id, LoggedModelStatus.READY)
    client.set_logged_model_tags(model.model_id, {"c": "d"})
    client.delete_logged_model_tag(model.model_id, "a")
    client.log_metric(run.info.run_id, "auc", 0.9, model_id=model.model_id)
    found = client.get_logged_model(model.model_id)
    assert found.status == LoggedModelStatus.READY and found.tags == {"c": "d"} and found.metrics[0].value == 0.9
    assert [m.model_id for m in client.search_logged_models([experiment], "metrics.auc > 0.8")] == [model.model_id]
    assert len(client.search_logged_models([experiment], "name = 'other'")) == 0
    client.log_outputs(run.info.run_id, [mlflow.entities.LoggedModelOutput(model.model_id, 3)])
    assert client.get_run(run.info.run_id).outputs.model_outputs[0].model_id == model.model_id
    client.delete_logged_model(model.model_id)
    refused("RESOURCE_DOES_NOT_EXIST", lambda: client.get_logged_model(model.model_id))


def test_inputs(client: MlflowClient):
    import numpy

    experiment = client.create_experiment("inputs")
    with mlflow.start_run(experiment_id=experiment) as run:
        mlflow.log_input(mlflow.data.from_numpy(numpy.zeros((4, 2)), name="zeros"), context="training")
    inputs = client.get_run(run.info.run_id).inputs.dataset_inputs
    assert (inputs[0].dataset.name, inputs[0].tags[0].value) == ("zeros", "training")
    assert len(client.search_runs([experiment], "dataset.name = 'zeros'")) == 1


def test_autolog(client: MlflowClient):
    try:
        from sklearn.datasets import make_classification
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        skipped("autolog", "no scikit-learn", "tests/peers/setup.sh")
        return
    experiment = client.create_experiment("autolog")
    x, y = make_classification(200, random_state=1)
    mlflow.sklearn.autolog(silent=True)
    try:
        with mlflow.start_run(experiment_id=experiment) as run:
            fitted = LogisticRegression(C=0.5).fit(x, y)
        run = client.get_run(run.info.run_id)
        assert run.data.params["C"] == "0.5" and run.data.metrics["training_accuracy_score"] > 0.8
        assert run.outputs.model_outputs, "the fitted model was not logged"
        id = run.outputs.model_outputs[0].model_id
        loaded = mlflow.sklearn.load_model(f"models:/{id}")
        assert (loaded.predict(x) == fitted.predict(x)).all()
        registered = mlflow.register_model(f"models:/{id}", "logistic")
        again = mlflow.sklearn.load_model(f"models:/logistic/{registered.version}")
        assert (again.coef_ == fitted.coef_).all()
    finally:
        mlflow.sklearn.autolog(disable=True)


def test_autolog_of_a_keras_fit(client: MlflowClient):
    import keras
    import numpy

    experiment = client.create_experiment("autolog keras")
    keras.utils.set_random_seed(3)
    x = numpy.random.default_rng(1).normal(size=(256, 4)).astype("float32")
    y = (x.sum(axis=1) > 0).astype("float32")
    mlflow.tensorflow.autolog(silent=True)
    try:
        with mlflow.start_run(experiment_id=experiment) as run:
            model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(1, "sigmoid")])
            model.compile(keras.optimizers.Adam(0.02), "binary_crossentropy", metrics=["accuracy"])
            history = model.fit(x, y, epochs=5, batch_size=64, validation_split=0.25, verbose=0)
        found = client.get_run(run.info.run_id)
        assert found.data.params["epochs"] == "5" and float(found.data.params["opt_learning_rate"]) == numpy.float32(0.02), found.data.params
        losses = client.get_metric_history(run.info.run_id, "loss")
        assert [round(m.value, 6) for m in losses] == [round(v, 6) for v in history.history["loss"]], (losses, history.history)
        assert "validation_accuracy" in found.data.metrics or "val_accuracy" in found.data.metrics, found.data.metrics
        assert found.outputs.model_outputs, "the fitted model was not logged"
        loaded = mlflow.tensorflow.load_model(f"models:/{found.outputs.model_outputs[0].model_id}")
        assert numpy.array_equal(loaded.predict(x, verbose=0), model.predict(x, verbose=0))
    finally:
        mlflow.tensorflow.autolog(disable=True)


def test_two_users(client: MlflowClient):
    """What ann has not shared is not there for bob, and the tag linac.visibility shares it."""
    from types import SimpleNamespace

    uri, admin = mlflow.get_tracking_uri(), os.environ["MLFLOW_TRACKING_TOKEN"]
    people = People(SimpleNamespace(url=uri, token=admin))
    user = lambda token: os.environ.update(MLFLOW_TRACKING_TOKEN=token)  # noqa: E731
    try:
        user(people.ann)
        experiment = mlflow.set_experiment("ann's").experiment_id
        with mlflow.start_run() as run, tempfile.TemporaryDirectory() as folder:
            mlflow.log_metric("loss", 1)
            (pathlib.Path(folder) / "weights").write_bytes(b"ann's")
            mlflow.log_artifacts(folder, "model")
        client.create_registered_model("ann's model")
        client.create_model_version("ann's model", f"{run.info.artifact_uri}/model", run.info.run_id)
        user(people.bob)
        for action in (lambda: client.get_experiment(experiment), lambda: client.get_run(run.info.run_id), lambda: client.get_registered_model("ann's model"),
                       lambda: client.get_model_version("ann's model", "1"), lambda: client.list_artifacts(run.info.run_id),
                       lambda: client.create_run(experiment), lambda: client.set_tag(run.info.run_id, "a", "b")):
            refused("RESOURCE_DOES_NOT_EXIST", action)
        assert not mlflow.search_runs([experiment, "0"], output_format="list") and not client.search_registered_models()
        assert "ann's" not in {e.name for e in client.search_experiments()}
        refused("PERMISSION_DENIED", lambda: mlflow.set_experiment("ann's"), "taken")
        user(people.ann)
        client.set_registered_model_tag("ann's model", "linac.visibility", "shared")
        user(people.bob)
        file = mlflow.artifacts.download_artifacts("models:/ann's model/1")
        assert (pathlib.Path(file) / "weights").read_bytes() == b"ann's"
        refused("RESOURCE_DOES_NOT_EXIST", lambda: client.get_run(run.info.run_id))
        user(people.ann)
        client.set_experiment_tag(experiment, "linac.visibility", "shared")
        user(people.bob)
        assert [r.info.run_id for r in client.search_runs([experiment])] == [run.info.run_id]
        assert client.get_experiment_by_name("ann's").tags["linac.visibility"] == "shared"
        refused("PERMISSION_DENIED", lambda: client.set_tag(run.info.run_id, "a", "b"))
    finally:
        user(admin)
        mlflow.set_experiment(experiment_id="0")


def main() -> int:
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_") and word in name]
    failed = 0
    for kind, database in databases():
        with database, Service(database=database.url) as service:
            os.environ["MLFLOW_TRACKING_TOKEN"] = service.token
            mlflow.set_tracking_uri(service.url)
            client = MlflowClient(service.url)
            for name, test in tests:
                begin = time.monotonic()
                try:
                    test(client)
                    print(f"{kind:10} {name:22} ok      {time.monotonic() - begin:5.1f} s", flush=True)
                except Exception:
                    failed += 1
                    print(f"{kind:10} {name:22} FAILED", flush=True)
                    traceback.print_exc()
            service.stop()
    print("FAILED" if failed or not tests else "ok")
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
