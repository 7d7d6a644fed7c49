#!/usr/bin/env python3
"""linac steers a hyper-parameter task of PanDA: panda-client makes the task without sending it, and what iDDS would do with it is done here, until
the steering ends the search. Exit 77 without panda-client."""

import contextlib
import io
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

os.environ["PANDA_BEHIND_REAL_LB"] = "1"  # it would look a host up when it is imported
try:
    from pandaclient import PhpoScript
except ImportError as error:
    print(f"{error}: skipped")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "train")]
import runs  # noqa: E402
from runs import check  # noqa: E402

SPACE = {
    "lr": {"method": "loguniform", "dimension": {"low": 1e-5, "high": 1e-2}},
    "n": {"method": "uniformint", "dimension": {"low": 10, "high": 30}},
    "act": {"method": "categorical", "dimension": {"categories": ["relu", "elu"], "grid_search": 0}},
}
TASK = {
    "steeringExec": f"{runs.LINAC} study steer --in %IN --out %OUT --max-points %MAX_POINTS --num-points %NUM_POINTS",
    "steeringContainer": "docker://linac",
    "searchSpaceFile": "space.json",
    "evaluationExec": "python3 evaluate.py",
    "evaluationContainer": "docker://linac",
    "evaluationInput": "input.json",
    "evaluationOutput": "output.json",
    "trainingDS": "user.somebody.data",
    "maxPoints": 11,
    "nPointsPerIteration": 4,
}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-panda-") as folder:
        os.chdir(folder)
        pathlib.Path("conf.json").write_text(json.dumps(TASK))
        pathlib.Path("space.json").write_text(json.dumps(SPACE))
        pathlib.Path("evaluate.py").write_text("")
        with contextlib.redirect_stdout(io.StringIO()):
            task = PhpoScript.main(True, ["--loadJson", "conf.json", "--outDS", "user.somebody.hpo"], dry_mode=True)
        asked = task["hpoRequestData"]
        numbers, points = random.Random(1), []
        for _ in range(10):
            pathlib.Path("in.json").write_text(json.dumps({"points": points, "opt_space": asked["opt_space"]}))
            command = asked["arguments"].replace("%MAX_POINTS", str(asked["max_points"])).replace("%NUM_POINTS", str(asked["num_points_per_generation"]))
            subprocess.run(command.replace("%IN", "in.json").replace("%OUT", "out.json"), shell=True, check=True, env=runs.environment(), stdout=subprocess.DEVNULL)
            found = json.loads(pathlib.Path("out.json").read_text())
            if not found:
                break
            check(len(found) <= 4 and all(1e-5 <= one["lr"] <= 1e-2 and 10 <= one["n"] <= 30 and one["act"] in ("relu", "elu") for one in found), "points of the space")
            points += [[one, numbers.choice([0.0, 0.5, None])] for one in found]
        check(len(points) == 11 and len({json.dumps(point) for point, _ in points}) == 11, "as many as the task wants, none twice, and then the end")


if __name__ == "__main__":
    main()
