"""Requests to a service (`linac serve`) in Python's standard library: who one is, what it answers, and its errors as exceptions. The rules are those
of the program's verbs: the same login, no token unencrypted to another host, no redirect followed, bounded answers and times. Thread-safe."""

import functools
import hashlib
import http.client
import ipaddress
import json
import os
import pathlib
import re
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from typing import IO, Any, NamedTuple

from linac._program import LinacError

DEFAULT_SERVER = "http://127.0.0.1:5000"
_ANSWER_BYTES_MAX = 256 << 20
_PIECE_BYTES = 1 << 20
_ENVIRONMENT, _DATA, _USER = 4, 3, 2  # exit statuses of docs/reference/commands.md
_AGAIN = (429, 503)  # it asks to be asked again
_PAUSE_S = (0.2, 5.0)  # between tries, the first and the longest


Query = Mapping[str, Any] | None


class ServiceError(LinacError):
    """What a service refuses, with its text; or that none answers. `status`: of HTTP, 0 where nothing was answered. `code`: its word for it."""

    def __init__(self, message: str, exit_status: "int | None", status: int = 0, code: str = "") -> None:
        super().__init__(message, exit_status)
        self.status, self.code = status, code

    def __reduce__(self) -> "tuple[type[ServiceError], tuple[Any, ...]]":
        return type(self), (str(self), self.exit_status, self.status, self.code)

    @property
    def is_passing(self) -> bool:
        """Whether the same request may be answered later."""
        return self.status == 0 or self.status >= 500 or self.status == 429


class Login(NamedTuple):
    server: str
    token: str
    ca_file: str


def login(server: "str | None" = None, token: "str | None" = None) -> Login:
    """`server`, else LINAC_SERVER, else the last login, else the one of this host; its token from LINAC_TOKEN, else from the login."""
    token = token or os.environ.get("LINAC_TOKEN", "")
    server = server or os.environ.get("LINAC_SERVER", "")
    kept = _kept() if not server or not token else {}
    server = _address(server or str(kept.get("server") or DEFAULT_SERVER))
    tokens = kept.get("tokens")
    token = token or str((tokens if isinstance(tokens, dict) else {}).get(server, ""))
    if any(not 32 < ord(c) < 127 for c in token):
        raise ServiceError("[client] the token has blanks or control characters; give it as the service printed it", _USER)
    if token and server.startswith("http://") and not _is_loopback(server):
        raise ServiceError(f"[client] the token would travel unencrypted to {server}; use https:// (linac serve --tls-cert), or a tunnel", _USER)
    return Login(server, token, os.environ.get("LINAC_CA_FILE", ""))


def _kept() -> dict[str, Any]:
    """What `linac login` has written."""
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    path = pathlib.Path(folder) / "linac" / "login.json"
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ServiceError(f"[login] {path}: damaged ({error}); remove it and log in again", _USER) from error
    return found if isinstance(found, dict) else {}


def _certificate(login: Login) -> str:
    """The fingerprint of its service's certificate that the token ends with, at a loopback address without TLS, whose port any program of the host
    can take; "" for a token that names none, and with LINAC_UNPROVEN=1."""
    if not login.server.startswith("http://") or not _is_loopback(login.server) or os.environ.get("LINAC_UNPROVEN") == "1":
        return ""
    named = re.fullmatch(r"linac_[^_]+_[^_]+_([0-9a-f]{64})", login.token)
    return named[1] if named else ""


def _address(server: str) -> str:
    server = server.rstrip("/")
    if "://" not in server:
        server = "http://" + server
    parts = urllib.parse.urlsplit(server)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in server or len(server) > 2000 or any(ord(c) <= 32 for c in server):
        raise ServiceError(f"[client] {server!r} is no address of a service; expected e.g. {DEFAULT_SERVER}", _USER)
    return server


def _is_loopback(server: str) -> bool:
    host = urllib.parse.urlsplit(server).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _by_tls(server: str) -> str:
    """The same place, spoken to by TLS."""
    parts = urllib.parse.urlsplit(server)
    return parts._replace(scheme="https", netloc=parts.netloc if re.search(r":\d+$", parts.netloc) else f"{parts.netloc}:80").geturl()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Who follows one takes the token along, to whatever host."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _Proven(http.client.HTTPSConnection):
    """To whoever proves to have the one certificate, whatever is in it; nobody else is sent anything."""

    def __init__(self, *words: Any, certificate: str, **more: Any) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        super().__init__(*words, context=context, **more)
        self._certificate = certificate

    def connect(self) -> None:
        try:
            super().connect()
            shown, why = self.sock.getpeercert(binary_form=True), "another certificate"
        except OSError as error:
            if self.sock is None:  # nobody listens
                raise
            shown, why = None, str(error)
        if hashlib.sha256(shown or b"").hexdigest() != self._certificate:
            self.close()
            raise ServiceError(
                f"[client] who answers at {self.host}:{self.port} did not prove to be the service of this token, and was not sent it ({why}); a service with "
                "a new key makes new tokens (linac serve token --new), and where a proxy of this host speaks for it LINAC_UNPROVEN=1 sends them all the same",
                _ENVIRONMENT,
            )


class _ProvenHandler(urllib.request.HTTPSHandler):
    def __init__(self, certificate: str) -> None:
        super().__init__()
        self._connection = functools.partial(_Proven, certificate=certificate)

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._connection, request)


def named(path: str) -> str:
    """A name, or a path of several, as a part of an address."""
    return urllib.parse.quote(path, safe="/")


class Service:
    """Requests as one user. timeout_s: of a connection, and of each wait for bytes; a whole answer has ten times as long."""

    def __init__(self, server: "str | None" = None, token: "str | None" = None, timeout_s: float = 60.0) -> None:
        self.login, self.timeout_s = login(server, token), timeout_s
        handlers: "list[urllib.request.BaseHandler]" = [_NoRedirect()]
        if _is_loopback(self.login.server):
            handlers.append(urllib.request.ProxyHandler({}))  # a service of one's own host is not behind a proxy
        certificate = _certificate(self.login)
        self._address = _by_tls(self.login.server) if certificate else self.login.server
        if certificate:
            handlers.append(_ProvenHandler(certificate))
        elif self.login.server.startswith("https://"):
            try:
                handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=self.login.ca_file or None)))
            except (OSError, ssl.SSLError) as error:
                raise ServiceError(f"[client] LINAC_CA_FILE: {self.login.ca_file} cannot be used ({error}); name a PEM file", _USER) from error
        self._opener = urllib.request.build_opener(*handlers)

    @property
    def url(self) -> str:
        return self.login.server

    def json(self, method: str, path: str, body: "Mapping[str, Any] | None" = None, query: "Query" = None, patience_s: float = 0.0) -> dict[str, Any]:
        """The answer, an object. query: values, lists of them, or None for what is left out. patience_s: so long the same request is repeated where the service is away, or asks for it; only for requests that
        may be made twice."""
        until, pause = time.monotonic() + patience_s, _PAUSE_S[0]
        while True:
            try:
                return self._json(method, path, body, query)
            except ServiceError as error:
                if not (error.status in _AGAIN or error.status == 0 and error.exit_status == _ENVIRONMENT) or time.monotonic() + pause > until:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, _PAUSE_S[1])

    def _json(self, method: str, path: str, body: "Mapping[str, Any] | None", query: "Query") -> dict[str, Any]:
        data = None if body is None else json.dumps(body, ensure_ascii=True, allow_nan=False).encode()
        raw = b"".join(self.pieces(method, path, data, "application/json", query))
        try:
            found = json.loads(raw)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise ServiceError(f"[client] {self.url} answers, but not as a linac service does; is that its address?", _ENVIRONMENT)
        return found

    def pieces(
        self, method: str, path: str, data: "bytes | IO[bytes] | None" = None, kind: str = "", query: "Query" = None, most: int = _ANSWER_BYTES_MAX
    ) -> "Iterator[bytes]":  # fmt: skip
        """The answer in pieces; ServiceError for each status but 2xx, and where there is none. `path`: names in it are quoted by named()."""
        pairs = [(key, each) for key, value in (query or {}).items() if value is not None for each in (value if isinstance(value, (list, tuple)) else [value])]
        url = self._address + path + ("?" + urllib.parse.urlencode(pairs) if pairs else "")
        request = urllib.request.Request(url, data, method=method)
        if self.login.token:
            request.add_header("Authorization", f"Bearer {self.login.token}")
        if data is not None:
            request.add_header("Content-Type", kind or "application/octet-stream")
        if data is not None and not isinstance(data, bytes):
            request.add_header("Content-Length", str(os.fstat(data.fileno()).st_size))
        deadline = time.monotonic() + 10 * self.timeout_s
        try:
            with self._opener.open(request, timeout=self.timeout_s) as answer:
                yield from self._read(answer, deadline, most)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error.code, self._all(error, deadline)) from None
        except (OSError, http.client.HTTPException, ValueError) as error:  # URLError is an OSError
            if isinstance(error, ValueError) and not isinstance(error, OSError):
                raise ServiceError(f"[client] {self.url}: the request cannot be sent ({error})", _USER) from error
            why = getattr(error, "reason", None) or error
            raise ServiceError(f"[client] no answer of a service at {self.url} ({why}); start one with `linac serve`, or name another", _ENVIRONMENT) from error

    def _read(self, answer: Any, deadline: float, most: int) -> "Iterator[bytes]":
        size, wanted = 0, answer.headers.get("Content-Length")
        while piece := answer.read1(_PIECE_BYTES):
            size += len(piece)
            if size > most:
                raise ServiceError(f"[client] {self.url}: an answer of more than {most} bytes; is that a linac service?", _ENVIRONMENT)
            if time.monotonic() > deadline:
                raise ServiceError(f"[client] {self.url}: an answer took longer than {10 * self.timeout_s:g} s; try again", _ENVIRONMENT)
            yield piece
        if wanted is not None and wanted.isdigit() and size != int(wanted):
            raise ServiceError(f"[client] {self.url}: the answer broke off; try again", _ENVIRONMENT)

    def _all(self, answer: Any, deadline: float) -> bytes:
        try:
            return b"".join(self._read(answer, deadline, 1 << 20))
        except (OSError, http.client.HTTPException, ServiceError):
            return b""

    def _refusal(self, status: int, body: bytes) -> ServiceError:
        try:
            problem = json.loads(body)
        except ValueError:
            problem = {}
        words = problem if isinstance(problem, dict) else {}
        what = str(words.get("detail") or words.get("message") or f"[client] {self.url} answered with status {status}")
        code = str(words.get("code") or words.get("error_code") or "")
        if status == 401:
            what += f"; `linac login --server {self.url}` or LINAC_TOKEN says who you are"
        exit_status = _ENVIRONMENT if status >= 500 or status == 429 else _DATA if code == "FAILED_PRECHECKS" else _USER
        return ServiceError(what, exit_status, status, code)
