"""Two users of one service: what ann has not shared is to bob as if it were not there, by every route that reads.

attack_reads_test.py: all that ann has carries SENTINEL in its names, values and bytes. Bob, with ann's ids in his hands, gets from each
route the answer that he gets for ids that there are not, and from each list and search what he got before ann was there."""

import getpass
import http.client
import os
import pathlib
import subprocess
import sys
import threading
import time
import traceback
import urllib.parse

from attack_world import FILES, PARTS, People, call, good
from lib.runs import LINAC
from lib.server_process import Service, databases

MLFLOW = "/api/2.0/mlflow/"
SENTINEL = "SENTINEL"
JOB = pathlib.Path(__file__).resolve().parents[2] / "examples" / "topology.yaml"


class Names:
    """The ids of one of each that a user can have."""

    experiment = run = job = ingested = model = logged = place = upload = study = ""

    @property
    def folder(self) -> str:
        return f"{self.experiment}/{self.run}/artifacts"

    @property
    def logged_folder(self) -> str:
        return f"{self.experiment}/models/{self.logged}/artifacts"

    def all(self) -> list[str]:
        return [self.experiment, self.run, self.job, self.ingested, self.model, self.logged, self.place, self.upload, self.study]


class Absent(Names):
    experiment, run, job, ingested = "987654", "0123456789abcdef" * 2, "1123456789abcdef" * 2, "2123456789abcdef" * 2
    model, logged, place, upload = "no-such-model", "m-" + "3123456789abcdef" * 2, "models/no-such-model/0123", "4123456789abcdef" * 2
    study = "no-such-study"


class Secrets(Names):
    """All that ann has, made by her."""

    def __init__(self, people: People, token: str, experiment: str | None = None):
        service, s = people.service, SENTINEL
        make = lambda path, **body: good(people.mlflow(token, path, body)).json()  # noqa: E731
        tags = [{"key": f"{s}-tag", "value": f"{s} tag"}]
        self.experiment_name = f"{s}-experiment"
        self.experiment = experiment or make("experiments/create", name=self.experiment_name, tags=tags)["experiment_id"]
        self.run = make("runs/create", experiment_id=self.experiment, run_name=f"{s}-run", tags=tags)["run"]["info"]["run_id"]
        point = {"key": f"{s}/m", "value": 1.5, "timestamp": 1, "step": 0}
        make("runs/log-batch", run_id=self.run, metrics=[point], params=[{"key": f"{s}-p", "value": f"{s} value"}])
        make("runs/log-inputs", run_id=self.run, datasets=[{"dataset": {"name": f"{s}-set", "digest": s}}])
        self.model = f"{s}-model"
        make("registered-models/create", name=self.model, description=s, tags=tags)
        make("model-versions/create", name=self.model, source=f"mlflow-artifacts:/{self.folder}/model", run_id=self.run, description=s, tags=tags)
        make("registered-models/alias", name=self.model, alias="champion", version="1")
        self.logged = make("logged-models", experiment_id=self.experiment, source_run_id=self.run, name=f"{s}-logged", tags=tags)["model"]["info"]["model_id"]
        self.place = f"models/{self.model}/0123"
        for path in (f"{self.folder}/model/weights", f"{self.folder}/{s}.txt", f"{self.logged_folder}/weights", f"{self.place}/weights"):
            good(call(service, "PUT", f"{FILES}/{path}", f"{s}'s bytes".encode(), token))
        good(call(service, "PUT", f"/api/v1/runs/{self.run}/files/{s}.csv", f"{s}'s bytes".encode(), token))
        self.upload = good(call(service, "POST", f"{PARTS}/create/{self.folder}", {"path": s, "num_parts": 2}, token)).json()["upload_id"]
        self.ingested = good(call(service, "POST", "/api/v1/ingest", {"key": "a1", "name": f"{s}-ingested"}, token)).json()["id"]
        log = service.folder / "runs" / self.run / "log.txt"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(f"{s} printed\n")
        body = {"job": JOB.read_text(), "folder": str(JOB.parent), "directory": str(JOB.parents[1]), "depends_on": [self.run], "cores": 1,
                "name": f"{s}-job"} | ({} if experiment == "0" else {"experiment": self.experiment_name})
        self.job = good(call(service, "POST", "/api/v1/jobs", body, token)).json()["runs"][0]["id"]
        self.study = f"{s}-study"
        good(call(service, "POST", "/api/v1/studies", {"name": self.study, "study": f"search: {{{s}: {{low: 0, high: 1}}}}"}
                  | ({} if experiment == "0" else {"experiment": self.experiment_name}), token))
        good(call(service, "POST", f"/api/v1/studies/{self.study}/ask", {"lease": s}, token))


def by_id(n: Names) -> list[tuple[str, str, str, object]]:
    """What shows one thing: (operation, method, path, body)."""
    run, name, version = f"/api/v1/runs/{n.run}", f"name={n.model}", f"name={n.model}&version=1"
    return [
        ("mlflow_get_experiment", "GET", f"{MLFLOW}experiments/get?experiment_id={n.experiment}", None),
        ("mlflow_get_run", "GET", f"{MLFLOW}runs/get?run_id={n.run}", None),
        ("mlflow_get_run", "GET", f"{MLFLOW}runs/get?run_uuid={n.job}", None),
        ("mlflow_get_history", "GET", f"{MLFLOW}metrics/get-history?run_id={n.run}&metric_key={SENTINEL}/m", None),
        ("mlflow_get_history_bulk_interval", "GET", f"{MLFLOW}metrics/get-history-bulk-interval?run_ids={n.run}&metric_key={SENTINEL}/m", None),
        ("mlflow_list_artifacts", "GET", f"{MLFLOW}artifacts/list?run_id={n.run}", None),
        ("mlflow_list_artifact_files", "GET", f"{FILES}?path={n.folder}", None),
        ("mlflow_list_artifact_files", "GET", f"{FILES}?path={n.experiment}/{n.run}", None),
        ("mlflow_list_artifact_files", "GET", f"{FILES}?path={n.experiment}", None),
        ("mlflow_list_artifact_files", "GET", f"{FILES}?path={n.place}", None),
        ("mlflow_list_artifact_files", "GET", f"{FILES}?path=models/{n.model}", None),
        ("mlflow_list_artifact_files", "GET", f"{FILES}?path={n.logged_folder}", None),
        ("mlflow_get_artifact", "GET", f"{FILES}/{n.folder}/model/weights", None),
        ("mlflow_get_artifact", "GET", f"{FILES}/{n.folder}%2Fmodel%2Fweights", None),
        ("mlflow_get_artifact", "GET", f"{FILES}/{n.logged_folder}/weights", None),
        ("mlflow_get_artifact", "GET", f"{FILES}/{n.place}/weights", None),
        ("mlflow_get_registered_model", "GET", f"{MLFLOW}registered-models/get?{name}", None),
        ("mlflow_get_latest_versions", "POST", f"{MLFLOW}registered-models/get-latest-versions", {"name": n.model}),
        ("mlflow_list_latest_versions", "GET", f"{MLFLOW}registered-models/get-latest-versions?{name}", None),
        ("mlflow_get_version_by_alias", "GET", f"{MLFLOW}registered-models/alias?{name}&alias=champion", None),
        ("mlflow_get_model_version", "GET", f"{MLFLOW}model-versions/get?{version}", None),
        ("mlflow_get_download_uri", "GET", f"{MLFLOW}model-versions/get-download-uri?{version}", None),
        ("mlflow_get_logged_model", "GET", f"{MLFLOW}logged-models/{n.logged}?allow_deleted=true", None),
        ("mlflow_list_logged_model_artifacts", "GET", f"{MLFLOW}logged-models/{n.logged}/artifacts/directories", None),
        ("get_run", "GET", run, None),
        ("get_run", "GET", f"/api/v1/runs/{n.ingested}", None),
        ("get_curves", "GET", f"{run}/curves", None),
        ("get_curves_of_runs", "POST", "/api/v1/curves", {"runs": [n.run], "keys": [f"{SENTINEL}/m"]}),
        ("get_acknowledged", "GET", f"{run}/acknowledged?sender=a", None),
        ("watch_run", "GET", f"{run}/events", None),
        ("get_run_log", "GET", f"{run}/log", None),
        ("list_run_files", "GET", f"{run}/files", None),
        ("get_run_file", "GET", f"{run}/files/{SENTINEL}.csv", None),
        ("get_job", "GET", f"/api/v1/jobs/{n.job}", None),
        ("get_study", "GET", f"/api/v1/studies/{n.study}", None),
        ("get_study_trials", "GET", f"/api/v1/studies/{n.study}/trials", None),
        ("get_study_journal", "GET", f"/api/v1/studies/{n.study}/journal", None),
        ("get_study_record", "GET", f"/api/v1/studies/{n.study}/record", None),
    ]


# Where admins alone read what is nobody's: a folder of runs, of models.
ADMINS_PLACES = 2


def named_by_changes(n: Names) -> list[tuple[str, str, str, object]]:
    """What changes something, or makes it from another's: refused in the same words, too."""
    submit = {"job": JOB.read_text(), "folder": str(JOB.parent), "directory": str(JOB.parents[1]), "cores": 1}
    return [
        ("submit_jobs", "POST", "/api/v1/jobs", submit | {"depends_on": [n.run]}),
        ("submit_jobs", "POST", "/api/v1/jobs", submit | {"depends_on": [n.job], "check_only": True}),
        ("plan_job", "POST", "/api/v1/plans", {"run": n.run}),
        ("plan_job", "POST", "/api/v1/plans", {"run": n.job}),
        ("mlflow_create_run", "POST", f"{MLFLOW}runs/create", {"experiment_id": n.experiment}),
        ("mlflow_create_logged_model", "POST", f"{MLFLOW}logged-models", {"experiment_id": n.experiment}),
        ("mlflow_create_logged_model", "POST", f"{MLFLOW}logged-models", {"experiment_id": "0", "source_run_id": n.run}),
        ("mlflow_create_model_version", "POST", f"{MLFLOW}model-versions/create", {"name": n.model, "source": "s3://bucket/x"}),
        ("mlflow_create_model_version", "POST", f"{MLFLOW}model-versions/create", {"name": "bob-model", "source": "runs:/x", "model_id": n.logged}),
        ("mlflow_log_batch", "POST", f"{MLFLOW}runs/log-batch", {"run_id": n.run, "tags": []}),
        ("mlflow_set_tag", "POST", f"{MLFLOW}runs/set-tag", {"run_id": n.run, "key": "a", "value": "b"}),
        ("mlflow_delete_experiment", "POST", f"{MLFLOW}experiments/delete", {"experiment_id": n.experiment}),
        ("mlflow_delete_registered_model", "DELETE", f"{MLFLOW}registered-models/delete", {"name": n.model}),
        ("mlflow_finalize_logged_model", "PATCH", f"{MLFLOW}logged-models/{n.logged}", {"status": "LOGGED_MODEL_READY"}),
        ("mlflow_put_artifact", "PUT", f"{FILES}/{n.folder}/x", b"bob's"),
        ("mlflow_delete_artifact", "DELETE", f"{FILES}/{n.folder}", None),
        ("mlflow_multipart_create", "POST", f"{PARTS}/create/{n.folder}", {"path": "x", "num_parts": 1}),
        ("mlflow_multipart_part", "PUT", f"{PARTS}/parts/{n.upload}/1", b"bob's"),
        ("mlflow_multipart_abort", "POST", f"{PARTS}/abort/0/x", {"path": "x", "upload_id": n.upload}),
        ("cancel_run", "POST", f"/api/v1/runs/{n.job}/cancel", {}),
        ("resume_run", "POST", f"/api/v1/runs/{n.job}/resume", {}),
        ("append_points", "POST", f"/api/v1/runs/{n.run}/points", {"sender": "b", "sequence": 1, "points": {}}),
        ("put_run_file", "PUT", f"/api/v1/runs/{n.run}/files/x", b"bob's"),
        ("change_experiment", "PATCH", f"/api/v1/experiments/{n.experiment}", {"visibility": "shared"}),
        ("change_model", "PATCH", f"/api/v1/models/{n.model}", {"visibility": "shared"}),
        ("ask_study", "POST", f"/api/v1/studies/{n.study}/ask", {}),
        ("tell_trial", "POST", f"/api/v1/studies/{n.study}/trials/1/tell", {"value": 1}),
        ("stop_study", "POST", f"/api/v1/studies/{n.study}/stop", {}),
        ("delete_study", "DELETE", f"/api/v1/studies/{n.study}?force=true", None),
    ]


def found(n: Names) -> list[tuple[str, str, str, object]]:
    """Lists and searches, by all that ann's things could be found by."""
    s = SENTINEL
    runs = ["", f"params.`{s}-p` = '{s} value'", f"run_id = '{n.run}'", f"name LIKE '{s}%' OR name = 'x'", f"metrics.`{s}/m` > 0", "user = 'ann'",
            f"dataset.name = '{s}-set'", f"NOT name = '{s}'"]
    experiments = ["0", "1", "2", n.experiment]
    everywhere = "&".join(f"experiment={e}" for e in experiments)
    asked = [("mlflow_search_runs", "POST", f"{MLFLOW}runs/search", {"experiment_ids": experiments, "filter": f, "run_view_type": "ALL"}) for f in runs]
    asked += [("mlflow_search_runs", "POST", f"{MLFLOW}runs/search", {"experiment_ids": experiments, "max_results": 1, "order_by": [f"metrics.`{s}/m` DESC"]})]
    asked += [("list_runs", "GET", f"/api/v1/runs?view=all&filter={urllib.parse.quote(f)}", None) for f in runs]
    asked += [("list_runs", "GET", f"/api/v1/runs?{everywhere}&limit=1", None)]
    for f in ("", f"name LIKE '{s}%'", f"tags.`{s}-tag` = '{s} tag'", "visibility = 'private' AND NOT name = 'x'"):
        asked += [("mlflow_search_experiments", "POST", f"{MLFLOW}experiments/search", {"filter": f, "max_results": 10, "view_type": "ALL"}),
                  ("mlflow_list_experiments", "GET", f"{MLFLOW}experiments/search?max_results=10&filter={urllib.parse.quote(f)}", None),
                  ("list_experiments", "GET", f"/api/v1/experiments?view=all&filter={urllib.parse.quote(f)}", None),
                  ("mlflow_search_registered_models", "GET", f"{MLFLOW}registered-models/search?filter={urllib.parse.quote(f)}", None),
                  ("list_models", "GET", f"/api/v1/models?filter={urllib.parse.quote(f)}", None)]
    for f in ("", f"name LIKE '{s}%'", f"run_id = '{n.run}'", f"tags.`{s}-tag` = '{s} tag'"):
        asked += [("mlflow_search_model_versions", "GET", f"{MLFLOW}model-versions/search?filter={urllib.parse.quote(f)}", None),
                  ("list_versions", "GET", f"/api/v1/model-versions?filter={urllib.parse.quote(f)}", None)]
    asked += [("mlflow_get_experiment_by_name", "GET", f"{MLFLOW}experiments/get-by-name?experiment_name={s}-experiment", None),
              ("mlflow_search_logged_models", "POST", f"{MLFLOW}logged-models/search", {"experiment_ids": experiments})]
    asked += [("list_plan_runs", "GET", f"/api/v1/plans/runs?kin={work}", None) for work in ("", "0" * 16)]
    asked += [("list_studies", "GET", f"/api/v1/studies?user={user}", None) for user in ("", "ann")]
    return asked


# Routes that show nothing of anybody's: state of the service, the caller himself, the pages; and what admins alone may.
OWN = {"healthz", "readyz", "mlflow_version", "mlflow_health", "mlflow_server_info", "openapi", "ui", "ui_asset", "get_me", "login", "logout",
       "list_secrets", "list_agents", "get_sites", "list_plan_places", "list_host_marks",
       "list_lease_files", "get_lease_file"}  # these two only for tokens of agents: pilot_test.py
ADMINS = {"list_users": "/api/v1/users", "list_audit": "/api/v1/audit", "list_tokens": "/api/v1/users/ann/tokens"}
SEEN_IN_PART = {"metrics": "/metrics", "get_queue": "/api/v1/queue"}


def tried(people: People, token: str | None, attempt: tuple) -> tuple[int, bytes]:
    operation, method, path, body = attempt
    if operation == "watch_run":
        return watched(people.service, path, token)
    answer = call(people.service, method, path, body, token)
    assert answer.status < 500, (attempt, answer.status, answer.body)
    assert answer.status == 200 or SENTINEL not in str(answer.headers.items()), (attempt, answer.headers.items())
    return answer.status, answer.body


def watched(service: Service, path: str, token: str) -> tuple[int, bytes]:
    """The status of a stream, or the answer in place of one."""
    host, port = service.url.split("//")[1].split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=10)
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
    response = connection.getresponse()
    body = b"" if response.status == 200 else response.read()
    response.close()
    connection.close()
    return response.status, body


def without_ids(body: bytes, names: Names) -> bytes:
    for name in sorted(names.all(), key=len, reverse=True):
        body = body.replace(name.encode(), b"ID") if len(name) > 3 else body.replace(f"'{name}'".encode(), b"'ID'")
    return body.replace(f"'{names.experiment}/".encode(), b"'ID/").replace(f"'{names.experiment}'".encode(), b"'ID'")


def reading_operations(service: Service) -> set[str]:
    paths = good(call(service, "GET", "/openapi.json")).json()["paths"]
    changing_nothing = {"mlflow_search_runs", "mlflow_search_experiments", "mlflow_get_latest_versions", "mlflow_search_logged_models", "get_curves_of_runs",
                        "plan_job", "login", "logout"}
    return {o["operationId"] for methods in paths.values() for method, o in methods.items() if method == "get"} | changing_nothing


def see_nothing(people: People, who: str, token: str, ann: Secrets, before: list) -> None:
    for hers, absent in zip(by_id(ann) + named_by_changes(ann), by_id(Absent()) + named_by_changes(Absent())):
        status, body = tried(people, token, hers)
        wanted, as_absent = tried(people, token, absent)
        assert status == wanted and status in (401, 403, 404), (who, hers[:3], status, wanted, body)
        assert without_ids(body, ann) == without_ids(as_absent, Absent()), (who, hers[:3], body, as_absent)
        if hers[0] != "mlflow_list_artifact_files":
            assert b"ann'" not in body, (who, hers[:3], body)
    for attempt, expected in zip(found(ann), before):
        assert tried(people, token, attempt) == expected, (who, attempt, tried(people, token, attempt), expected)
    for path in [*ADMINS.values(), *SEEN_IN_PART.values()]:
        answer = call(people.service, "GET", path, token=token)
        assert SENTINEL.encode() not in answer.body, (who, path, answer.body)
        assert answer.status == 403 or path in SEEN_IN_PART.values(), (who, path, answer.status)


def queue_of(people: People, token: str) -> list[dict]:
    return good(call(people.service, "GET", "/api/v1/queue", token=token)).json()["jobs"]


def all_routes_are_tried(people: People) -> None:
    named = {attempt[0] for attempt in by_id(Absent()) + named_by_changes(Absent()) + found(Absent())} | OWN | set(ADMINS) | set(SEEN_IN_PART)
    missing = reading_operations(people.service) - named
    assert not missing, f"no attempt to read is known for {sorted(missing)}; add one, or say that it shows nothing of anybody's"


def names_are_taken(people: People, ann: Secrets) -> None:
    """Who makes what another has privately hears that the name is taken, and no more."""
    submit = {"job": JOB.read_text(), "folder": str(JOB.parent), "directory": str(JOB.parents[1]), "cores": 1, "experiment": ann.experiment_name}
    searched = {key: value for key, value in submit.items() if key not in ("job", "experiment")}
    searched["study"] = JOB.read_text() + "search: {train.optimizer.lr: {low: 0.001, high: 0.01}}\nobjective: {metric: auc}\n"
    for method, path, body in [("POST", f"{MLFLOW}experiments/create", {"name": ann.experiment_name}),
                               ("POST", f"{MLFLOW}registered-models/create", {"name": ann.model}),
                               ("POST", f"{MLFLOW}registered-models/rename", {"name": "bob-model", "new_name": ann.model}),
                               ("POST", "/api/v1/ingest", {"key": "b1", "experiment": ann.experiment_name}), ("POST", "/api/v1/jobs", submit),
                               ("POST", "/api/v1/studies", {"name": ann.study, "study": "search: {x: {low: 0, high: 1}}"}),
                               ("POST", f"/api/v1/studies/{ann.study}/submit", searched), ("POST", "/api/v1/studies/bobs/submit", searched | {"experiment": ann.experiment_name}),
                               ("POST", "/api/v1/studies", {"name": "bobs", "study": "search: {x: {low: 0, high: 1}}", "experiment": ann.experiment_name})]:
        answer = call(people.service, method, path, body, people.bob)
        assert answer.status == 403 and b"taken" in answer.body and b"ann'" not in answer.body and ann.experiment.encode() not in answer.body, (path, answer.body)
    # Her own are known to her, as MLflow's clients want it.
    assert b"RESOURCE_ALREADY_EXISTS" in people.mlflow(people.ann, "experiments/create", {"name": ann.experiment_name}).body


def own_runs_of_anothers_experiment(people: People, ann: Secrets) -> str:
    """A run that bob makes in ann's experiment while it is shared stays his to read."""
    run = good(people.mlflow(people.bob, "runs/create", {"experiment_id": ann.experiment, "run_name": "bob's"})).json()["run"]["info"]["run_id"]
    good(call(people.service, "PUT", f"{FILES}/{ann.experiment}/{run}/artifacts/x", b"bob's", people.bob))
    return run


def shared(people: People, ann: Secrets, carl: str, reader: str) -> None:
    for token in (people.bob, carl, reader):
        for place, attempt in enumerate(by_id(ann)):
            status, body = tried(people, token, attempt)
            of_model = "model" in attempt[0] and "logged" not in attempt[0] or ann.place in attempt[2] or "version" in attempt[0] or "uri" in attempt[0]
            admins_place = attempt[2].endswith(f"path={ann.experiment}") or attempt[2].endswith(f"path=models/{ann.model}")
            of_another = ann.ingested in attempt[2]  # in "Default", which is not shared
            wanted = 404 if of_model or admins_place or of_another else 200
            assert status == wanted, (place, attempt[:3], status, body)
        assert any(SENTINEL in job["name"] for job in queue_of(people, token))
    assert people.mlflow(people.bob, "runs/set-tag", {"run_id": ann.run, "key": "a", "value": "b"}).status == 403
    assert people.mlflow(people.bob, "experiments/set-experiment-tag",
                         {"experiment_id": ann.experiment, "key": "linac.visibility", "value": "private"}).status == 403


def stream_ends(people: People, ann: Secrets) -> None:
    """Bob watches a shared run; as it becomes private his stream ends, and ann's goes on."""
    host, port = people.service.url.split("//")[1].split(":")
    read: dict[str, bytes] = {}

    def watch(name: str, token: str) -> None:
        connection = http.client.HTTPConnection(host, int(port), timeout=20)
        connection.request("GET", f"/api/v1/runs/{ann.run}/events", headers={"Authorization": f"Bearer {token}"})
        response = connection.getresponse()
        opened.release()
        lines = b""
        while (line := response.readline()) and b"after" not in line:
            lines += line
        read[name] = lines + line

    opened = threading.Semaphore(0)
    threads = [threading.Thread(target=watch, args=who, daemon=True) for who in (("bob", people.bob), ("ann", people.ann))]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert opened.acquire(timeout=10)
    time.sleep(0.2)
    point = lambda key: good(people.mlflow(people.ann, "runs/log-batch", {"run_id": ann.run, "metrics": [{"key": key, "value": 1, "timestamp": 1, "step": 1}]}))  # noqa: E731
    point("before")
    time.sleep(0.5)
    good(call(people.service, "PATCH", f"/api/v1/experiments/{ann.experiment}", {"visibility": "private"}, people.ann))
    point("after")
    for thread in threads:
        thread.join(timeout=15)
    assert b"before" in read["bob"] and b"after" not in read["bob"], read
    assert b"after" in read["ann"], read


def models_with_their_files(people: People, ann: Secrets, carl: str) -> None:
    """A shared model brings its files, of a private run too, and no more of that run; nobody shares what is another's."""
    service = people.service
    get = lambda path, token=people.bob: call(service, "GET", path, token=token).status  # noqa: E731
    weights, more = f"{FILES}/{ann.folder}/model/weights", f"{FILES}/{ann.folder}/{SENTINEL}.txt"
    kept = f"{FILES}/{ann.place}/weights"
    good(people.mlflow(people.ann, "model-versions/create", {"name": ann.model, "source": f"mlflow-artifacts:/{ann.place}"}))
    good(people.mlflow(people.ann, "model-versions/create", {"name": ann.model, "source": f"models:/{ann.logged}", "model_id": ann.logged}))
    assert [get(weights), get(kept), get(more)] == [404, 404, 404]
    good(people.mlflow(people.bob, "registered-models/create", {"name": "thief", "tags": [{"key": "linac.visibility", "value": "shared"}]}))
    for source in (f"mlflow-artifacts:/{ann.folder}/model", f"mlflow-artifacts:/{ann.place}", f"models:/{ann.model}/1", f"models:/{ann.logged}"):
        people.mlflow(people.bob, "model-versions/create", {"name": "thief", "source": source})
        assert [get(weights), get(kept), get(weights, carl)] == [404, 404, 404], source
    for version in range(1, 5):
        answer = call(service, "GET", f"{MLFLOW}model-versions/get-download-uri?name=thief&version={version}", token=carl)
        assert answer.status == 404 or b"models:/" not in answer.body, answer.body
        assert answer.status == 404 or version < 3, (version, answer.body)
    good(call(service, "PATCH", f"/api/v1/models/{ann.model}", {"visibility": "shared"}, people.ann))
    for token in (people.bob, carl):
        assert [get(weights, token), get(kept, token), get(more, token), get(f"/api/v1/runs/{ann.run}", token)] == [200, 200, 404, 404]
        assert get(f"{FILES}?path={ann.folder}/model", token) == 200 and get(f"{FILES}?path={ann.folder}", token) == 404
        assert get(f"{MLFLOW}logged-models/{ann.logged}", token) == 200 and get(f"{FILES}/{ann.logged_folder}/weights", token) == 200
        uri = good(call(service, "GET", f"{MLFLOW}model-versions/get-download-uri?name={ann.model}&version=3", token=token)).json()["artifact_uri"]
        assert uri == f"mlflow-artifacts:/{ann.logged_folder}", uri
    assert call(service, "PUT", kept, b"bob's", people.bob).status == 403
    good(people.mlflow(people.ann, "registered-models/set-tag", {"name": ann.model, "key": "linac.visibility", "value": "private"}))
    assert [get(weights), get(kept), get(f"{MLFLOW}logged-models/{ann.logged}")] == [404, 404, 404]
    good(people.mlflow(people.bob, "registered-models/delete", {"name": "thief"}, "DELETE"))


def command(service: Service, token: str, *words: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "LINAC_SERVER": service.url, "LINAC_TOKEN": token}
    return subprocess.run([LINAC, *words], capture_output=True, text=True, timeout=30, env=environment)


def by_command_line(people: People, ann: Secrets) -> None:
    done = command(people.service, people.bob, "experiments", "list")
    assert done.returncode == 0 and "Default" in done.stdout and SENTINEL not in done.stdout, done
    done = command(people.service, people.bob, "experiments", "share", ann.experiment_name)
    assert done.returncode == 2 and "Could not find" in done.stderr, done
    done = command(people.service, people.ann, "experiments", "share", ann.experiment_name)
    assert done.returncode == 0 and done.stdout == f"{ann.experiment_name}: shared\n", done
    assert f"{ann.experiment_name}  ann" in command(people.service, people.bob, "experiments", "list").stdout
    done = command(people.service, people.bob, "experiments", "unshare", ann.experiment)
    assert done.returncode == 2 and "belongs to 'ann'" in done.stderr, done
    if pathlib.Path(LINAC).with_name("linac-compute").exists():
        for verb, told in (("share", "shared"), ("unshare", "private")):
            done = command(people.service, people.ann, "models", verb, ann.model)
            assert done.returncode == 0 and done.stdout == f"{ann.model}: {told}\n", done


def two_users(service: Service) -> None:
    people = People(service)
    account = {"account": getpass.getuser(), "as_root": True}
    for name in ("ann", "bob"):
        good(call(service, "PATCH", f"/api/v1/users/{name}", account, people.admin))
    carl, reader = people.user("carl", "viewer"), people.token("bob", scope="viewer")
    good(call(service, "POST", "/api/v1/users/ann/tokens", {"note": SENTINEL}, people.ann))
    good(people.mlflow(people.bob, "registered-models/create", {"name": "bob-model"}))
    all_routes_are_tried(people)
    tokens = {"bob": people.bob, "carl": carl, "bob's reader": reader}
    before = {who: [tried(people, token, attempt) for attempt in found(Absent())] for who, token in tokens.items()}
    ann = Secrets(people, people.ann)
    for who, token in tokens.items():
        see_nothing(people, who, token, ann, before[who])
    hidden = queue_of(people, people.bob)
    assert len(hidden) == 1 and not hidden[0]["run"] and not hidden[0]["user"] and hidden[0]["cores"] == 1, hidden
    assert queue_of(people, people.ann)[0]["run"] == ann.job
    names_are_taken(people, ann)
    for token in (people.ann, people.admin):
        for attempt in by_id(ann):
            if token == people.admin or not attempt[2].endswith((f"path={ann.experiment}", f"path=models/{ann.model}")):
                status, body = tried(people, token, attempt)
                assert status == 200, (attempt[:3], status, body)
    models_with_their_files(people, ann, carl)
    see_nothing(people, "bob", people.bob, ann, before["bob"])
    by_command_line(people, ann)
    shared(people, ann, carl, reader)
    run = own_runs_of_anothers_experiment(people, ann)
    stream_ends(people, ann)
    see = lambda token: (call(service, "GET", f"/api/v1/runs/{run}", token=token).status,  # noqa: E731
                         call(service, "GET", f"{FILES}/{ann.experiment}/{run}/artifacts/x", token=token).status)
    assert see(people.bob) == (200, 200) and see(carl) == (404, 404) and see(people.ann) == (404, 404)
    good(people.mlflow(people.bob, "runs/delete", {"run_id": run}))
    see_nothing(people, "carl", carl, ann, before["carl"])


def shared_by_default() -> None:
    """--visibility shared: as it was before there was anything private."""
    with Service("--visibility", "shared", "--trust-jobs") as service:
        people = People(service)
        run = good(people.mlflow(people.ann, "runs/create", {"experiment_id": "0"})).json()["run"]["info"]["run_id"]
        model = good(people.mlflow(people.ann, "registered-models/create", {"name": "calo"})).json()["registered_model"]
        assert {"key": "linac.visibility", "value": "shared"} in model["tags"]
        good(call(service, "GET", f"/api/v1/runs/{run}", token=people.bob))
        experiment = good(people.mlflow(people.ann, "experiments/create", {"name": "own", "tags": [{"key": "linac.visibility", "value": "private"}]})).json()
        assert call(service, "GET", f"{MLFLOW}experiments/get?experiment_id={experiment['experiment_id']}", token=people.bob).status == 404


def main() -> int:
    failed = 0
    at_hand = list(databases())
    for kind, database in at_hand:
        begin = time.monotonic()
        try:
            with database, Service("--trust-jobs", database=database.url) as service:
                two_users(service)
            print(f"two users, {kind:12} ok      {time.monotonic() - begin:5.1f} s", flush=True)
        except Exception:
            failed += 1
            print(f"two users, {kind:12} FAILED", flush=True)
            traceback.print_exc()
    try:
        shared_by_default()
        print("shared by default      ok", flush=True)
    except Exception:
        failed += 1
        traceback.print_exc()
    print("FAILED" if failed else "ok")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
