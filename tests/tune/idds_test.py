#!/usr/bin/env python3
"""A hyper-parameter task between linac and iDDS itself: its catalog (on SQLite), what it makes of a task of PanDA (ATLASHPOWork), its REST routes and its
HPOClient. linac is the steering that iDDS starts, and evaluates the points that the client brings. Exit 77 without iDDS or panda-client."""

import hashlib
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

from lib.checks import check
from panda_test import docker_for, exec_of, linac, phpo

FOLDER = tempfile.TemporaryDirectory(prefix="linac-idds-")
ROOT = pathlib.Path(FOLDER.name)
(ROOT / "idds.cfg").write_text(f"[common]\nlogdir={ROOT}\nloglevel=ERROR\n[database]\ndefault=sqlite:///{ROOT}/idds.db\n[rest]\nhost=http://127.0.0.1/idds\n")
os.environ["IDDS_CONFIG"] = str(ROOT / "idds.cfg")
try:
    import flask
    from idds.atlas.workflowv2.atlashpowork import ATLASHPOWork
    from idds.client.hpoclient import HPOClient
    from idds.common.constants import CollectionRelationType, ContentRelationType, ContentStatus, RequestType, TransformType
    from idds.core import catalog
    from idds.orm import requests, transforms
    from idds.orm.base import models, session
    from idds.rest.v1 import hyperparameteropt
    from sqlalchemy import event
    from werkzeug.serving import make_server
except ImportError as error:
    print(f"{error}: skipped")
    sys.exit(77)

WORKLOAD = 42
STUDY = """
search:
  lr: {kind: log, low: 1.0e-5, high: 1.0e-2}
  n: {kind: integer, low: 10, high: 30}
  act: {kind: categorical, choices: [relu, "é\\"lu"]}
objective: {command: "python3 EVALUATE"}
budget: {trials: 23}
parallel: 3
seed: 4
"""
# The first loss is 0, the next ones are tiny, negative and large: in the client's requests they are part of the address.
EVALUATE = """import json
point = json.load(open("input.json"))
losses = COUNT.parent / "losses"
count = len(losses.read_text().split()) if losses.exists() else 0
loss = [0.0, 1e-300, -0.1234567890123456, 1e22][count] if count < 4 else point["lr"] - point["n"]
losses.open("a").write(f"{loss!r}\\n")
json.dump({"status": 0, "loss": loss}, open("output.json", "w"))
"""


class Idds:
    """A task at iDDS, from its request on: what its agents do with it, one after the other."""

    def __init__(self, asked: dict, name: str):
        self.work = ATLASHPOWork(executable=asked["executable"], arguments=asked["arguments"], sandbox=asked["sandbox"], output_json=asked["output_json"],
                                 opt_space=asked["opt_space"], max_points=asked["max_points"], num_points_per_iteration=asked["num_points_per_generation"])
        self.work.set_agent_attributes({"atlashpowork": {"workdir": str(ROOT / name)}})
        self.work.set_workdir(str(ROOT / name))
        self.request = requests.add_request(scope="HPO", name=name, requester="panda", request_type=RequestType.HyperParameterOpt, workload_id=WORKLOAD, request_metadata=asked)
        self.transform = transforms.add_transform(self.request, WORKLOAD, TransformType.HyperParameterOpt)
        self.collection, = self.work.get_output_collections()
        self.collection.coll_id = catalog.add_collection(self.request, WORKLOAD, "HPO", name, transform_id=self.transform, relation_type=CollectionRelationType.Output)
        self.work.get_input_collections()[0].coll_id = self.collection.coll_id
        self.maps, self.rounds = {}, 0

    def steer(self) -> list:
        """The next points of linac, as iDDS takes them over; none: it has all that it wants."""
        for content in catalog.get_contents_by_coll_id_status(coll_id=self.collection.coll_id):
            self.maps[content["map_id"]]["outputs"][0]["status"] = content["status"]
        assert self.work.get_unfinished_points(self.maps) == 0
        self.work.points_to_generate = min(self.work.num_points_per_iteration, self.work.max_points - self.work.finished_points)
        if self.work.points_to_generate <= 0:
            return []
        self.rounds += 1
        processing = {"processing_id": self.rounds, "request_id": self.request, "workload_id": WORKLOAD}
        script, error = self.work.generate_processing_script(processing)
        assert script, error
        # iDDS's script has the arguments in a line without quotes first, and the shell says so.
        subprocess.run([script], cwd=self.work.get_working_dir(processing), env=docker_for(ROOT), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
        points, error = self.work.parse_processing_outputs(processing)
        assert points, error
        new = self.work.generate_new_input_output_maps(self.maps, points)
        self.maps |= new
        catalog.add_contents([{**{key: content[key] for key in ("coll_id", "scope", "name", "min_id", "max_id", "path", "content_type", "content_metadata")},
                               "request_id": self.request, "workload_id": WORKLOAD, "transform_id": self.transform, "map_id": number,
                               "content_relation_type": ContentRelationType.Output, "status": ContentStatus.New} for number, one in new.items() for content in one["outputs"]])
        return points


def serve() -> str:
    """iDDS's routes of hyper-parameters; who may call them is left to the web server in front of them."""
    engine = session.get_engine(echo=False)
    event.listen(engine, "connect", lambda one, _: one.create_function("md5", 1, lambda text: hashlib.md5(str(text).encode()).hexdigest(), deterministic=True))
    models.register_models(engine)
    app = flask.Flask("idds")
    app.register_blueprint(hyperparameteropt.get_blueprint(), url_prefix="/idds")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, app)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/idds"


def task_of(name: str, **more: object) -> dict:
    """Of a folder that linac has made, with what somebody adds to it."""
    linac("study", "panda", "tune.yaml", "--out", name, "--container", "docker://registry.example.org/linac:1.0", cwd=ROOT)
    conf = json.loads((ROOT / name / "conf.json").read_text())
    (ROOT / name / "conf.json").write_text(json.dumps(conf | more))
    return phpo(ROOT / name)


def whole_search(client: HPOClient) -> None:
    task = task_of("hpo")
    idds, given, losses = Idds(task["hpoRequestData"], "whole"), [], []
    while points := idds.steer():
        brought = [one for one in client.get_hyperparameters(WORKLOAD, idds.request) if one["loss"] is None]
        check([one["parameters"] for one in brought] == points and len(points) <= 3, "the client brings linac's points, to the bit")
        for one in brought:
            (ROOT / "hpo" / "input.json").write_text(json.dumps(one["parameters"]))
            linac(*exec_of(task).split()[1:], cwd=ROOT / "hpo")
            outcome = json.loads((ROOT / "hpo" / "output.json").read_text())
            assert outcome["status"] == 0, outcome
            assert client.update_hyperparameter(WORKLOAD, idds.request, one["id"], outcome["loss"])["status"] == 0
            given.append(one["parameters"])
            losses.append(outcome["loss"])
    told = client.get_hyperparameters(WORKLOAD, idds.request)
    check([(one["parameters"], one["loss"]) for one in told] == list(zip(given, losses)) and len(told) == 23, "all points and losses are at iDDS, to the bit")
    check(losses[:4] == [0.0, 1e-300, -0.1234567890123456, 1e22], "a loss of 0 among them")
    last = json.loads((ROOT / "whole" / f"processing_{idds.rounds}" / "idds_input.json").read_text())
    check(last["points"] == [list(pair) for pair in zip(given, losses)][:21], "and the steering was told each loss")


def segments(client: HPOClient) -> None:
    """Two models in one task: a space of each, and their numbers in the points."""
    (ROOT / "segments.json").write_text(json.dumps([{"name": "a", "files": ["f1"]}, {"name": "b", "files": ["f2"]}]))
    asked = task_of("two", segmentSpecFile=str(ROOT / "segments.json"), trainingDS="user.somebody.data")["hpoRequestData"]
    idds = Idds(asked, "segmented")
    points = idds.steer()
    check(sorted(point[0] for point in points) == [0, 0, 1] and all(set(point[1]) == {"lr", "n", "act"} for point in points), "models take turns, by phpo's numbers")
    check([one["parameters"] for one in client.get_hyperparameters(WORKLOAD, idds.request)] == points, "and iDDS keeps them")


def main() -> None:
    with FOLDER:
        (ROOT / "evaluate.py").write_text("import pathlib\nCOUNT = pathlib.Path(__file__)\n" + EVALUATE)
        (ROOT / "tune.yaml").write_text(STUDY.replace("EVALUATE", str(ROOT / "evaluate.py")))
        client = HPOClient(host=serve(), auth={"auth_type": "oidc", "oidc_token": "unused", "vo": "unused"})
        whole_search(client)
        segments(client)


if __name__ == "__main__":
    main()
