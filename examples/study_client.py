#!/usr/bin/env python3
"""Trials of a study at a service, in Python's standard library: `study_client.py URL STUDY`, with the token in LINAC_TOKEN. Put your own evaluation in.

Any number may run at once. One that is lost is no failed trial: after its lease another is given the point. While the service is away a request is
repeated, which is harmless: the lease names who asks, and the same tell twice is one."""

import json, math, os, secrets, sys, time, urllib.error, urllib.request  # noqa: E401


def words(value: float):
    """JSON has no NaN and no infinities; they are results all the same."""
    return value if math.isfinite(value) else "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


class Study:
    def __init__(self, url: str, name: str, token: str = "", seconds: int = 600):
        self.url, self.token, self.lease = f"{url}/api/v1/studies/{name}", token, {"lease": secrets.token_hex(16), "seconds": seconds}

    def post(self, path: str, **body) -> dict:
        request = urllib.request.Request(f"{self.url}/{path}", json.dumps(self.lease | body).encode(), {"Authorization": f"Bearer {self.token}"})
        while True:
            try:
                return json.load(urllib.request.urlopen(request, timeout=60))
            except urllib.error.HTTPError as error:  # it has answered
                if error.code not in (429, 503):
                    raise RuntimeError(json.load(error).get("detail")) from error
            except (OSError, ValueError):  # it is away
                pass
            time.sleep(0.2)

    def trials(self):
        """Until all are told: (number, point, report); `report(step, value)` says whether to stop."""
        while not (asked := self.post("ask")).get("done"):
            if asked["trial"] is None:
                time.sleep(asked["seconds"])
                continue
            number = asked["trial"]
            yield number, asked["point"], lambda step, value: self.post(f"trials/{number}/report", step=step, value=words(value))["stop"]

    def tell(self, number: int, *values: float, state: str = "complete", reason: str = "") -> None:
        self.post(f"trials/{number}/tell", values=[words(value) for value in values], state=state, reason=reason)


if __name__ == "__main__":
    study = Study(sys.argv[1], sys.argv[2], os.environ.get("LINAC_TOKEN", ""))
    for number, point, report in study.trials():
        study.tell(number, sum(value * value for value in point.values() if not isinstance(value, str)))
