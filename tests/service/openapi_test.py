"""schemathesis throws what /openapi.json allows, and what it does not, at a service: never an internal error, never the end of it.

Then as one user of two, with the ids of both in its hands: whatever it sends, nothing of the other's changes, and nothing is shown.

openapi_test.py [EXAMPLES] [--all]: so many for each route (default 15); on PostgreSQL, which is the stricter one, where it is
installed, else on SQLite; --all: on both."""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.request

from attack_world import FILES, People, Things, call, good
from lib.server_process import Service, databases


def statuses(service: Service) -> dict[int, int]:
    """How many answers had which status, as the service counted them."""
    request = urllib.request.Request(f"{service.url}/metrics", headers={"Authorization": f"Bearer {service.token}"})
    counts: collections.Counter = collections.Counter()
    for status, count in re.findall(r'linac_requests_total{.*status="(\d+)"} (\d+)', urllib.request.urlopen(request, timeout=10).read().decode()):
        counts[int(status)] += int(count)
    return dict(sorted(counts.items()))


PROGRAM = pathlib.Path(sys.executable).parent / "schemathesis"


def thrown(service: Service, description: str, token: str, examples: str, phases: str, *more: str,
           environment: dict | None = None) -> subprocess.CompletedProcess:
    checks = "not_a_server_error" + (",nothing_of_anns" if environment else "")
    words = [str(PROGRAM), "run", description, "--header", f"Authorization: Bearer {token}", "--checks", checks, "--max-examples",
             examples, "--phases", phases, "--exclude-operation-id", "watch_run", "--request-timeout", "10", "--seed", "1", "--no-color",
             "--suppress-health-check", "all", *more]
    return subprocess.run(words, env={**os.environ, "PYTHONUTF8": "1", **(environment or {})}, capture_output=True, text=True, timeout=900,
                          cwd=service.folder)  # where it leaves what it has learned


def aimed(description: dict, ann: Things, bob: Things, gets: bool) -> dict:
    """What the service takes by GET, or by what is none, with the ids of real things where ids are wanted, most of them ann's."""
    both = lambda what: [getattr(ann, what), getattr(ann, what), getattr(bob, what)]  # noqa: E731
    names = {"run_id": both("run"), "run_uuid": both("run"), "source_run_id": both("run"), "experiment_id": [*both("experiment"), "0"],
             "model_id": both("logged"), "upload_id": both("upload"), "name": [*both("model"), "ann", "bob"], "alias": ["champion", "other"],
             "path": [ann.folder, f"{ann.folder}/model/weights", f"{ann.kept}/weights", ann.experiment, f"{bob.folder}/x"],
             "id": [ann.run, ann.ingested, ann.upload, ann.experiment, bob.run, bob.upload], "key": ["a", "b"], "version": [1, 2],
             "metric_key": ["m"], "experiment_name": ["ann-experiment", "bob-experiment"], "max_results": [1, 100], "limit": [1, 100],
             "wait_s": [0]}
    lists = {"run_ids": both("run"), "runs": both("run"), "experiment_ids": [ann.experiment, bob.experiment, "0"], "depends_on": both("run"),
             "experiment": [ann.experiment, bob.experiment, "0"], "order_by": ["name", "user DESC"], "keys": ["m"]}
    names["filter"] = ["name LIKE '%'", f"run_id = '{ann.run}'", f"name = '{ann.model}'", "user = 'ann'", "NOT name = 'x'", "visibility = 'private'"]

    def aim(parameter: dict, schema: dict) -> None:
        if parameter["name"] in lists and schema.get("type") == "array":
            schema.update({"items": {"type": "string", "enum": sorted(set(lists[parameter["name"]]))}, "minItems": 1, "maxItems": 2})
        if parameter["name"] in names:
            kind = type(names[parameter["name"]][0])
            schema.clear()
            schema.update({"type": "integer" if kind is int else "string", "enum": sorted(set(names[parameter["name"]]))})

    for path, methods in list(description["paths"].items()):
        for method in [m for m in methods if (m == "get") != gets]:
            del methods[method]
        for operation in methods.values():
            for parameter in operation.get("parameters", []):
                aim(parameter, parameter["schema"])
            for content in operation.get("requestBody", {}).get("content", {}).values():
                for name, schema in content["schema"].get("properties", {}).items():
                    aim({"name": name}, schema)
        if not methods:
            del description["paths"][path]
    return description


SECRET = "SENTINEL"  # in all that ann has
HOOKS = """import schemathesis

@schemathesis.check
def nothing_of_anns(ctx, response, case):
    if b"SENTINEL" in response.content:
        raise AssertionError("shows what is ann's")
"""


def hide_secrets(people: People, ann: Things) -> None:
    """Values of ann's that no answer to bob may hold; her ids he knows and sends himself."""
    good(people.mlflow(people.ann, "runs/log-batch", {"run_id": ann.run, "tags": [{"key": SECRET, "value": SECRET}], "params": [{"key": SECRET, "value": SECRET}]}))
    for run in (ann.run, ann.ingested):
        good(people.mlflow(people.ann, "runs/update", {"run_id": run, "run_name": f"{SECRET}-run"}))
    good(people.mlflow(people.ann, "experiments/set-experiment-tag", {"experiment_id": ann.experiment, "key": SECRET, "value": SECRET}))
    good(people.mlflow(people.ann, "registered-models/update", {"name": ann.model, "description": SECRET}, "PATCH"))
    good(people.mlflow(people.ann, "model-versions/update", {"name": ann.model, "version": "1", "description": SECRET}, "PATCH"))
    good(people.mlflow(people.ann, f"logged-models/{ann.logged}/tags", {"tags": [{"key": SECRET, "value": SECRET}]}, "PATCH"))
    good(people.mlflow(people.ann, "runs/log-metric", {"run_id": ann.run, "key": f"{SECRET}/m", "value": 1, "timestamp": 1}))
    good(call(people.service, "PUT", f"/api/v1/runs/{ann.run}/files/{SECRET}.txt", SECRET.encode(), people.ann))
    for path in (f"{ann.folder}/model/weights", f"{ann.logged_folder}/weights", f"{ann.kept}/weights"):
        good(call(people.service, "PUT", f"{FILES}/{path}", SECRET.encode(), people.ann))
    good(call(people.service, "POST", "/api/v1/users/ann/tokens", {"note": SECRET}, people.ann))


def two_users(service: Service, examples: str) -> bool:
    """Whether all of ann's is as it was after bob has tried, and he has seen nothing of it."""
    people = People(service)
    ann, bob = Things(people, people.ann, "ann"), Things(people, people.bob, "bob")
    hide_secrets(people, ann)
    hooks = pathlib.Path(service.folder) / "nothing_of_anns.py"
    hooks.write_text(HOOKS)
    before = ann.seen()
    whole = good(call(service, "GET", "/openapi.json")).body
    runs = []
    # What is read is asked with ids that there are; what changes something is also sent all kinds of nonsense.
    for gets, phases in ((True, "fuzzing"), (False, "coverage,fuzzing")):
        description = pathlib.Path(service.folder) / "aimed.json"
        description.write_text(json.dumps(aimed(json.loads(whole), ann, bob, gets)))
        runs.append(thrown(service, str(description), people.bob, examples, phases, "--url", service.url, "--exclude-operation-id", "logout",
                           environment={"SCHEMATHESIS_HOOKS": "nothing_of_anns", "PYTHONPATH": str(hooks.parent)}))
    after, answers = ann.seen(), statuses(service)
    changed = [what for what in before if before[what] != after.get(what)]
    exits = [done.returncode for done in runs]
    print(f"two users: exits {exits}, answers by status: {answers}, changed: {changed}", flush=True)
    sound = not any(exits) and not changed and answers.get(404, 0) > 50 and answers.get(200, 0) > 50
    if not sound:
        for done in runs:
            print(done.stdout[-6000:], done.stderr[-2000:])
    return sound


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("examples", nargs="?", default="15")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    failed = 0
    at_hand = list(databases())
    for kind, database in at_hand if options.all else at_hand[-1:]:
        with database, Service(database=database.url) as service:
            done = thrown(service, f"{service.url}/openapi.json", service.token, options.examples, "examples,coverage,fuzzing")
            answers = statuses(service)
            print(f"{kind}: exit {done.returncode}, answers by status: {answers}", flush=True)
            # Most of what it sends has to get past the checks, or the handlers were not reached.
            if done.returncode != 0 or any(status >= 500 for status in answers) or answers.get(200, 0) < 100:
                failed += 1
                print(done.stdout[-12000:], done.stderr[-2000:])
    with Service() as service:
        failed += not two_users(service, str(max(3, int(options.examples) // 3)))
    print("FAILED" if failed else "ok")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
