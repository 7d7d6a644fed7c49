"""Attacks on the service's API: by strangers without a token, and by a member against another member's things.

attack_api_test.py [WORD]: those whose name has the word. Each attack worked once. One service is shared by most of them."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import pty
import re
import selectors
import socket
import sqlite3
import statistics
import subprocess
import sys
import threading
import time
import traceback

from attack_world import FILES, PARTS, Answer, People, Things, call, good
from lib.checks import wait_for
from lib.runs import LINAC
from lib.server_process import Service

CONNECTIONS = 400  # of the shared service
HEAD_SECONDS_MAX = 15


def changing_routes(service: Service) -> set[str]:
    """Operations that are no GET, by their names."""
    paths = good(call(service, "GET", "/openapi.json")).json()["paths"]
    return {operation["operationId"] for methods in paths.values() for method, operation in methods.items() if method != "get"}


def attempts(people: People, ann: Things, bob: Things) -> list[tuple[str, str, str, object]]:
    """What bob tries: (operation, method, path, body), each against something of ann's."""
    mlflow = "/api/2.0/mlflow/"
    run, experiment, model, logged = {"run_id": ann.run}, {"experiment_id": ann.experiment}, {"name": ann.model}, f"{mlflow}logged-models/{ann.logged}"
    version, tag = model | {"version": "1"}, {"key": "a", "value": "bob's"}
    point = {"key": "m", "value": 666, "timestamp": 2, "step": 0}
    token = good(call(people.service, "GET", "/api/v1/users/ann/tokens", token=people.ann)).json()["tokens"][0]["id"]
    own_run, lease = {"run_id": bob.run}, f"/api/v1/leases/{ann.run}-1"
    return [
        ("mlflow_delete_experiment", "POST", f"{mlflow}experiments/delete", experiment),
        ("mlflow_restore_experiment", "POST", f"{mlflow}experiments/restore", experiment),
        ("mlflow_update_experiment", "POST", f"{mlflow}experiments/update", experiment | {"new_name": "bob's"}),
        ("mlflow_set_experiment_tag", "POST", f"{mlflow}experiments/set-experiment-tag", experiment | tag),
        ("mlflow_set_experiment_tag", "POST", f"{mlflow}experiments/set-experiment-tag", {"experiment_id": "0"} | tag),
        ("mlflow_delete_experiment_tag", "POST", f"{mlflow}experiments/delete-experiment-tag", experiment | {"key": "a"}),
        ("mlflow_delete_experiment", "POST", f"{mlflow}experiments/delete", {"experiment_id": "0"}),
        ("mlflow_update_run", "POST", f"{mlflow}runs/update", run | {"status": "KILLED"}),
        ("mlflow_update_run", "POST", f"{mlflow}runs/update", {"run_uuid": ann.run, "run_name": "bob's"}),
        ("mlflow_delete_run", "POST", f"{mlflow}runs/delete", run),
        ("mlflow_restore_run", "POST", f"{mlflow}runs/restore", run),
        ("mlflow_log_metric", "POST", f"{mlflow}runs/log-metric", run | point),
        ("mlflow_log_metric", "POST", f"{mlflow}runs/log-metric", own_run | point | {"model_id": ann.logged}),
        ("mlflow_log_batch", "POST", f"{mlflow}runs/log-batch", run | {"metrics": [point]}),
        ("mlflow_log_batch", "POST", f"{mlflow}runs/log-batch", run | {"tags": [tag]}),
        ("mlflow_log_batch", "POST", f"{mlflow}runs/log-batch", own_run | {"metrics": [point | {"model_id": ann.logged}]}),
        ("mlflow_log_parameter", "POST", f"{mlflow}runs/log-parameter", run | tag),
        ("mlflow_set_tag", "POST", f"{mlflow}runs/set-tag", run | tag),
        ("mlflow_set_tag", "POST", f"{mlflow}runs/set-tag", {"run_uuid": ann.run} | tag),
        ("mlflow_delete_tag", "POST", f"{mlflow}runs/delete-tag", run | {"key": "a"}),
        ("mlflow_log_inputs", "POST", f"{mlflow}runs/log-inputs", run | {"datasets": [{"dataset": {"name": "x", "digest": "y"}}]}),
        ("mlflow_log_outputs", "POST", f"{mlflow}runs/outputs", run | {"models": [{"model_id": bob.logged}]}),
        ("mlflow_log_model", "POST", f"{mlflow}runs/log-model", run | {"model_json": "{}"}),
        ("mlflow_put_artifact", "PUT", f"{FILES}/{ann.folder}/model/weights", b"bob's"),
        ("mlflow_put_artifact", "PUT", f"{FILES}/{ann.folder}/model/more", b"bob's"),
        ("mlflow_put_artifact", "PUT", f"{FILES}/{ann.logged_folder}/weights", b"bob's"),
        ("mlflow_put_artifact", "PUT", f"{FILES}/{ann.kept}/weights", b"bob's"),
        ("mlflow_put_artifact", "PUT", f"{FILES}/{ann.experiment}/{bob.run}/artifacts/x", b"a place that is nobody's"),
        ("mlflow_put_artifact", "PUT", f"{FILES}/somewhere", b"bob's"),
        ("mlflow_delete_artifact", "DELETE", f"{FILES}/{ann.folder}/model/weights", None),
        ("mlflow_delete_artifact", "DELETE", f"{FILES}/{ann.folder}", None),
        ("mlflow_delete_artifact", "DELETE", f"{FILES}/{ann.experiment}/{ann.run}", None),
        ("mlflow_delete_artifact", "DELETE", f"{FILES}/{ann.experiment}", None),
        ("mlflow_delete_artifact", "DELETE", f"{FILES}/{ann.logged_folder}", None),
        ("mlflow_delete_artifact", "DELETE", f"{FILES}/{ann.kept}/weights", None),
        ("mlflow_delete_artifact", "DELETE", f"{FILES}/{ann.kept}", None),
        ("mlflow_delete_artifact", "DELETE", f"{FILES}/models", None),
        ("mlflow_delete_artifact", "DELETE", f"{FILES}/", None),
        ("mlflow_multipart_create", "POST", f"{PARTS}/create/{ann.folder}/model", {"path": "weights", "num_parts": 1}),
        ("mlflow_multipart_complete", "POST", f"{PARTS}/complete/{ann.folder}", {"path": "big", "upload_id": ann.upload, "parts": [{"part_number": 1}]}),
        ("mlflow_multipart_complete", "POST", f"{PARTS}/complete/{ann.folder}/model", {"path": "weights", "upload_id": bob.upload, "parts": [{"part_number": 1}]}),
        ("mlflow_multipart_abort", "POST", f"{PARTS}/abort/{ann.folder}", {"path": "big", "upload_id": ann.upload}),
        ("mlflow_multipart_part", "PUT", f"{PARTS}/parts/{ann.upload}/1", b"bob's"),
        ("mlflow_rename_registered_model", "POST", f"{mlflow}registered-models/rename", model | {"new_name": "bob's"}),
        ("mlflow_update_registered_model", "PATCH", f"{mlflow}registered-models/update", model | {"description": "bob's"}),
        ("mlflow_delete_registered_model", "DELETE", f"{mlflow}registered-models/delete", model),
        ("mlflow_set_registered_model_tag", "POST", f"{mlflow}registered-models/set-tag", model | tag),
        ("mlflow_delete_registered_model_tag", "DELETE", f"{mlflow}registered-models/delete-tag", model | {"key": "a"}),
        ("mlflow_set_alias", "POST", f"{mlflow}registered-models/alias", model | {"alias": "champion", "version": "2"}),
        ("mlflow_delete_alias", "DELETE", f"{mlflow}registered-models/alias", model | {"alias": "champion"}),
        ("mlflow_create_model_version", "POST", f"{mlflow}model-versions/create", model | {"source": f"mlflow-artifacts:/{bob.folder}"}),
        ("mlflow_update_model_version", "PATCH", f"{mlflow}model-versions/update", version | {"description": "bob's"}),
        ("mlflow_transition_model_version", "POST", f"{mlflow}model-versions/transition-stage", version | {"stage": "Archived"}),
        ("mlflow_delete_model_version", "DELETE", f"{mlflow}model-versions/delete", version),
        ("mlflow_set_model_version_tag", "POST", f"{mlflow}model-versions/set-tag", version | tag),
        ("mlflow_delete_model_version_tag", "DELETE", f"{mlflow}model-versions/delete-tag", version | {"key": "a"}),
        ("mlflow_create_logged_model", "POST", f"{mlflow}logged-models", {"experiment_id": "0", "source_run_id": ann.run}),
        ("mlflow_finalize_logged_model", "PATCH", logged, {"status": "LOGGED_MODEL_UPLOAD_FAILED"}),
        ("mlflow_delete_logged_model", "DELETE", logged, {}),
        ("mlflow_set_logged_model_tags", "PATCH", f"{logged}/tags", {"tags": [tag]}),
        ("mlflow_delete_logged_model_tag", "DELETE", f"{logged}/tags/a", {}),
        ("mlflow_add_logged_model_parameters", "POST", f"{logged}/params", {"params": [tag]}),
        ("append_points", "POST", f"/api/v1/runs/{ann.run}/points", {"sender": "bob", "sequence": 1, "points": {"m": [[1, 1, 666]]}}),
        ("ingest_lines", "POST", f"/api/v1/runs/{ann.ingested}/lines?offset=0", b'{"kind":"step"}\n'),
        ("ingest_facts", "POST", f"/api/v1/runs/{ann.ingested}/facts", {"run": '{"status": "failed"}'}),
        ("put_run_file", "PUT", f"/api/v1/runs/{ann.run}/files/model/weights", b"bob's"),
        ("cancel_run", "POST", f"/api/v1/runs/{ann.run}/cancel", {}),
        ("resume_run", "POST", f"/api/v1/runs/{ann.run}/resume", {}),
        ("change_experiment", "PATCH", f"/api/v1/experiments/{ann.experiment}", {"visibility": "private"}),
        ("change_experiment", "PATCH", "/api/v1/experiments/0", {"visibility": "shared"}),
        ("mlflow_set_experiment_tag", "POST", f"{mlflow}experiments/set-experiment-tag", experiment | {"key": "linac.visibility", "value": "private"}),
        ("change_model", "PATCH", f"/api/v1/models/{ann.model}", {"visibility": "private"}),
        ("ask_study", "POST", f"/api/v1/studies/{ann.study}/ask", {}),
        ("stop_study", "POST", f"/api/v1/studies/{ann.study}/stop", {"reason": "bob's"}),
        ("renew_trial", "POST", f"/api/v1/studies/{ann.study}/trials/1/renew", {"lease": "ann"}),
        ("report_trial", "POST", f"/api/v1/studies/{ann.study}/trials/1/report", {"lease": "ann", "step": 1, "value": 1}),
        ("tell_trial", "POST", f"/api/v1/studies/{ann.study}/trials/1/tell", {"lease": "ann", "value": 1}),
        ("delete_study", "DELETE", f"/api/v1/studies/{ann.study}?force=true", None),
        ("create_user", "POST", "/api/v1/users", {"name": "eve", "role": "admin"}),
        ("change_user", "PATCH", "/api/v1/users/bob", {"role": "admin"}),
        ("create_token", "POST", "/api/v1/users/ann/tokens", {}),
        ("revoke_token", "DELETE", f"/api/v1/users/ann/tokens/{token}", None),
        ("mark_host", "PUT", "/api/v1/hosts/n04/mark", {"what": "bob's"}),
        ("clear_host", "DELETE", "/api/v1/hosts/n04/mark", None),
        ("rotate_secrets_key", "POST", "/api/v1/secrets/rotate-key", {}),
        # With no token of an agent; pilot_test.py has attacks with one.
        ("ask_for_work", "POST", f"/api/v1/agents/{'0' * 32}/work", {"name": "bob", "host": "h", "cores": 1, "memory_mb": 1, "gpus": 0, "cores_free": 1,
                                                                     "memory_mb_free": 1, "gpus_free": 0}),
        ("begin_lease", "POST", f"{lease}/begin", {}),
        ("renew_lease", "POST", f"{lease}/renew", {}),
        ("end_lease", "POST", f"{lease}/end", {"exit": {}}),
        ("add_lease_log", "POST", f"{lease}/log?from=0", b"bob's"),
        ("add_lease_lines", "POST", f"{lease}/lines?from=0", b"bob's"),
        ("put_lease_file", "PUT", f"{lease}/files/models/weights", b"bob's"),
        ("remove_lease_file", "DELETE", f"{lease}/files/models/weights", None),
    ]


# What makes something of the caller's own, or changes nothing: nobody else's thing can be named.
HARMLESS = {"login", "logout", "mlflow_create_experiment", "mlflow_search_experiments", "mlflow_create_run", "mlflow_search_runs",
            "mlflow_create_registered_model", "mlflow_get_latest_versions", "mlflow_search_logged_models", "get_curves_of_runs", "plan_job", "submit_jobs",
            "begin_ingest", "create_study", "submit_study",
            "set_secret", "remove_secret"}  # secrets_test.py


def test_changes_of_anothers_things(people: People):
    service = people.service
    ann, bob = Things(people, people.ann, "ann"), Things(people, people.bob, "bob")
    # What bob may read he may not change; what he may not read is not there (attack_reads_test.py).
    for path in (f"experiments/{ann.experiment}", f"models/{ann.model}"):
        good(call(service, "PATCH", f"/api/v1/{path}", {"visibility": "shared"}, people.ann))
    before = ann.seen()
    tried = set()
    for operation, method, path, body in attempts(people, ann, bob):
        tried.add(operation)
        answer = call(service, method, path, body, people.bob)
        hidden = ann.ingested in path or (ann.upload in f"{path}{body}" and not operation.endswith("complete"))
        assert answer.status == 404 if hidden else answer.status in (401, 403) or path == f"{FILES}/", (operation, path, answer.status, answer.body)
    missing = changing_routes(service) - tried - HARMLESS
    assert not missing, f"no attack is known for {sorted(missing)}; add one, or say that it is harmless"
    after = ann.seen()
    assert after == before, [key for key in before if before[key] != after[key]]
    # Her own hand, and an admin's, do change them, and the audit log knows.
    good(people.mlflow(people.ann, "registered-models/alias", {"name": ann.model, "alias": "champion", "version": "2"}))
    good(people.mlflow(people.admin, "runs/set-tag", {"run_id": ann.run, "key": "seen", "value": "by the admin"}))
    good(call(service, "PUT", ann.part["url"].removeprefix(service.url), b"part", headers=ann.part["headers"]))
    good(call(service, "POST", f"{PARTS}/complete/{ann.folder}", {"path": "big", "upload_id": ann.upload, "parts": [{"part_number": 1}]}, people.ann))
    good(call(service, "DELETE", f"{FILES}/{ann.folder}/big", token=people.ann))
    entries = good(call(service, "GET", "/api/v1/audit?limit=1000", token=people.admin)).json()["entries"]
    noted = {(e["user"], e["action"], e["object"]) for e in entries}
    for entry in [("ann", "mlflow_set_alias", f"model {ann.model}"), ("admin", "mlflow_set_tag", f"run {ann.run}"),
                  ("ann", "mlflow_create_run", f"run {ann.run}"), ("ann", "mlflow_create_experiment", f"experiment {ann.experiment}"),
                  ("ann", "mlflow_put_artifact", f"artefact {ann.folder}/model/weights"),
                  ("ann", "mlflow_delete_artifact", f"artefact {ann.folder}/big"), ("ann", "begin_ingest", f"run {ann.ingested}"),
                  ("ann", "mlflow_create_registered_model", f"model {ann.model}"), ("ann", "mlflow_create_logged_model", f"logged model {ann.logged}")]:
        assert entry in noted, (entry, sorted(noted))
    assert not any(e["user"] == "bob" and "ann" in e["object"] for e in entries)


def test_somebody_elses_name(people: People):
    """Runs belong to the token's user, whatever the body says."""
    body = {"experiment_id": "0", "user_id": "ann", "tags": [{"key": "mlflow.user", "value": "ann"}]}
    run = good(people.mlflow(people.bob, "runs/create", body)).json()["run"]
    assert run["info"]["user_id"] == "bob"
    id = run["info"]["run_id"]
    good(people.mlflow(people.bob, "runs/set-tag", {"run_id": id, "key": "mlflow.user", "value": "ann"}))
    good(people.mlflow(people.bob, "runs/log-batch", {"run_id": id, "tags": [{"key": "mlflow.user", "value": "ann"}]}))
    found = good(call(people.service, "GET", f"/api/v1/runs/{id}", token=people.bob)).json()
    assert found["user"] == "bob" and found["tags"]["mlflow.user"] == "bob", found
    assert people.mlflow(people.ann, "runs/delete", {"run_id": id}).status == 404


def test_artifacts_in_anothers_place(people: People):
    """An experiment whose artefacts lie in another's run: the files of its runs would be among those of that run."""
    run = good(people.mlflow(people.ann, "runs/create", {"experiment_id": "0"})).json()["run"]["info"]["run_id"]
    for i, place in enumerate((f"0/{run}/artifacts", "0", "models/calo/0123", f"team/{run}/x")):
        answer = people.mlflow(people.bob, "experiments/create", {"name": f"within-{i}", "artifact_location": f"mlflow-artifacts:/{place}"})
        assert answer.status == 400, (place, answer.body)


def queued_job(people: People, token: str) -> str:
    """A job that waits for a run which does not end."""
    first = good(people.mlflow(token, "runs/create", {"experiment_id": "0"})).json()["run"]["info"]["run_id"]
    job = pathlib.Path(__file__).resolve().parents[2] / "examples" / "topology.yaml"
    body = {"job": job.read_text(), "folder": str(job.parent), "directory": str(job.parents[1]), "depends_on": [first], "cores": 1}
    return good(call(people.service, "POST", "/api/v1/jobs", body, token)).json()["runs"][0]["id"]


def test_state_of_a_job(people: People):
    """The owner of a job cannot declare it ended, or hide it, while it takes its place: that would get around quotas."""
    queued = queued_job(people, people.admin)
    for status in ("FINISHED", "KILLED", "RUNNING"):
        assert people.mlflow(people.admin, "runs/update", {"run_id": queued, "status": status}).status == 409
    assert people.mlflow(people.admin, "runs/delete", {"run_id": queued}).status == 409
    good(call(people.service, "POST", f"/api/v1/runs/{queued}/cancel", {}, people.admin))
    good(people.mlflow(people.admin, "runs/delete", {"run_id": queued}))


def uploaded_bytes(service: Service) -> int:
    return sum(file.stat().st_size for file in (service.folder / "uploads").rglob("*") if file.is_file())


def test_parts_without_permission(people: People):
    """A part of no upload, or without its token, is refused before a byte of it is stored."""
    service = people.service
    ann = good(people.mlflow(people.ann, "runs/create", {"experiment_id": "0"})).json()["run"]["info"]["run_id"]
    begun = good(call(service, "POST", f"{PARTS}/create/0/{ann}/artifacts", {"path": "big", "num_parts": 1}, people.ann)).json()
    host, port = service.url.split("//")[1].split(":")
    for id, statuses in (("0" * 32, (b"404",)), ("../../../etc", (b"404",)), (begun["upload_id"], (b"401",))):
        before = uploaded_bytes(service)
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(f"PUT {PARTS}/parts/{id}/1 HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4000000000\r\n\r\n".encode())
            try:
                for _ in range(16):
                    connection.sendall(bytes(1 << 16))
            except (BrokenPipeError, ConnectionResetError):
                pass
            time.sleep(0.2)
            assert uploaded_bytes(service) - before < 100, id  # a slow body beside it adds a byte a second
            try:
                answer = connection.recv(64)
            except ConnectionResetError:
                answer = b""
            assert not answer or answer.split()[1] in statuses, (id, answer)
    assert call(service, "PUT", f"{PARTS}/parts/{begun['upload_id']}/1", b"x", headers={"Linac-Upload-Token": "0" * 64}).status == 401
    # Its owner needs no other token than his own; what is too much for an upload is refused at its head.
    good(call(service, "PUT", f"{PARTS}/parts/{begun['upload_id']}/1", b"x", people.ann))
    assert call(service, "PUT", f"{PARTS}/parts/{begun['upload_id']}/2", b"x", people.ann).status == 400
    good(call(service, "POST", f"{PARTS}/abort/0/{ann}/artifacts", {"path": "big", "upload_id": begun["upload_id"]}, people.ann))


def test_uploads_without_end(people: People):
    service, token = people.service, people.user("hoarder")
    run = good(people.mlflow(token, "runs/create", {"experiment_id": "0"})).json()["run"]["info"]["run_id"]
    begin = lambda: call(service, "POST", f"{PARTS}/create/0/{run}/artifacts", {"path": "big", "num_parts": 1}, token)  # noqa: E731
    answers = [begin() for _ in range(80)]
    statuses = [answer.status for answer in answers]
    assert statuses[0] == 200 and statuses[-1] == 429 and statuses.count(200) <= 64, statuses
    for answer in answers:
        if answer.status == 200:
            good(call(service, "POST", f"{PARTS}/abort/0/{run}/artifacts", {"path": "big", "upload_id": answer.json()["upload_id"]}, token))
    assert begin().status == 200


def test_lock_out(people: People):
    """Wrong tokens keep nobody out who has a right one, at the same address or another."""
    service = people.service
    fresh = [people.token("ann") for _ in range(4)]
    ids = [t["id"] for t in good(call(service, "GET", "/api/v1/users/ann/tokens", token=people.ann)).json()["tokens"]]
    wrong = ["nonsense", "linac_" + "0" * 16 + "_" + "0" * 64, f"linac_{ids[0]}_{'0' * 64}"]
    limited = 0
    for i in range(100):
        limited += call(service, "GET", "/api/v1/me", token=wrong[i % 3]).status == 429
    assert limited > 20, "guesses are slowed"
    for token in [*fresh, people.bob]:
        assert call(service, "GET", "/api/v1/me", token=token).status == 200
    login = call(service, "POST", "/api/v1/login", {"token": people.token("bob")})
    assert login.status == 200
    # Secrets of a token whose secret is known: refused, and never a reason to keep the right one out.
    good(call(service, "GET", "/api/v1/me", token=fresh[0]))
    before = service.cpu_seconds()
    for _ in range(60):
        assert call(service, "GET", "/api/v1/me", token=fresh[0][:-8] + "00000000").status == 401
    assert service.cpu_seconds() - before < 2, "they cost no hash"
    good(call(service, "GET", "/api/v1/me", token=fresh[0]))


def test_forwarded_address(people: People):
    """Who writes X-Forwarded-For without being a listed proxy is not believed."""
    service = people.service
    for source, said, noted in (("127.0.0.1", "10.9.8.7", "127.0.0.1"), ("127.0.0.2", "10.9.8.7", "10.9.8.7"),
                                ("127.0.0.2", "1.1.1.1, 10.9.8.7", "10.9.8.7"), ("127.0.0.2", "nonsense", "127.0.0.2")):
        name = f"from-{source[-1]}-{abs(hash(said)) % 100000}"
        good(call(service, "POST", "/api/2.0/mlflow/registered-models/create", {"name": name}, people.ann, {"X-Forwarded-For": said}, source))
        entries = good(call(service, "GET", "/api/v1/audit?limit=5", token=people.admin)).json()["entries"]
        assert [e["from"] for e in entries if e["object"] == f"model {name}"] == [noted], (source, said, entries)


def test_half_requests(people: People):
    """Connections that never finish their request's head neither fill the service nor stay."""
    service = people.service
    host, port = service.url.split("//")[1].split(":")
    held = []
    for _ in range(2 * CONNECTIONS):
        connection = socket.create_connection((host, int(port)), timeout=10)
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: loc")
        held.append(connection)
    for source in ("127.0.0.1", "127.0.0.3"):
        begin = time.monotonic()
        for _ in range(5):
            good(call(service, "GET", "/api/v1/me", token=people.ann, source=source))
        assert time.monotonic() - begin < 3
    for connection in held:
        connection.close()


def drip(service: Service, head: bytes, piece: bytes, every: float, seconds: float) -> float:
    """How long the service listens to somebody who sends a byte now and then."""
    host, port = service.url.split("//")[1].split(":")
    begin = time.monotonic()
    with socket.create_connection((host, int(port)), timeout=every, source_address=("127.0.0.9", 0)) as connection:
        connection.sendall(head)
        while time.monotonic() - begin < seconds:
            try:
                if not connection.recv(4096):
                    break
            except TimeoutError:
                pass
            except OSError:
                break
            try:
                connection.sendall(piece)
            except OSError:
                break
    return time.monotonic() - begin


def test_tokens_of_a_reader(people: People):
    """Who has a token for reading makes and ends no more than such tokens, and not without end."""
    service = people.service
    full = people.user("carl")
    full_id = good(call(service, "GET", "/api/v1/users/carl/tokens", token=full)).json()["tokens"][0]["id"]
    made = good(call(service, "POST", "/api/v1/users/carl/tokens", {"scope": "viewer", "days": 1}, full)).json()
    reader, reader_id = made["secret"], made["id"]
    assert call(service, "DELETE", f"/api/v1/users/carl/tokens/{full_id}", token=reader).status == 403
    assert call(service, "POST", "/api/v1/users/carl/tokens", {"scope": "member"}, reader).status == 403
    assert call(service, "POST", "/api/v1/users/ann/tokens", {"scope": "viewer"}, reader).status == 403
    other = good(call(service, "POST", "/api/v1/users/carl/tokens", {"scope": "viewer"}, reader)).json()
    assert 0 < other["expires_ms"] <= made["expires_ms"], "a token does not outlive itself by another"
    session = call(service, "POST", "/api/v1/login", {"token": full})
    jar = {"Cookie": session.headers["Set-Cookie"].split(";")[0]}
    good(call(service, "DELETE", f"/api/v1/users/carl/tokens/{other['id']}", token=reader))
    good(call(service, "GET", "/api/v1/me", headers=jar))  # the session of the full token goes on
    statuses = [call(service, "POST", "/api/v1/users/carl/tokens", {"scope": "viewer"}, reader).status for _ in range(3)]
    assert statuses == [200] * 3
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        statuses = list(pool.map(lambda _: call(service, "POST", "/api/v1/users/carl/tokens", {"scope": "viewer"}, reader).status, range(60)))
    assert 429 in statuses and statuses.count(200) < 50, statuses
    assert call(service, "GET", "/api/v1/me", token=full).status == 200
    good(call(service, "DELETE", f"/api/v1/users/carl/tokens/{reader_id}", token=full))
    assert call(service, "GET", "/api/v1/me", token=reader).status in (401, 429)  # 429: guessed at from here before


def test_places_that_ask_for_tokens(people: People):
    """MLflow's client sends its token to any server that an artefact's address names: no such address is taken."""
    good(people.mlflow(people.bob, "registered-models/create", {"name": "lure"}))
    for address in ("http://127.0.0.9:1/x", "HTTPS://host/x", "mlflow-artifacts://host/x"):
        made = people.mlflow(people.bob, "experiments/create", {"name": f"lure {address}", "artifact_location": address})
        assert made.status == 400, (address, made.status, made.body)
        made = people.mlflow(people.bob, "model-versions/create", {"name": "lure", "source": address})
        assert made.status == 400, (address, made.status, made.body)


def test_places_at_stores(_: People):
    """Artefacts lie at the service, or at stores that an admin lists: else whoever logs there writes to a bucket of the experiment's maker."""
    with Service("--artifact-store", "s3://bucket/calo") as service:
        people = People(service)
        good(people.mlflow(people.bob, "registered-models/create", {"name": "kept"}))
        for i, (place, status) in enumerate([("s3://bucket/calo", 200), ("s3://bucket/calo/x", 200), ("s3://bucket/calorimeter", 400), ("s3://bobs/x", 400), ("gs://bobs", 400)]):
            assert people.mlflow(people.bob, "experiments/create", {"name": f"at {i}", "artifact_location": place}).status == status, place
            assert people.mlflow(people.bob, "model-versions/create", {"name": "kept", "source": place}).status == status, place
        assert people.mlflow(people.bob, "model-versions/create", {"name": "kept", "source": "s3://bucket/calo/../bobs"}).status == 400
    done = subprocess.run([LINAC, "serve", "--artifact-store", "http://host/x"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2 and "--artifact-store http://host/x" in done.stderr, done


def test_places_of_models(people: People):
    """Nobody lays files where those of another's model will be, whether the model is there or only its name is known."""
    for place in ("models/ann-soon/0123", "models/a=20b/0123", "models/a%20b/0123"):
        lured = call(people.service, "PUT", f"{FILES}/{place}/model.keras", b"bob's", people.bob)
        assert lured.status == 403 and b"models" in lured.body, (place, lured.status, lured.body)
    for name in ("ann-soon", "a b"):
        good(people.mlflow(people.ann, "registered-models/create", {"name": name}))
    for place in ("models/ann-soon/0123", "models/a=20b/0123"):
        assert call(people.service, "PUT", f"{FILES}/{place}/model.keras", b"bob's", people.bob).status == 403, place
        good(call(people.service, "PUT", f"{FILES}/{place}/model.keras", b"ann's", people.ann))


STEERING = ("two\nlines", "clear\x1b[2J", "title\x1b]0;x\x07", "back\r", "c1\x9b2J", "right\u202eto left", "line\u2028", "bell\x07")


def test_names_that_steer_terminals(people: People):
    """Names with line ends, escape sequences or overrides of direction are refused; reasons of others show as plain text."""
    ann = people.ann
    run = good(people.mlflow(ann, "runs/create", {"experiment_id": "0"})).json()["run"]["info"]["run_id"]
    good(people.mlflow(ann, "registered-models/create", {"name": "steered"}))
    experiment = good(people.mlflow(ann, "experiments/create", {"name": "steered"})).json()["experiment_id"]
    for name in STEERING:
        for path, body in [
                ("experiments/create", {"name": name}), ("runs/create", {"experiment_id": "0", "run_name": name}), ("runs/update", {"run_id": run, "run_name": name}),
                ("runs/set-tag", {"run_id": run, "key": name, "value": "1"}), ("runs/log-parameter", {"run_id": run, "key": name, "value": "1"}),
                ("runs/log-metric", {"run_id": run, "key": name, "value": 1, "timestamp": 1}), ("registered-models/create", {"name": name}),
                ("registered-models/set-tag", {"name": "steered", "key": name, "value": "1"}), ("experiments/set-experiment-tag", {"experiment_id": experiment, "key": name, "value": "1"}),
                ("logged-models", {"experiment_id": "0", "name": name})]:
            answer = people.mlflow(ann, path, body)
            assert answer.status == 400, (path, name, answer.status, answer.body)


def test_reasons_on_a_terminal(people: People):
    """What `linac status` shows of another's words on a terminal cannot move its cursor, nor look like a line of its own."""
    run = queued_job(people, people.ann)
    lie = "done\n  user     admin\x1b[2J\x1b[1;31mred\x9b1A"
    good(call(people.service, "POST", f"/api/v1/runs/{run}/cancel", {"reason": lie}, people.ann))
    environment = {**os.environ, "LINAC_SERVER": people.service.url, "LINAC_TOKEN": people.ann}
    for verb in (["status", run], ["list"]):
        main, side = pty.openpty()
        subprocess.run([LINAC, *verb], stdout=side, env=environment, timeout=30, check=True)
        os.close(side)
        shown = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while piece := os.read(main, 65536):
                shown += piece
        os.close(main)
        assert run.encode() in shown and b"\x1b" not in shown and b"\xc2\x9b" not in shown, shown
        assert not any(line.strip().startswith(b"user     admin") for line in shown.splitlines()), shown


def test_audit_of_logins_and_looks(people: People):
    """The audit tells of logins, of wrong tokens without being filled by them, and what an admin read of another's."""
    service = people.service
    run = good(people.mlflow(people.ann, "runs/create", {"experiment_id": "0"})).json()["run"]["info"]["run_id"]
    good(call(service, "POST", "/api/v1/login", {"token": people.ann}))
    wrong = people.ann[:-4] + "0000"
    for _ in range(5):
        assert call(service, "GET", "/api/v1/me", token=wrong).status in (401, 429)
    for _ in range(3):
        good(call(service, "GET", f"/api/v1/runs/{run}", token=people.admin))
        good(call(service, "GET", f"/api/v1/runs/{run}", token=people.ann))

    def entries() -> list:
        return [(e["user"], e["action"], e["object"]) for e in good(call(service, "GET", "/api/v1/audit?limit=1000", token=people.admin)).json()["entries"]]

    look = ("admin", "read", f"run {run} of ann")
    wait_for(lambda: look in entries(), "the audit has the look, which nobody waited for")
    told = entries()
    assert any(e[:2] == ("ann", "login") and e[2].startswith("token ") for e in told), told
    assert 1 <= sum(e[1] == "login.failed" for e in told) <= 2, told
    assert told.count(look) == 1 and not any(e[:2] == ("ann", "read") for e in told), told


def test_streams_of_who_may_no_longer(people: People):
    """A stream of a private run ends with the token, the session or the user that it was asked for by; and the audit says what was changed."""
    service = people.service
    dave = people.user("dave")
    run = good(people.mlflow(dave, "runs/create", {"experiment_id": "0"})).json()["run"]["info"]["run_id"]
    made = good(call(service, "POST", "/api/v1/users/dave/tokens", {}, dave)).json()
    login = good(call(service, "POST", "/api/v1/login", {"token": dave}))
    jar, csrf = login.headers["Set-Cookie"].split(";")[0], login.json()["csrf_token"]
    host, port = service.url.split("//")[1].split(":")

    def watch(headers: dict):
        connection = http.client.HTTPConnection(host, int(port), timeout=10)
        connection.request("GET", f"/api/v1/runs/{run}/events", headers=headers)
        response = connection.getresponse()
        assert response.status == 200, response.status
        return response

    by_token, by_session, by_user = (watch(h) for h in ({"Authorization": f"Bearer {made['secret']}"}, {"Cookie": jar}, {"Authorization": f"Bearer {dave}"}))
    good(call(service, "DELETE", f"/api/v1/users/dave/tokens/{made['id']}", token=dave))
    good(call(service, "POST", "/api/v1/logout", {}, headers={"Cookie": jar, "X-CSRF-Token": csrf}))
    by_token.read()
    by_session.read()
    good(people.mlflow(dave, "runs/set-tag", {"run_id": run, "key": "a", "value": "1"}))  # he himself goes on
    good(call(service, "PATCH", "/api/v1/users/dave", {"disabled": True}, people.admin))
    by_user.read()
    entries = good(call(service, "GET", "/api/v1/audit?limit=3", token=people.admin)).json()["entries"]
    assert [e["object"] for e in entries if e["action"] == "user.change"] == ["dave: disabled false -> true"], entries


def test_lost_admin_token(people: People):
    """Who may read the data folder gets an admin's token back, whether the service runs or not."""
    service = people.service
    done = subprocess.run([LINAC, "serve", "token", "--data", str(service.folder), "--new"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done
    secret = re.search(r"linac_[0-9a-f]{16}_[0-9a-f]{64}_[0-9a-f]{64}", done.stdout).group()
    assert good(call(service, "GET", "/api/v1/me", token=secret)).json() == {"user": "admin", "role": "admin"}
    entries = good(call(service, "GET", "/api/v1/audit?limit=3", token=secret)).json()["entries"]
    assert any(e["action"] == "token.create" and e["from"] == "this host" for e in entries), entries
    done = subprocess.run([LINAC, "serve", "token", "--data", str(service.folder), "--new", "--user", "nobody"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2 and "nobody" in done.stderr, done


def test_count_of_repeated_points(people: People):
    """A client that repeats a batch, because it does not know whether it arrived, counts each point once."""
    run = good(people.mlflow(people.ann, "runs/create", {"experiment_id": "0"})).json()["run"]["info"]["run_id"]
    batch = [{"key": "m", "value": i / 7, "timestamp": 1000 + i, "step": i} for i in range(100)]
    for points in (batch, batch, batch[50:], batch[:10] + [{"key": "m", "value": 1, "timestamp": 5000, "step": 200}], batch):
        good(people.mlflow(people.ann, "runs/log-batch", {"run_id": run, "metrics": points}))
    good(people.mlflow(people.ann, "runs/log-metric", {"run_id": run} | batch[3]))
    good(people.mlflow(people.ann, "runs/log-metric", {"run_id": run} | batch[3] | {"value": 17}))  # another point
    found = good(call(people.service, "GET", f"/api/v1/runs/{run}", token=people.ann)).json()["metrics"]["m"]
    assert found["count"] == 102, found


def test_full_disk(_: People):
    """A disk without room: the service says so before it is asked to keep anything."""
    with Service("--keep-free", "1000000G") as service:
        ready = call(service, "GET", "/readyz")
        assert ready.status == 503 and b"disk" in ready.body, ready.body
        assert call(service, "GET", "/healthz").status == 200
        refused = [call(service, "PUT", f"{FILES}/0/x/y", b"abc", service.token),
                   call(service, "POST", "/api/v1/jobs", {"job": "name: x"}, service.token)]
        for answer in refused:
            assert answer.status == 503 and b"keep-free" in answer.body, (answer.status, answer.body)
        assert uploaded_bytes(service) == 0


def damage(file: pathlib.Path, table: str) -> None:
    """Overwrites a page of the table within the file."""
    with sqlite3.connect(file) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        page = database.execute("PRAGMA page_size").fetchone()[0]
        root = database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
    with open(file, "r+b") as pages:
        pages.seek((root - 1) * page)
        pages.write(os.urandom(page))


def test_damaged_pages(people: People):
    """Into a damaged catalog nothing is written, and everybody hears why."""
    with Service() as first:
        token = first.token
        good(call(first, "POST", "/api/2.0/mlflow/runs/create", {"experiment_id": "0"}, token))
        first.own_folder = False
        assert first.stop() == 0
    check = [LINAC, "serve", "check", "--data", str(first.folder)]
    done = subprocess.run(check, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0 and "sound" in done.stdout, done
    damage(first.folder / "books.db", "parameters")
    done = subprocess.run(check, capture_output=True, text=True, timeout=30)
    assert done.returncode == 3 and "damaged" in done.stderr, done
    with Service(data=str(first.folder)) as service:
        service.own_folder = True
        ready = call(service, "GET", "/readyz")
        assert ready.status == 503 and b"damaged" in ready.body, ready.body
        answer = call(service, "POST", "/api/2.0/mlflow/runs/create", {"experiment_id": "0"}, token)
        assert answer.status == 503 and b"damaged" in answer.body, (answer.status, answer.body)
        good(call(service, "GET", "/api/v1/experiments", token=token))  # what can be read is read


# Rows of the page of bounds that are no matter of what a request names; the tests that hold them.
OTHER_BOUNDS = {**dict.fromkeys(("plan.rows", "plan.patterns", "plan.workers", "plan.ways", "plan.runs", "plan.record"), "plans_test"), "head.bytes": "server_http_test", "search.seconds": "catalog_test", "search.bytes": "catalog_test", "list.names": "catalog_test",
                "list.text": "catalog_test", "run.parameters": "catalog_test", "run.tags": "catalog_test", "user.readers": "service_test",
                "user.waiting": "service_test", "user.streams": "service_test", "user.bodies": "test_bodies_of_one_user"}


def bound_trials(people: People) -> dict:
    """Of each bound the answer to a request that asks for so many."""
    service, ann, mlflow = people.service, people.ann, "/api/2.0/mlflow/"
    run = good(people.mlflow(ann, "runs/create", {"experiment_id": "0"})).json()["run"]["info"]["run_id"]
    get = lambda path: call(service, "GET", path, token=ann)  # noqa: E731
    post = lambda path, body: call(service, "POST", path, body, ann)  # noqa: E731
    search = lambda **more: post(f"{mlflow}runs/search", {"experiment_ids": ["0"]} | more)  # noqa: E731
    batch = lambda **more: post(f"{mlflow}runs/log-batch", {"run_id": run} | more)  # noqa: E731
    metrics = lambda n: [{"key": f"m{i % 9}", "value": 1, "timestamp": i, "step": i} for i in range(n)]  # noqa: E731
    pairs = lambda n, name: [{"key": f"{name}{i}", "value": "1"} for i in range(n)]  # noqa: E731
    curves = lambda runs, keys, n: post("/api/v1/curves", {"runs": [run] * runs, "keys": ["m0"] * keys, "stretches": n})  # noqa: E731
    senders, numbers = iter(range(100)), iter(range(100))
    new_run = lambda: good(people.mlflow(ann, "runs/create", {"experiment_id": "0", "run_name": "of bounds"})).json()["run"]["info"]["run_id"]  # noqa: E731

    def inputs(to: str, profiles: list[str]) -> Answer:
        """Data sets that no other run has, of names of one length."""
        number = next(numbers)
        sets = [{"dataset": {"name": f"{number:03}-{i:03}", "digest": "d", "profile": profile}, "tags": []} for i, profile in enumerate(profiles)]
        return post(f"{mlflow}runs/log-inputs", {"run_id": to, "datasets": sets})

    def answer_of(size: int) -> Answer:
        """Of a run of so many bytes."""
        def of(profiles: list[str]) -> Answer:
            to = new_run()
            for profile in profiles:
                good(inputs(to, [profile]))
            return get(f"/api/v1/runs/{to}")
        more = size - len(good(of([""] * 3)).body)
        return of(["a" * (more // 3), "a" * (more // 3), "a" * (more - more // 3 * 2)])

    def metrics_of_run(count: int) -> Answer:
        to, answer = new_run(), None
        for i in range(0, count, 1000):
            answer = post(f"/api/v1/runs/{to}/points", {"sender": "s", "sequence": i // 1000 + 1, "points": {f"m{k}": [[1, 1, 1]] for k in range(i, min(count, i + 1000))}})
        return answer

    def line_of(count: int) -> Answer:
        to = good(post("/api/v1/ingest", {"key": f"{next(senders):08x}"})).json()["id"]
        line = {"kind": "step", "epoch": 0, "step": 1, "global_step": 1, "lr": 0.001, "loss": {f"n{i}": 1 for i in range(count - 1)}}  # and the rate
        return post(f"/api/v1/runs/{to}/lines?offset=0", json.dumps(line).encode() + b"\n")

    def padded(path: str, body: dict, size: int) -> Answer:
        data = json.dumps(body).encode()
        return post(path, data + b" " * (size - len(data)))

    return {
        "filter.bytes": lambda n: search(filter="tags.a = 'b'".ljust(n)),
        "filter.conditions": lambda n: search(filter=" OR ".join(["tags.a = 'b'"] * n)),
        "filter.values": lambda n: search(filter="tags.a IN (" + ",".join(["'b'"] * n) + ")"),
        "filter.depth": lambda n: search(filter="(" * n + "tags.a = 'b'" + ")" * n),
        "search.orders": lambda n: search(order_by=["start_time"] * n),
        "search.experiments": lambda n: search(experiment_ids=["0"] * n),
        "search.results": lambda n: search(max_results=n),
        "search.body": lambda n: padded(f"{mlflow}runs/search", {"experiment_ids": ["0"]}, n),
        "answer.bytes": answer_of,
        "points.names": lambda n: post(f"/api/v1/runs/{run}/points", {"sender": f"s{next(senders)}", "sequence": 1, "points": {f"n{i}": [[1, 1, 1]] for i in range(n)}}),
        "line.names": line_of,
        "run.metrics": metrics_of_run,
        "run.inputs": lambda n: inputs(new_run(), [""] * n),
        "list.limit": lambda n: get(f"/api/v1/runs?limit={n}"),
        "request.things": lambda n: post("/api/v1/curves", {"runs": [run] * n, "keys": []}),
        "curves.curves": lambda n: curves(1, n, 1),
        "curves.stretches": lambda n: curves(1, 1, n),
        "curves.all_stretches": lambda n: curves(1, 100, n // 100) if n % 100 == 0 else curves(1, 101, 5000),
        "points.batch": lambda n: post(f"/api/v1/runs/{run}/points", {"sender": f"s{next(senders)}", "sequence": 1, "points": {"p": [[i, 1, 1] for i in range(n)]}}),
        "batch.metrics": lambda n: batch(metrics=metrics(n)),
        "batch.parameters": lambda n: batch(params=pairs(n, "p")),
        "batch.tags": lambda n: batch(tags=pairs(n, "t")),
        "batch.entities": lambda n: batch(metrics=metrics(n - 100), params=pairs(100, "p")),
        "batch.body": lambda n: padded(f"{mlflow}runs/log-batch", {"run_id": run}, n),
        "name.metric": lambda n: batch(metrics=[{"key": "k" * n, "value": 1, "timestamp": 1, "step": 1}]),
        "name.tag": lambda n: batch(tags=[{"key": "k" * n, "value": "1"}]),
        "name.run": lambda n: people.mlflow(ann, "runs/create", {"experiment_id": "0", "run_name": "r" * n}),
        "query.parameters": lambda n: get("/api/v1/runs?" + "&".join(["a=1"] * n)),
        "body.depth": lambda n: post(f"{mlflow}runs/search", b'{"experiment_ids": ["0"], "more": ' + b"[" * (n - 1) + b"]" * (n - 1) + b"}"),
    }


def test_bounds(people: People):
    """Each row of the page of bounds: so many are taken, one more is refused in the words and by the status that the page says."""
    page = (pathlib.Path(__file__).parents[2] / "docs/reference/bounds.md").read_text()
    rows = [[cell.strip(" `") for cell in line.split(" | ")] for line in page.splitlines() if line.startswith("| `")]
    bounds = {row[0].strip("| `"): (int(row[1]), row[3], row[4].strip(" |")) for row in rows}
    trials = bound_trials(people)
    assert bounds.keys() == trials.keys() | OTHER_BOUNDS.keys(), bounds.keys() ^ (trials.keys() | OTHER_BOUNDS.keys())
    for name, trial in trials.items():
        most, status, words = bounds[name]
        at, above = trial(most), trial(most + 1)
        assert at.status == 200, (name, most, at.status, at.body[:300])
        assert str(above.status) == status, (name, above.status, above.body[:300])
        told = above.body.decode().replace("\\", "")
        assert words in told and str(most) in told, (name, words, told)


def test_bodies_of_one_user(people: People):
    """Bodies that are on their way take memory: a user's together have a bound, and another user has his own."""
    each, most = 4 << 20, 64 << 20
    host, port = people.service.url.split("//")[1].split(":")
    run = good(people.mlflow(people.ann, "runs/create", {"experiment_id": "0"})).json()["run"]["info"]["run_id"]
    tag = {"run_id": run, "key": "a", "value": "b"}
    held = []
    try:
        for length in [b"Content-Length: %d" % each] * (most // each - 1) + [b"Transfer-Encoding: chunked"]:  # that one may have as many
            connection = socket.create_connection((host, int(port)), timeout=10)
            connection.sendall(b"POST /api/2.0/mlflow/runs/log-batch HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + people.ann.encode() +
                               b"\r\n" + length + b"\r\nExpect: 100-continue\r\n\r\n")
            held.append(connection)
            assert b"100 Continue" in connection.recv(100)
        refused = people.mlflow(people.ann, "runs/set-tag", tag)
        assert refused.status == 429 and b"bodies of yours" in refused.body and str(most).encode() in refused.body, refused.body
        good(call(people.service, "GET", "/api/v1/me", token=people.ann))  # has none
        good(people.mlflow(people.bob, "experiments/search", {"max_results": 1}))
    finally:
        for connection in held:
            connection.close()
    wait_for(lambda: people.mlflow(people.ann, "runs/set-tag", tag).status == 200, "room for bodies again", 10)


def test_heavy_writes(_: People):
    """One user has his largest batches waiting at all times: another's write goes between them."""
    with Service() as service:
        people = People(service)
        new_run = lambda who: good(people.mlflow(who, "runs/create", {"experiment_id": "0"})).json()["run"]["info"]["run_id"]  # noqa: E731
        points = json.dumps({f"metric-{i}": [[k, 1, k] for k in range(20)] for i in range(1_000)})
        host, port = service.url.split("//")[1].split(":")

        def request(path: str, token: str, body: str) -> bytes:
            return f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()

        # One thread for all connections, as threads of this language would be what bob waits for.
        small = request("/api/2.0/mlflow/runs/create", people.bob, '{"experiment_id": "0"}')
        bob, batches, before_him = object(), 16, []
        with contextlib.ExitStack() as stack, selectors.DefaultSelector() as ready:

            def connect(data: object) -> socket.socket:
                connection = stack.enter_context(socket.create_connection((host, int(port)), timeout=60))
                ready.register(connection, selectors.EVENT_READ, data)
                return connection

            def batch(run: str, sequence: int) -> bytes:
                return request(f"/api/v1/runs/{run}/points", people.ann, f'{{"sender": "s", "sequence": {sequence}, "points": {points}}}')

            runs = [[new_run(people.ann), 1] for _ in range(batches)]
            for run in runs:
                connect(run).sendall(batch(*run))
            his, done, since = connect(bob), 0, None
            while len(before_him) < 10:
                if since is None and done >= batches:
                    his.sendall(small)
                    since = done
                answers = ready.select(60)
                assert answers, "nobody is answered"
                for key, _ in answers:
                    answer = key.fileobj.recv(65536)
                    assert answer.startswith(b"HTTP/1.1 200 "), answer[:300]
                    if key.data is bob:
                        before_him.append(done - since)
                        since = None
                    else:
                        done += 1
                        key.data[1] += 1
                        key.fileobj.sendall(batch(*key.data))
        assert statistics.median(before_him) < batches // 2, f"{before_him} batches of {batches} that wait went before another's write"


def test_lists_of_large_runs(_: People):
    """A list is read in smaller pieces where its runs are larger than a read may be: nobody's run keeps others from the list."""
    with Service() as first:
        token = first.token
        first.own_folder = False
        assert first.stop() == 0
    runs, tags, size = 24, 45, 65_000  # 70 MB
    with sqlite3.connect(first.folder / "books.db") as database:
        database.executemany("INSERT INTO runs (id, experiment, name, user_name, state, reason, deleted, created_ms, started_ms, ended_ms, order_ms) "
                             "VALUES (?, 0, 'r', 'admin', 'RUNNING', '', 0, 1, 1, 0, 1)", ((f"{i:032x}",) for i in range(runs)))
        database.executemany("INSERT INTO run_tags (run, key, value) SELECT number, ?, ? FROM runs", ((f"tag-{i}", "x" * size) for i in range(tags)))
    with Service(data=str(first.folder)) as service:
        service.own_folder = True
        answer = good(call(service, "GET", "/api/v1/runs", token=token))
        found = answer.json()["runs"]
        assert len(found) == runs and all(len(run["tags"]) == tags for run in found), len(found)


def test_bodies_that_never_come(_: People):
    """Refused requests whose body is not sent keep nobody out."""
    with Service("--connections", "16") as service:  # four of an address
        host, port = service.url.split("//")[1].split(":")
        held = []
        try:
            for _ in range(12):
                connection = socket.create_connection((host, int(port)), timeout=10)
                connection.sendall(b"POST /api/v1/curves HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n{")
                held.append(connection)
                time.sleep(0.02)
                assert call(service, "GET", "/healthz").status == 200
        finally:
            for connection in held:
                connection.close()


def test_streams_of_one_user(_: People):
    """Behind a proxy all have one address: one user's streams leave connections for others."""
    with Service("--connections", "16", "--trusted-proxy", "127.0.0.1") as service:
        people = People(service)
        run = good(people.mlflow(people.ann, "runs/create", {"experiment_id": "0"})).json()["run"]["info"]["run_id"]
        host, port = service.url.split("//")[1].split(":")
        streams = []
        try:
            for i in range(8):
                stream = http.client.HTTPConnection(host, int(port), timeout=10)
                stream.request("GET", f"/api/v1/runs/{run}/events", headers={"Authorization": f"Bearer {people.ann}", "X-Forwarded-For": "10.0.0.1"})
                answer = stream.getresponse()
                streams.append(stream)
                assert answer.status == (200 if i < 4 else 429), (i, answer.status)
                if i >= 4:
                    assert answer.headers["Retry-After"] and b"4 requests and streams" in answer.read()
            assert call(service, "GET", f"/api/v1/runs/{run}", token=people.ann).status == 429
            good(call(service, "GET", "/api/v1/me", token=people.bob))
        finally:
            for stream in streams:
                stream.close()


def test_heavy_searches(_: People):
    """Eight of one user's heaviest searches at once: another's request is answered while they go on."""
    with Service() as first:
        people = People(first)
        first.own_folder = False
        assert first.stop() == 0
    runs, tags = 6_000, 5
    with sqlite3.connect(first.folder / "books.db") as database:
        database.executemany("INSERT INTO runs (id, experiment, name, user_name, state, reason, deleted, created_ms, started_ms, ended_ms, order_ms) "
                             "VALUES (?, 0, 'r', 'ann', 'RUNNING', '', 0, 1, 1, 0, 1)", ((f"{i:032x}",) for i in range(runs)))
        database.executemany("INSERT INTO run_tags (run, key, value) SELECT number, ?, ? FROM runs", ((f"tag-{i}", "x" * 20) for i in range(tags)))
    with Service(data=str(first.folder)) as service:
        service.own_folder = True
        heavy = " OR ".join(f"tags.`tag-{i % tags}` LIKE '%a%b{i}%'" for i in range(100))
        search = {"experiment_ids": ["0"], "filter": heavy, "max_results": 1}
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            going_on = [pool.submit(call, service, "POST", "/api/2.0/mlflow/runs/search", search, people.ann) for _ in range(8)]
            time.sleep(0.2)
            good(call(service, "GET", "/api/v1/experiments", token=people.bob))
            waiting = sum(not one.done() for one in going_on)
            assert waiting >= 4, f"{8 - waiting} of 8 heavy searches went first"
            assert all(one.result().status in (200, 400) for one in going_on)


def test_large_searches(_: People):
    """Many large answers at a time are made and sent piece by piece, and the memory comes back."""
    with Service() as first:
        token = first.token
        first.own_folder = False
        assert first.stop() == 0
    runs, tags = 1000, 60
    with sqlite3.connect(first.folder / "books.db") as database:
        database.executemany("INSERT INTO runs (id, experiment, name, user_name, state, reason, deleted, created_ms, started_ms, ended_ms, order_ms) "
                             "VALUES (?, 0, 'r', 'admin', 'RUNNING', '', 0, 1, 1, 0, 1)", ((f"{i:032x}",) for i in range(runs)))
        database.executemany("INSERT INTO run_tags (run, key, value) SELECT number, ?, ? FROM runs", ((f"tag-{i}", "x" * 250) for i in range(tags)))
    with Service(data=str(first.folder)) as service:
        service.own_folder = True
        before = service.rss_mb()
        most = [0.0]
        stop = threading.Event()

        def look():
            while not stop.wait(0.02):
                most[0] = max(most[0], service.rss_mb())

        watcher = threading.Thread(target=look)
        watcher.start()

        def search(i: int) -> int:
            if i % 2:
                return good(call(service, "GET", "/api/v1/runs?limit=5000", token=token)).body.count(b'"artifact_uri"')
            body = {"experiment_ids": ["0"], "max_results": 50000}
            return good(call(service, "POST", "/api/2.0/mlflow/runs/search", body, token)).body.count(b'"artifact_uri"')

        try:
            with concurrent.futures.ThreadPoolExecutor(24) as pool:
                assert set(pool.map(search, range(24))) == {runs}
        finally:
            stop.set()
            watcher.join()
        grown = most[0] - before
        deadline = time.monotonic() + 12
        while service.rss_mb() - before > 100 and time.monotonic() < deadline:
            time.sleep(0.2)
        kept = service.rss_mb() - before
        print(f"  24 searches of {runs * tags * 280 >> 20} MB each: {grown:.0f} MB more at the most, {kept:.0f} MB more afterwards", flush=True)
        assert grown < 200 and kept < 100, (grown, kept)


def main() -> int:
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    failed = ran = 0
    with Service("--trusted-proxy", "127.0.0.2", "--connections", str(CONNECTIONS)) as service:
        people = People(service)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:  # these take a while, of which nobody computes
            token = service.token.encode()
            slow_head = pool.submit(drip, service, b"GET /healthz HTTP/1.1\r\n", b"X", 1, 60)
            slow_body = pool.submit(drip, service, b"PUT " + FILES.encode() + b"/0/x/y HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token +
                                    b"\r\nContent-Length: 1000000\r\n\r\n", b"X", 1, 90)

            def test_slow_heads(_: People):
                assert slow_head.result() < HEAD_SECONDS_MAX + 5, slow_head.result()

            def test_slow_bodies(_: People):
                assert slow_body.result() < 45, slow_body.result()

            tests = {name: test for name, test in {**globals(), **locals()}.items() if name.startswith("test_") and word in name}
            for name, test in tests.items():
                ran += 1
                begin = time.monotonic()
                try:
                    test(people)
                    print(f"{name:34} ok      {time.monotonic() - begin:5.1f} s", flush=True)
                except Exception:
                    failed += 1
                    print(f"{name:34} FAILED", flush=True)
                    traceback.print_exc()
    print("FAILED" if failed or not ran else "ok")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
