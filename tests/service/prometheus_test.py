"""A real Prometheus reads /metrics: its tool finds nothing to mend, and a scrape with a token becomes series that can be asked for.
Exit 77 where there is no Prometheus."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

from lib.checks import wait_for
from lib.ports import free_port
from lib.server_process import Service

WAIT_S = 60


def get(url: str, token: str | None = None) -> str:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    return urllib.request.urlopen(request, timeout=10).read().decode()


def value(server: str, query: str) -> float | None:
    """Of the first series that answers `query`; None while there is none."""
    try:
        answer = json.loads(get(f"{server}/api/v1/query?" + urllib.parse.urlencode({"query": query})))
    except OSError:
        return None  # it starts still
    series = answer["data"]["result"]
    return float(series[0]["value"][1]) if series else None


def becomes(server: str, query: str, holds) -> float:
    found = []

    def asked() -> bool:
        found.append(value(server, query))
        return found[-1] is not None and holds(found[-1])

    wait_for(asked, lambda: f"{query} is {found[-1]}", WAIT_S, 0.2)
    return found[-1]


def lint(text: str) -> None:
    done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True, timeout=30)
    if done.returncode != 0 or done.stderr:
        sys.exit(f"promtool: exit status {done.returncode}: {done.stdout}{done.stderr}")


def scraped(service: Service, folder: pathlib.Path) -> None:
    (folder / "token").write_text(service.token)
    address = service.url.removeprefix("http://")
    (folder / "prometheus.yml").write_text(f"""
global: {{scrape_interval: 1s}}
scrape_configs:
  - job_name: linac
    authorization: {{credentials_file: {folder}/token}}
    static_configs: [{{targets: ['{address}']}}]
  - job_name: without_token
    static_configs: [{{targets: ['{address}']}}]
""")
    port = free_port()
    server = f"http://127.0.0.1:{port}"
    with open(folder / "log", "wb") as log:
        prometheus = subprocess.Popen(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/series",
                                       f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
    try:
        becomes(server, 'up{job="linac"}', lambda up: up == 1)
        becomes(server, 'up{job="without_token"}', lambda up: up == 0)
        requests = becomes(server, 'sum(linac_requests_total{route="healthz",status="200"})', lambda count: count >= 3)
        becomes(server, 'histogram_quantile(0.99, sum by (le) (linac_request_seconds_bucket{route="healthz"}))', lambda seconds: 0 < seconds < 10)
        print(f"ok    scraped: {requests:.0f} requests of /healthz")
        get(f"{service.url}/healthz")
        becomes(server, 'sum(linac_requests_total{route="healthz",status="200"})', lambda count: count > requests)
        print("ok    and the next request is counted")
    finally:
        prometheus.terminate()
        prometheus.wait(timeout=30)


def main() -> int:
    if not (shutil.which("prometheus") and shutil.which("promtool")):
        print("no Prometheus: skipped")
        return 77
    with tempfile.TemporaryDirectory(prefix="linac-prometheus-") as folder, Service() as service:
        for _ in range(3):
            get(f"{service.url}/healthz")
        lint(get(f"{service.url}/metrics", service.token))
        print("ok    promtool finds nothing to mend")
        scraped(service, pathlib.Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
