"""A service (`linac serve`) as an object: what is in its tracking database as pandas' tables, files of runs, models, studies.

    client = linac.Client()                                  # as `linac login` left it, or LINAC_SERVER and LINAC_TOKEN
    best = client.runs("metrics.auc > 0.9", order_by="metrics.auc DESC").iloc[0]
    client.curves(best["id"], "loss", "test/loss").plot()

AsyncClient has the same calls to be awaited. Whatever is refused or does not answer is a linac.ServiceError with the service's text."""

import asyncio
import os
import pathlib
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from linac import _service_study
from linac._columns import refused
from linac._service import Service, ServiceError, named
from linac._service_study import ServiceStudy

if TYPE_CHECKING:
    import pandas

__all__ = ["AsyncClient", "AsyncStudy", "Client", "ServiceError", "ServiceStudy"]

_PAGE = 1000
_ID_DIGITS = 32
_TIMES = ("created", "started", "ended", "updated")


class Client:
    """`server`: its address; without, as the program's verbs find it: LINAC_SERVER, else the last login, else this host's. `token`: without, from
    LINAC_TOKEN, else the login. LINAC_CA_FILE names a certificate. timeout_s: of a connection, and of each wait for bytes. Thread-safe."""

    def __init__(self, server: "str | None" = None, token: "str | None" = None, timeout_s: float = 60.0) -> None:
        self.service = Service(server, token, timeout_s)

    def __repr__(self) -> str:
        return f"linac.Client({self.service.url!r})"

    def me(self) -> dict[str, Any]:
        """Whose token this is: user, role."""
        return self.service.json("GET", "/api/v1/me")

    # --- Runs ---

    def runs(
        self, filter: str = "", *, order_by: "str | Sequence[str]" = (), experiments: "Sequence[int | str]" = (), view: str = "active", limit: int = 1000
    ) -> "pandas.DataFrame":  # fmt: skip
        """A row for each run, the newest first, or as order_by says: id, name, state, times, `metrics.NAME` (the last value), `params.NAME`,
        `tags.NAME`. filter: "metrics.auc > 0.9 AND params.lr = '0.001'". experiments: names or numbers."""
        known = {one["name"]: one["id"] for one in self._pages("experiments", _PAGE)} if any(isinstance(one, str) for one in experiments) else {}
        for one in experiments:
            if isinstance(one, str) and one not in known:
                raise refused("client", f"no experiment '{one}'", f"there are {', '.join(sorted(known)) or 'none'}")
        numbers = [str(known.get(one, one)) for one in experiments]
        order = [order_by] if isinstance(order_by, str) else list(order_by)
        return _table([_run_row(run) for run in self._pages("runs", limit, filter=filter or None, order_by=order, experiment=numbers, view=view)])

    def run(self, run: str) -> dict[str, Any]:
        """One with its parameters, tags, metrics, inputs and each change of state. `run`: its id, or its name; of several with it the newest."""
        return self.service.json("GET", f"/api/v1/runs/{self._id(run)}")

    def curves(self, run: str, *keys: str, stretches: int = 5000) -> "pandas.DataFrame":
        """A column for each metric (without keys: all), a row for each step. Of a curve with more steps than `stretches` the last value of each
        part of so many."""
        import pandas as pd

        answer = self.service.json("GET", f"/api/v1/runs/{self._id(run)}/curves", query={"key": keys, "stretches": stretches})
        step, last = answer["fields"].index("last_step"), answer["fields"].index("last")
        series = {curve["key"]: pd.Series({part[step]: float(part[last]) for part in curve["stretches"]}, dtype=float) for curve in answer["curves"]}
        return pd.DataFrame(series).sort_index().rename_axis("step")

    def log(self, run: str) -> str:
        """All that it has printed."""
        identity, text, begin = self._id(run), "", 0
        while piece := b"".join(self.service.pieces("GET", f"/api/v1/runs/{identity}/log", query={"from": begin})):
            text, begin = text + piece.decode("utf-8", "replace"), begin + len(piece)
        return text

    def cancel(self, run: str) -> dict[str, Any]:
        """Out of the queue; one that runs writes a checkpoint and stops."""
        return self.service.json("POST", f"/api/v1/runs/{self._id(run)}/cancel", {})

    def resume(self, run: str) -> dict[str, Any]:
        """Back into the queue, to go on from its newest checkpoint."""
        return self.service.json("POST", f"/api/v1/runs/{self._id(run)}/resume", {})

    # --- Files of runs ---

    def artifacts(self, run: str, folder: str = "") -> "pandas.DataFrame":
        """What lies in the run's folder, or a folder of it: path, folder (whether it is one), bytes."""
        answer = self.service.json("GET", f"/api/v1/runs/{self._id(run)}/files", query={"path": folder or None})
        return _table(answer["files"])

    def download(self, run: str, path: str, to: "str | os.PathLike[str] | None" = None) -> pathlib.Path:
        """A file of the run's folder; into `to`, without it under its own name here. It is whole there, or not at all."""
        target = pathlib.Path(to if to is not None else pathlib.PurePosixPath(path).name)
        try:
            with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as part:
                try:
                    for piece in self.service.pieces("GET", f"/api/v1/runs/{self._id(run)}/files/{named(path)}", most=1 << 62):
                        part.write(piece)
                    part.close()
                    os.replace(part.name, target)
                except BaseException:
                    os.unlink(part.name)
                    raise
        except OSError as error:
            raise refused("client", f"{target} cannot be written ({error.strerror or error})", "make room, or give `to` another place", 4) from error
        return target.absolute()

    def upload(self, run: str, path: str, file: "str | os.PathLike[str]") -> None:
        """Adds `file` to the run's folder, as `path` there."""
        if not os.path.isfile(file):
            raise refused("client", f"{os.fspath(file)} is no file", "name one")
        with open(file, "rb") as source:
            b"".join(self.service.pieces("PUT", f"/api/v1/runs/{self._id(run)}/files/{named(path)}", source))

    # --- Experiments, models, studies ---

    def experiments(self) -> "pandas.DataFrame":
        return _table([_times(one) for one in self._pages("experiments", 100_000)])

    def models(self, filter: str = "") -> "pandas.DataFrame":
        """The registered models, with their aliases."""
        return _table([_times(one) for one in self._pages("models", 100_000, filter=filter or None)])

    def versions(self, model: str) -> "pandas.DataFrame":
        """Of one model, the newest first: version, source, run, aliases, tags."""
        quoted = model.replace("'", "''")
        return _table([_times(one) for one in self._pages("versions", 100_000, route="model-versions", filter=f"name = '{quoted}'")])

    def studies(self) -> "pandas.DataFrame":
        return _table([_times(one) for one in self.service.json("GET", "/api/v1/studies", query={"limit": _PAGE})["studies"]])

    def study(self, name: str, *, seconds: int = 600, patience_s: float = 3600.0) -> ServiceStudy:
        """One whose trials are to be asked for; `seconds`: of a trial's lease. Nothing is asked yet."""
        return ServiceStudy(self.service, name, seconds, patience_s)

    def create_study(self, name: str, study: "str | Mapping[str, Any]", *, experiment: str = "", seconds: int = 600) -> ServiceStudy:
        """`study`: the text of its file, or the same as a dict: search, objective, sampler, pruner, budget, seed. The same one again is no error."""
        import json

        text = study if isinstance(study, str) else json.dumps(study)  # JSON is YAML
        self.service.json("POST", "/api/v1/studies", {"name": name, "study": text, "experiment": experiment})
        return self.study(name, seconds=seconds)

    def _id(self, run: str) -> str:
        if len(run) == _ID_DIGITS and all(c in "0123456789abcdef" for c in run):
            return run
        quoted = run.replace("'", "''")
        found = self.service.json("GET", "/api/v1/runs", query={"filter": f"attributes.run_name = '{quoted}'", "limit": 1})["runs"]
        if not found:
            raise refused("client", f"no run is called '{run}'", "give its id; client.runs() lists those that you may read")
        return str(found[0]["id"])

    def _pages(self, what: str, limit: int, route: str = "", **query: Any) -> list[dict[str, Any]]:
        rows: "list[dict[str, Any]]" = []
        token: "str | None" = None
        while len(rows) < limit:
            page = self.service.json("GET", f"/api/v1/{route or what}", query=query | {"limit": min(_PAGE, limit - len(rows)), "page_token": token})
            rows += page[what]
            token = page.get("next") or None
            if token is None:
                break
        return rows


def _run_row(run: "Mapping[str, Any]") -> dict[str, Any]:
    row = _times({key: value for key, value in run.items() if key not in ("metrics", "parameters", "tags")})
    row |= {f"metrics.{key}": float(value["last"]) for key, value in run["metrics"].items()}
    row |= {f"params.{key}": value for key, value in run["parameters"].items()}
    return row | {f"tags.{key}": value for key, value in run["tags"].items()}


def _times(one: "Mapping[str, Any]") -> dict[str, Any]:
    """Milliseconds since 1970 as pandas's times, under the name without its unit; 0 is none."""
    import pandas as pd

    row = dict(one)
    for name in _TIMES:
        if f"{name}_ms" in row:
            ms = row.pop(f"{name}_ms")
            row[name] = pd.Timestamp(ms, unit="ms", tz="UTC") if ms else pd.NaT
    return row


def _table(rows: "list[dict[str, Any]]") -> "pandas.DataFrame":
    import pandas as pd

    return pd.DataFrame(rows)


class AsyncClient:
    """Client's calls to be awaited: `await client.runs()`. Each is the call of Client on a thread of its own, so what it takes and returns stands there.

        async for number, point, report in client.study("mine").trials():
            await study.tell(number, loss_of(point))
    """

    def __init__(self, server: "str | None" = None, token: "str | None" = None, timeout_s: float = 60.0) -> None:
        self._client = Client(server, token, timeout_s)

    def __getattr__(self, name: str) -> "Callable[..., Any]":
        return _awaited(self._client, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name in dir(Client) if not name.startswith("_"))]

    def study(self, name: str, *, seconds: int = 600, patience_s: float = 3600.0) -> "AsyncStudy":
        return AsyncStudy(self._client.study(name, seconds=seconds, patience_s=patience_s))

    async def create_study(self, *words: Any, **more: Any) -> "AsyncStudy":
        return AsyncStudy(await asyncio.to_thread(self._client.create_study, *words, **more))


class AsyncStudy:
    """ServiceStudy's calls to be awaited."""

    def __init__(self, study: ServiceStudy) -> None:
        self._study = study

    def __getattr__(self, name: str) -> "Callable[..., Any]":
        return _awaited(self._study, name)

    async def trials(self) -> "AsyncIterator[tuple[int, dict[str, Any], _service_study.Report]]":
        """As ServiceStudy.trials(); `report` is a plain function, for asyncio.to_thread()."""
        trials = self._study.trials()
        while (one := await asyncio.to_thread(next, trials, None)) is not None:
            yield one


def _awaited(whole: object, name: str) -> "Callable[..., Any]":
    call = getattr(whole, name)
    if name.startswith("_") or not callable(call):
        raise AttributeError(f"{type(whole).__name__} has no call '{name}'")

    async def on_a_thread(*words: Any, **more: Any) -> Any:
        return await asyncio.to_thread(call, *words, **more)

    on_a_thread.__name__, on_a_thread.__doc__ = name, call.__doc__
    return on_a_thread
