"""People for the attacks: a service with an admin and two members, ann and bob, each with tokens, and the things that ann has."""

import http.client
import json

from lib.server_process import Service


class Answer:
    def __init__(self, status: int, headers, body: bytes):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)


def call(service: Service, method: str, path: str, body=None, token: str | None = None, headers=None, source: str | None = None) -> Answer:
    """`source`: the address to come from."""
    host, port = service.url.split("//")[1].split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30, source_address=(source, 0) if source else None)
    return ask(connection, method, path, body, token, headers)


def ask(connection: http.client.HTTPConnection, method: str, path: str, body=None, token: str | None = None, headers=None) -> Answer:
    """And closes it. `body`: an object goes as JSON, bytes as they are."""
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    headers = dict(headers or {}) | ({"Authorization": f"Bearer {token}"} if token else {})
    try:
        connection.request(method, path, data, headers)
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()


def good(answer: Answer) -> Answer:
    assert answer.status == 200, (answer.status, answer.body)
    return answer


class People:
    """The admin's token is `admin`; ann's and bob's, who are members, `ann` and `bob`."""

    def __init__(self, service: Service):
        self.service, self.admin = service, service.token
        self.ann, self.bob = self.user("ann"), self.user("bob")

    def user(self, name: str, role: str = "member") -> str:
        good(call(self.service, "POST", "/api/v1/users", {"name": name, "role": role}, self.admin))
        return self.token(name)

    def token(self, name: str, by: str | None = None, **more) -> str:
        return good(call(self.service, "POST", f"/api/v1/users/{name}/tokens", more, by or self.admin)).json()["secret"]

    def mlflow(self, token: str, path: str, body: dict, method: str = "POST") -> Answer:
        return call(self.service, method, f"/api/2.0/mlflow/{path}", body, token)


FILES = "/api/2.0/mlflow-artifacts/artifacts"
PARTS = "/api/2.0/mlflow-artifacts/mpu"


class Things:
    """One of each that a member of the service can have."""

    def __init__(self, people: People, token: str, name: str):
        self.people, self.token, self.name = people, token, name
        make = lambda path, **body: good(people.mlflow(token, path, body)).json()  # noqa: E731
        self.experiment = make("experiments/create", name=f"{name}-experiment", tags=[{"key": "a", "value": "1"}])["experiment_id"]
        self.run = make("runs/create", experiment_id=self.experiment, run_name=f"{name}-run", tags=[{"key": "a", "value": "1"}])["run"]["info"]["run_id"]
        make("runs/log-batch", run_id=self.run, metrics=[{"key": "m", "value": 1, "timestamp": 1, "step": 0}], params=[{"key": "p", "value": "1"}])
        self.folder = f"{self.experiment}/{self.run}/artifacts"
        self.model = f"{name}-model"
        make("registered-models/create", name=self.model, tags=[{"key": "a", "value": "1"}])
        for _ in range(2):
            make("model-versions/create", name=self.model, source=f"mlflow-artifacts:/{self.folder}/model", run_id=self.run,
                 tags=[{"key": "a", "value": "1"}])
        make("registered-models/alias", name=self.model, alias="champion", version="1")
        self.logged = make("logged-models", experiment_id=self.experiment, source_run_id=self.run, tags=[{"key": "a", "value": "1"}])["model"]["info"]["model_id"]
        self.logged_folder = f"{self.experiment}/models/{self.logged}/artifacts"
        self.kept = f"models/{self.model}/0123"  # as `linac models register` keeps files
        for path in (f"{self.folder}/model/weights", f"{self.logged_folder}/weights", f"{self.kept}/weights"):
            good(call(people.service, "PUT", f"{FILES}/{path}", f"{name}'s".encode(), token))
        begun = good(call(people.service, "POST", f"{PARTS}/create/{self.folder}", {"path": "big", "num_parts": 2}, token)).json()
        self.upload, self.part = begun["upload_id"], begun["credentials"][0]
        self.ingested = good(call(people.service, "POST", "/api/v1/ingest", {"key": name.encode().hex()}, token)).json()["id"]
        self.study = f"{name}-study"
        good(call(people.service, "POST", "/api/v1/studies", {"name": self.study, "study": "search: {x: {low: 0, high: 1}}", "experiment": f"{name}-experiment"}, token))
        good(call(people.service, "POST", f"/api/v1/studies/{self.study}/ask", {"lease": name}, token))

    def seen(self) -> dict:
        """All that the service tells of them."""
        service, admin = self.people.service, self.people.admin
        get = lambda path: good(call(service, "GET", path, token=admin)).body.decode()  # noqa: E731
        told = {path: get(path) for path in (
            f"/api/2.0/mlflow/experiments/get?experiment_id={self.experiment}", f"/api/v1/runs/{self.run}", f"/api/v1/runs/{self.ingested}",
            f"/api/2.0/mlflow/metrics/get-history?run_id={self.run}&metric_key=m",
            f"/api/2.0/mlflow/registered-models/get?name={self.model}", f"/api/2.0/mlflow/model-versions/get?name={self.model}&version=1",
            f"/api/2.0/mlflow/model-versions/get?name={self.model}&version=2", f"/api/2.0/mlflow/logged-models/{self.logged}?allow_deleted=true",
            f"/api/2.0/mlflow/registered-models/alias?name={self.model}&alias=champion",
            f"/api/v1/studies/{self.study}", f"/api/v1/studies/{self.study}/journal")}
        told |= {path: get(f"{FILES}/{path}/weights") for path in (f"{self.folder}/model", self.logged_folder, self.kept)}
        told |= {f"list {path}": get(f"{FILES}?path={path}") for path in (self.folder, f"{self.folder}/model", self.logged_folder, self.kept)}
        tokens = json.loads(get(f"/api/v1/users/{self.name}/tokens"))["tokens"]
        told["tokens"] = [token["id"] for token in tokens]
        return told
