"""For rucio_server.py, by the Python that has Rucio: `database` makes one, `register` fills it through the server with what standard input says:
{"elements": {NAME: [TYPE, URL]}, "files": [{"scope", "name", "bytes", "adler32", "md5"?, "elements": [NAME, ...]}], "data_sets": {NAME: [file, ...]}},
TYPE being DISK or TAPE and URL http://HOST:PORT/PREFIX, where each file lies by its name."""

import contextlib
import json
import sys
import urllib.parse


def database() -> None:
    from rucio.db.sqla.util import build_database, create_base_vo, create_root_account

    with contextlib.suppress(Exception):  # it ends with a stamp of alembic's, which is not set up; the tables are there
        build_database()
    create_base_vo()
    create_root_account()


def register(wanted: dict) -> None:
    from rucio.client import Client

    client = Client()
    scopes = {one["scope"] for one in wanted["files"]}
    for scope in scopes:
        client.add_scope("root", scope)
    for name, (kind, url) in wanted["elements"].items():
        place = urllib.parse.urlsplit(url)
        client.add_rse(name, deterministic=False, rse_type=kind)
        every = {"read": 1, "write": 1, "delete": 1}
        client.add_protocol(name, {"scheme": place.scheme, "hostname": place.hostname, "port": place.port, "prefix": place.path,
                                   "impl": "rucio.rse.protocols.gfal.Default",
                                   "domains": {"lan": every, "wan": every | {"third_party_copy_read": 1, "third_party_copy_write": 1}}})
        client.set_local_account_limit("root", name, -1)
        said = ("scope", "name", "bytes", "adler32", "md5")
        client.add_replicas(rse=name, files=[{key: one[key] for key in said if key in one} | {"pfn": url + one["name"]}
                                             for one in wanted["files"] if name in one["elements"]])
    for name, files in wanted["data_sets"].items():
        scope = next(iter(scopes))
        client.add_dataset(scope, name)
        client.attach_dids(scope, name, [{"scope": scope, "name": one} for one in files])


if __name__ == "__main__":
    database() if sys.argv[1] == "database" else register(json.load(sys.stdin))
