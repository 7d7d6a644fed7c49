"""Studies at the service: programs ask and tell over HTTP. What is suggested is what a folder of this host suggests, bit for bit; leases, pruning and ends;
attacks; eight clients while the service is killed ten times. On SQLite and, where it is installed, PostgreSQL.

studies_test.py [WORD]: the tests whose name has the word."""

import concurrent.futures
import http.client
import json
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

from attack_world import People, call, good
from lib import paths
from lib.ports import free_port
from lib.runs import LINAC
from lib.server_process import Service, databases

paths.add("python")
from linac import Client  # noqa: E402

STUDIES = "/api/v1/studies"
SPACE = """search:
  x: {low: -2, high: 2}
  lr: {kind: log, low: 1.0e-5, high: 1.0e-1}
  n: {kind: integer, low: 1, high: 8}
  kind: {kind: categorical, choices: [a, b]}
budget: {trials: TRIALS}
seed: 7
"""


def linac(*words: object, status: int = 0, **environment: str) -> str:
    done = subprocess.run([LINAC, *map(str, words)], env=os.environ | environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


class Study:
    """One study as its owner sees it."""

    def __init__(self, service: Service, token: str, name: str, text: str, **more):
        self.service, self.token, self.name = service, token, name
        good(call(service, "POST", STUDIES, {"name": name, "study": text} | more, token))

    def post(self, path: str, **body):
        return call(self.service, "POST", f"{STUDIES}/{self.name}/{path}", body, self.token)

    def ask(self, **body) -> dict:
        return good(self.post("ask", **body)).json()

    def tell(self, trial: int, **body):
        return self.post(f"trials/{trial}/tell", **body)

    def get(self, path: str = "") -> dict:
        return good(call(self.service, "GET", f"{STUDIES}/{self.name}{path}", token=self.token)).json()

    def lines(self) -> list[dict]:
        return [json.loads(line) for line in self.get("/journal")["lines"]]


def loss(point: dict) -> float:
    return point["x"] ** 2 + 0.01 * point["n"] + point["lr"] + (point["kind"] == "b")


def test_same_as_a_folder(people: People, root: pathlib.Path):
    """Asked and told in the same order, by turns of two, a study of the service is that of a folder, and each can be replayed."""
    (space := root / "space.yaml").write_text(SPACE.replace("TRIALS", "40"))
    study = Study(people.service, people.ann, "same", space.read_text())
    there, here = [], []
    linac("study", "new", space, "--out", root / "same")
    words = ("--server", people.service.url)
    for _ in range(20):
        asked = [study.ask(lease=f"client-{i}") for i in range(2)]
        local = [json.loads(line) for line in linac("study", "ask", root / "same", "-n", 2).splitlines()]
        there += [one["point"] for one in asked]
        here += [one["point"] for one in local]
        for one in reversed(asked):
            good(study.tell(one["trial"], lease=one["lease"], value=loss(one["point"])))
            linac("study", "tell", root / "same", one["trial"], loss(one["point"]))
    assert there == here and len({json.dumps(point) for point in there}) > 30
    assert study.ask() == {"trial": None, "done": True, "seconds": 0}
    assert "all 40 suggestions follow" in linac("study", "replay", "same", *words, LINAC_TOKEN=people.ann)
    best = json.loads(linac("study", "best", "same", "--json", *words, LINAC_TOKEN=people.ann))
    other = json.loads(linac("study", "best", root / "same", "--json"))
    assert best.pop("cost") > 0 and other.pop("cost") > 0 and best == other  # the seconds that each took
    assert linac("study", "show", "same", *words, LINAC_TOKEN=people.ann) == linac("study", "show", root / "same")
    record = study.get("/record")
    assert len(record["record"]["trials"]) == 40 and study.get(f"/record?since={record['lines']}")["record"] is None
    pages = [trial["trial"] for after in (0, 25) for trial in study.get(f"/trials?after={after}&limit=25")["trials"]]
    assert pages == list(range(1, 41))
    # With a larger budget it goes on; another study does not take its name.
    good(call(people.service, "POST", STUDIES, {"name": "same", "study": SPACE.replace("TRIALS", "41")}, people.ann))
    assert study.ask(lease="more")["trial"] == 41
    assert call(people.service, "POST", STUDIES, {"name": "same", "study": SPACE.replace("seed: 7", "seed: 8").replace("TRIALS", "41")}, people.ann).status == 409


def test_verbs(people: People, root: pathlib.Path):
    (space := root / "verbs.yaml").write_text("search: {x: {low: 0, high: 1}}\nbudget: {trials: 2}\n")
    words = {"LINAC_TOKEN": people.ann}
    study = lambda *all, **more: linac("study", *all, "--server", people.service.url, **words, **more)  # noqa: E731
    assert "0 trials of a space of 1 parameter" in study("new", space, "--out", "verbs", "--experiment", "by-verbs")
    asked = json.loads(study("ask", "verbs", "--lease", "mine"))
    assert asked["trial"] == 1 and json.loads(study("ask", "verbs", "--lease", "mine"))["point"] == asked["point"]
    assert json.loads(study("report", "verbs", 1, 10, "nan", "--lease", "mine")) == {"stop": False, "reason": ""}
    assert json.loads(study("tell", "verbs", 1, 0.5))["state"] == "complete"
    assert json.loads(study("ask", "verbs"))["trial"] == 2
    assert "others have the trials that are left" in study("ask", "verbs", status=2)
    assert json.loads(study("tell", "verbs", 2, "inf"))["state"] == "infeasible"
    assert "all trials of its budget were told" in study("ask", "verbs", status=2)
    assert study("report", "verbs", "--out", root / "page.html").strip().endswith("page.html") and "Study verbs" in (root / "page.html").read_text()
    assert "no study 'none'" in study("show", "none", status=2)
    assert "--server" in linac("study", "ask", "--help")


def test_leases(people: People, _):
    study = Study(people.service, people.ann, "leases", SPACE.replace("TRIALS", "3"))
    first = study.ask(lease="lost", seconds=1)
    assert study.ask(lease="lost", seconds=1)["trial"] == first["trial"] == 1, "asking again is no second trial"
    good(study.post("trials/1/report", lease="lost", seconds=1, step=1, value=3))
    other = study.ask(lease="other")
    assert other["trial"] == 2 and 0 < study.ask(lease="third")["seconds"] <= 600
    for trial in (2, 3):
        good(study.tell(trial, value=trial))
    waits = study.ask(lease="waits")
    if waits["trial"] is None:
        assert not waits["done"] and 1 <= waits["seconds"] <= 2
        time.sleep(waits["seconds"] + 0.1)
    again = study.ask(lease="waits", seconds=60)
    assert (again["trial"], again["point"], again["given"], again["step"]) == (1, first["point"], 2, 1), again
    assert study.post("trials/1/renew", lease="lost").status == study.post("trials/1/report", lease="lost", step=2, value=1).status == 409
    assert study.tell(1, lease="lost", value=1).status == 409, "the trial is another's now"
    good(study.post("trials/1/renew", lease="waits"))
    good(study.post("trials/1/report", lease="waits", step=1, value=4))  # reported before: it stays as it was
    good(study.tell(1, lease="waits", value=1.5))
    good(study.tell(1, lease="lost", value=1.5))
    for body in ({"value": 1.25}, {"state": "failed"}, {"value": "NaN"}):
        assert study.tell(1, lease="waits", **body).status == 409, body
    assert [line["value"] for line in study.lines() if line["op"] == "report"] == [3]
    # Lost as often as budget.attempts says, it has failed, and its place is free.
    study = Study(people.service, people.ann, "lost", SPACE.replace("trials: TRIALS", "trials: 1, attempts: 2"))
    for given in (1, 2):
        assert study.ask(lease=f"{given}", seconds=1)["given"] == given
        time.sleep(1.05)
    assert study.ask(lease="3")["trial"] == 2
    ended = study.get("/trials")["trials"][0]
    assert (ended["state"], ended["reason"]) == ("failed", "given 2 times, and lost each time")


def test_ends(people: People, _):
    study = Study(people.service, people.ann, "ends", SPACE.replace("TRIALS", "100") + "sampler: {name: random}\npruner: {name: median, startup: 2}\n")
    for i, (body, state) in enumerate([({"value": 1}, "complete"), ({"values": [2]}, "complete"), ({"value": "NaN"}, "infeasible"), ({"value": "-Infinity"}, "infeasible"),
                                       ({"state": "failed", "reason": "the host went"}, "failed"), ({"state": "infeasible", "reason": "out of memory"}, "infeasible"),
                                       ({"state": "pruned"}, "pruned")], 1):
        assert study.ask(lease="one")["trial"] == i
        stop = good(study.post(f"trials/{i}/report", step=1, value=i)).json()
        assert stop["stop"] == (i > 2) and ("median" in stop["reason"]) == stop["stop"], stop
        told = good(study.tell(i, **body)).json()
        assert told["state"] == state and told["reason"] == body.get("reason", told["reason"]), told
        assert good(study.tell(i, **body)).json() == told
    assert told["values"] == [] and study.get("/trials")["trials"][2]["values"] == ["NaN"]
    assert study.get()["states"] == {"complete": 2, "infeasible": 3, "failed": 1, "pruned": 1}
    several = Study(people.service, people.ann, "several", SPACE.replace("TRIALS", "9") + "objective: [{metric: a, direction: minimize}, {metric: b, direction: minimize}]\n")
    for values in ([1, 2], [2, 1], [3, 3]):
        good(several.tell(several.ask(lease="one")["trial"], values=values))
    assert [trial["values"] for trial in several.get()["front"]] == [[1, 2], [2, 1]]
    assert several.tell(several.ask()["trial"], value=1).status == 400


def test_attacks(people: People, _):
    service = people.service
    study = Study(service, people.ann, "annas", SPACE.replace("TRIALS", "50"), experiment="annas")
    study.ask(lease="x")
    gets = ["", "/trials", "/journal", "/record"]
    posts = [("ask", {}), ("trials/1/renew", {}), ("trials/1/report", {"step": 1, "value": 1}), ("trials/1/tell", {"value": 1})]

    def statuses(token):
        answers = [call(service, "GET", f"{STUDIES}/annas{path}", token=token) for path in gets]
        return [one.status for one in answers + [call(service, "POST", f"{STUDIES}/annas/{path}", body, token) for path, body in posts]]

    before = study.lines()
    assert statuses(None) == [401] * 8 and statuses(people.bob) == [404] * 8
    assert [one["name"] for one in good(call(service, "GET", STUDIES, token=people.bob)).json()["studies"]].count("annas") == 0
    assert call(service, "POST", STUDIES, {"name": "annas", "study": SPACE.replace("TRIALS", "50")}, people.bob).status == 403
    experiment = study.get()["experiment_id"]
    good(call(service, "PATCH", f"/api/v1/experiments/{experiment}", {"visibility": "shared"}, people.ann))
    assert statuses(people.bob) == [200] * 4 + [403] * 4
    assert "annas" in [one["name"] for one in good(call(service, "GET", STUDIES, token=people.bob)).json()["studies"]]
    assert call(service, "POST", STUDIES, {"name": "annas", "study": SPACE.replace("TRIALS", "50")}, people.bob).status == 409
    assert study.lines() == before

    def refused(text: str, *words: str, name: str = "fresh"):
        answer = call(service, "POST", STUDIES, {"name": name, "study": text}, people.ann)
        assert answer.status in (400, 422) and all(word in answer.body.decode() for word in words), (text[:80], answer.status, answer.body[:300])

    refused(SPACE.replace("TRIALS", "1000000"), "budget.trials", "20000")
    refused(SPACE.replace("TRIALS", "-1"), "budget.trials")
    refused("search: {" + ", ".join(f"x{i}: {{low: 0, high: 1}}" for i in range(300)) + "}", "256")
    refused(SPACE.replace("TRIALS", "5") + "objective: {command: 'touch /tmp/evil'}\n", "command")
    refused(SPACE.replace("TRIALS", "5") + "constraints: ['`x` > 9']\nmodel: {kind: mlp}\n")
    refused("search: {x: {low: .nan, high: 1}}", "x")
    refused("- 1")
    refused("a: &a [x, x]\nb: &b [*a, *a]\n" * 10)
    for name in ("", "a/b", "..", ".hidden", "a b", "é", "x" * 300, "a\n"):
        refused(SPACE.replace("TRIALS", "5"), "name", name=name)
    huge = http.client.HTTPConnection(service.url.split("//")[1], timeout=30)
    begin = time.monotonic()
    try:
        huge.request("POST", f"{STUDIES}/annas/ask", b'{"lease": "' + b"x" * 100_000_000 + b'"}', {"Authorization": f"Bearer {people.ann}"})
        assert huge.getresponse().status == 413
    except (BrokenPipeError, ConnectionResetError):
        pass  # it was told at the head of it
    assert time.monotonic() - begin < 5
    for path, body in [("ask", {"lease": "x" * 300}), ("ask", {"seconds": 0}), ("ask", {"seconds": 10**9}), ("trials/1/tell", {"value": "three"}), ("trials/1/tell", {"value": 1, "cost": -1}), ("trials/1/tell", {"value": 1, "cost": "NaN"}), ("trials/1/tell", {"value": 1, "cost": "Infinity"}), ("trials/1/tell", {}),
                       ("trials/1/tell", {"value": 1, "state": "pruned"}), ("trials/1/tell", {"state": "running"}), ("trials/1/tell", {"values": [1, 2]}),
                       ("trials/1/tell", {"state": "failed", "reason": "x" * 3000}), ("trials/-1/tell", {"value": 1}), ("trials/x/tell", {"value": 1}),
                       ("trials/1/report", {"step": 10**30, "value": 1})]:
        assert (answer := study.post(path, **body)).status == 400, (path, body, answer.status, answer.body)
    assert study.tell(999, value=1).status == 404
    assert study.lines() == before
    # Two tells at once, of different values: one of them counts. Many who ask at once have a trial each.
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        asked = list(pool.map(lambda i: study.ask(lease=f"at-once-{i}"), range(32)))
        assert sorted(one["trial"] for one in asked) == list(range(2, 34))
        told = list(pool.map(lambda i: (i, study.tell(2, value=i).status), range(16)))
    assert sorted(status for _, status in told) == [200] + [409] * 15
    winner = next(i for i, status in told if status == 200)
    assert study.get("/trials?after=1&limit=1")["trials"][0]["values"] == [winner]
    actions = {(entry["action"], entry["user"], entry["object"]) for entry in good(call(service, "GET", "/api/v1/audit?limit=1000", token=people.admin)).json()["entries"]}
    assert ("create_study", "ann", "study annas") in actions


def test_deletion(people: People, _):
    service = people.service
    delete = lambda name, token, query="": call(service, "DELETE", f"{STUDIES}/{name}{query}", token=token)  # noqa: E731
    words = {"LINAC_TOKEN": people.ann}
    study = Study(service, people.ann, "goes", SPACE.replace("TRIALS", "50"))
    study.ask(lease="x")
    assert delete("goes", None).status == 401 and delete("goes", people.bob, "?force=true").status == 404
    assert (answer := delete("goes", people.ann)).status == 409 and b"1 trial of 'goes'" in answer.body, answer.body
    assert study.ask(lease="x")["trial"] == 1, "it is as it was"
    assert "with force" in linac("study", "delete", "goes", "--server", service.url, status=2, **words)
    assert "goes: deleted" in linac("study", "delete", "goes", "--force", "--server", service.url, **words)
    assert study.post("trials/1/tell", lease="x", value=1).status == delete("goes", people.ann).status == call(service, "GET", f"{STUDIES}/goes", token=people.ann).status == 404
    assert "goes" not in [one["name"] for one in good(call(service, "GET", STUDIES, token=people.ann)).json()["studies"]]
    # The name is free, and what is made by it is another's: nothing of the first one is left, and its owner is told nothing.
    other = Study(service, people.bob, "goes", SPACE.replace("TRIALS", "50").replace("seed: 7", "seed: 8"))
    assert other.get()["trials"] == 0 and other.ask(lease="y")["trial"] == 1
    assert study.post("ask").status == study.post("trials/1/tell", value=1).status == delete("goes", people.ann, "?force=true").status == 404
    assert call(service, "GET", f"{STUDIES}/goes/journal", token=people.ann).status == call(service, "GET", f"{STUDIES}/goes/record", token=people.ann).status == 404
    good(other.tell(1, lease="y", value=1))
    good(delete("goes", people.admin))
    # Many who ask while it goes and comes again, as another's: each is answered by the one that was his, or not at all.
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for i in range(10):
            study = Study(service, people.ann, "often", SPACE.replace("TRIALS", "500"))
            asked = [pool.submit(study.post, "ask", lease=f"a-{i}-{k}") for k in range(12)]
            gone = pool.submit(delete, "often", people.ann, "?force=true")
            asked += [pool.submit(study.post, "ask", lease=f"b-{i}-{k}") for k in range(12)]
            good(gone.result())
            other = Study(service, people.bob, "often", SPACE.replace("TRIALS", "500"))
            statuses = {one.result().status for one in asked}
            assert statuses <= {200, 404}, statuses
            assert other.get()["trials"] == 0 and len(other.lines()) == 1, "nothing of ann's is in bob's"
            good(delete("often", people.bob))
    actions = {(entry["action"], entry["user"], entry["object"]) for entry in good(call(service, "GET", "/api/v1/audit?limit=1000", token=people.admin)).json()["entries"]}
    assert {("delete_study", "ann", "study goes"), ("delete_study", "admin", "study goes")} <= actions, actions


def test_unreadable(people: People, _):
    """A study of which lines are missing is no study any more, and can be deleted."""
    study = Study(people.service, people.ann, "torn", SPACE.replace("TRIALS", "50"))
    for i in range(3):
        study.ask(lease=f"{i}")
    with sqlite3.connect(people.service.folder / "books.db", timeout=30) as database:
        database.execute("DELETE FROM study_lines WHERE study = (SELECT number FROM studies WHERE name = 'torn') AND number > 1")
    people.service.kill()
    people.service.url = None
    people.service.__enter__()
    assert call(people.service, "GET", f"{STUDIES}/torn", token=people.ann).status >= 400
    good(call(people.service, "DELETE", f"{STUDIES}/torn?force=true", token=people.ann))
    assert Study(people.service, people.ann, "torn", SPACE.replace("TRIALS", "50")).ask()["trial"] == 1


def test_lost_write(people: People, _):
    """A line that the service took for written is not there: whoever builds on it is refused, nothing wrong is written, and the study goes on."""
    study = Study(people.service, people.ann, "behind", SPACE.replace("TRIALS", "60"))
    for i in range(5):
        study.ask(lease=f"before-{i}")
    with sqlite3.connect(people.service.folder / "books.db", timeout=30) as database:
        (number,) = database.execute("SELECT number FROM studies WHERE name = 'behind'").fetchone()
        database.execute("DELETE FROM study_lines WHERE study = ? AND number = 6", (number,))
        database.execute("DELETE FROM study_leases WHERE study = ? AND trial = 5", (number,))
        database.execute("UPDATE studies SET lines = 5 WHERE number = ?", (number,))
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda i: study.post("ask", lease=f"after-{i}"), range(32)))
    statuses = [answer.status for answer in answers]
    assert set(statuses) == {200, 503}, statuses
    given = [answer.json()["trial"] for answer in answers if answer.status == 200]
    given += [study.ask(lease=f"after-{i}")["trial"] for i, answer in enumerate(answers) if answer.status == 503]
    assert sorted(given) == list(range(5, 37)), sorted(given)
    assert "all 36 suggestions follow" in linac("study", "replay", "behind", "--server", people.service.url, LINAC_TOKEN=people.ann)


def test_kills(_, root: pathlib.Path, database: str | None = None):
    """Eight clients of the Python package while the service is killed ten times: each trial is told once, and all suggestions follow."""
    trials, kills, port = 160, 10, free_port()
    data = root / f"kills-{'other' if database else 'own'}"
    begin = lambda: Service("--requests-per-second", "100000", data=str(data), database=database, listen=f"127.0.0.1:{port}")  # noqa: E731
    with begin() as service:
        token = service.token
        study = Study(service, token, "killed", SPACE.replace("TRIALS", str(trials)) + "sampler: {name: tpe}\npruner: {name: median}\n")
        told, asked, ended = [], [], threading.Event()

        def carry_out():
            mine = Client(service.url, token).study("killed", seconds=60)
            for number, point, report in mine.trials():
                asked.append((number, json.dumps(point)))
                time.sleep(random.uniform(0.02, 0.1))
                report(1, loss(point))
                mine.tell(number, loss(point))
                told.append((number, loss(point)))

        clients = [threading.Thread(target=carry_out, daemon=True) for _ in range(8)]
        for one in clients:
            one.start()
        for _ in range(kills):
            time.sleep(random.uniform(0.05, 0.3))
            service.kill()
            service.url = None
            service.__enter__()
        for one in clients:
            one.join(timeout=60)
            assert not one.is_alive()
        assert len(asked) == len(set(asked)) == trials, "no trial was given twice, and none is missing"
        lines = study.lines()
        ends = {line["trial"]: line["values"][0] for line in lines if line["op"] == "tell"}
        assert len([line for line in lines if line["op"] == "tell"]) == len(ends) == trials and ends == dict(told)
        assert "all 160 suggestions follow" in linac("study", "replay", "killed", "--server", service.url, LINAC_TOKEN=token)


def main():
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    wanted = lambda test: word in test.__name__  # noqa: E731
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for kind, database in databases():
            with database as there, Service(database=there.url) as service:
                people = People(service)
                for test in filter(wanted, (test_same_as_a_folder, test_verbs, test_leases, test_ends, test_attacks, test_deletion, test_lost_write, test_unreadable)):
                    if test in (test_lost_write, test_unreadable) and there.url:
                        continue  # the test writes into SQLite's file
                    begin = time.monotonic()
                    (own := root / kind / test.__name__).mkdir(parents=True)
                    test(people, own)
                    print(f"{kind} {test.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
        if wanted(test_kills):
            begin = time.monotonic()
            test_kills(None, root)
            print(f"{test_kills.__name__}: {time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    main()
