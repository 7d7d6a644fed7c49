"""schemathesis throws what /openapi.json allows, and what it does not, at a service: never an internal error, never the end of it.

openapi_test.py [EXAMPLES] [--all]: so many for each route (default 15); on PostgreSQL, which is the stricter one, where it is
installed, else on SQLite; --all: on both."""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from server_process import Service, databases  # noqa: E402


def statuses(service: Service) -> dict[int, int]:
    """How many answers had which status, as the service counted them."""
    request = urllib.request.Request(f"{service.url}/metrics", headers={"Authorization": f"Bearer {service.token}"})
    counts: collections.Counter = collections.Counter()
    for status, count in re.findall(r'linac_requests_total{.*status="(\d+)"} (\d+)', urllib.request.urlopen(request, timeout=10).read().decode()):
        counts[int(status)] += int(count)
    return dict(sorted(counts.items()))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("examples", nargs="?", default="15")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    failed = 0
    program = pathlib.Path(sys.executable).parent / "schemathesis"
    at_hand = list(databases())
    for kind, database in at_hand if options.all else at_hand[-1:]:
        with database, Service(database=database.url) as service:
            words = [str(program), "run", f"{service.url}/openapi.json", "--header", f"Authorization: Bearer {service.token}",
                     "--checks", "not_a_server_error", "--max-examples", options.examples, "--phases", "examples,coverage,fuzzing",
                     "--exclude-name", "watch_run", "--request-timeout", "10", "--seed", "1", "--no-color",
                     "--suppress-health-check", "all"]
            done = subprocess.run(words, env={**os.environ, "PYTHONUTF8": "1"}, capture_output=True, text=True, timeout=900,
                                  cwd=service.folder)  # where it leaves what it has learned
            answers = statuses(service)
            print(f"{kind}: exit {done.returncode}, answers by status: {answers}", flush=True)
            # Most of what it sends has to get past the checks, or the handlers were not reached.
            if done.returncode != 0 or any(status >= 500 for status in answers) or answers.get(200, 0) < 100:
                failed += 1
                print(done.stdout[-12000:], done.stderr[-2000:])
    print("FAILED" if failed else "ok")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
