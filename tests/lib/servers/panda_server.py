"""The part of PanDA's interface (api/v1) that panda-client 2.2.0 uses for tasks, over https: no PanDA server can run here. Paths, fields and codes are
those that panda-client sends and reads, and the envelope {"success", "message", "data"} of each answer is that of the server's public sources; those read
lack the list of tasks, which is as panda-client reads it. Texts of messages are made up. The tests ask it by panda-client too.
"""

import http.server
import json
import pathlib
import ssl
import threading
import time
import urllib.parse

from ..certificates import openssl


class Authority:
    """Certificates: an authority, the server's own and a user's proxy (certificate and key in one file)."""

    def __init__(self, root: pathlib.Path):
        self.folder = root / "certificates"
        self.folder.mkdir(parents=True)
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=authority", "-keyout", root / "ca.key", "-out",
                self.folder / "ca.pem")
        self.root = root
        self.server = self.signed("server", "127.0.0.1", "subjectAltName=IP:127.0.0.1")
        self.proxy = self.signed("proxy", "some body", "extendedKeyUsage=clientAuth")
        openssl("rehash", self.folder)

    def signed(self, name: str, subject: str, extension: str) -> pathlib.Path:
        key, request, certificate, both, more = (self.root / f"{name}.{end}" for end in ("key", "csr", "crt", "pem", "ext"))
        more.write_text(extension + "\n")
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={subject}", "-keyout", key, "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.folder / "ca.pem", "-CAkey", self.root / "ca.key", "-CAcreateserial", "-days", "2", "-extfile",
                more, "-out", certificate)
        both.write_text(certificate.read_text() + key.read_text())
        both.chmod(0o600)
        return both


class PandaServer:
    """`next_answers` makes the next submissions go wrong: "cut" (taken, no answer), "refused", "html", "500" (not taken), "slow", "no number"."""

    TOKEN = "header.e30.signature"

    def __init__(self, authority: Authority):
        self.tasks: dict[int, dict] = {}
        self.parameters: dict[int, dict] = {}
        self.jobs: dict[int, list] = {}
        self.commands: list[tuple] = []
        self.requests: list[tuple] = []
        self.next_answers: list[str] = []
        self.hidden = False  # of lists, as for a while after a submission
        self.lock = threading.Lock()
        contract = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, body: object, status: int = 200, kind: str = "application/json") -> None:
                text = (body if isinstance(body, str) else json.dumps(body)).encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def known(self) -> bool:
                if self.connection.getpeercert():
                    return True
                return self.headers.get("Authorization") == f"Bearer {contract.TOKEN}" and self.headers.get("Origin") == "wlcg"

            def do_GET(self):
                path, _, query = self.path.partition("?")
                self.do(path, {key: values[0] for key, values in urllib.parse.parse_qs(query).items()})

            def do_POST(self):
                self.do(self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def do(self, path: str, fields: dict) -> None:
                contract.requests.append((self.command, path, fields))
                if not self.known():
                    return self.answer("SSL secure connection is required", 403, "text/plain")
                name = path.removeprefix("/api/v1/").replace("/", "_")
                work = getattr(contract, name, None)
                if not path.startswith("/api/v1/") or work is None:
                    return self.answer("<html>Not Found</html>", 404, "text/html")
                trouble = contract.next_answers.pop(0) if name == "task_submit" and contract.next_answers else ""
                if trouble == "500":
                    return self.answer("<html>Internal Server Error</html>", 500, "text/html")
                if trouble == "html":
                    return self.answer("<html>maintenance</html>", 200, "text/html")
                if trouble == "refused":
                    return self.answer({"success": False, "message": "no permission to use the working group <b>x</b>\x1b[31m", "data": 5})
                with contract.lock:
                    success, message, data = work(**fields)
                if trouble == "cut":
                    self.close_connection = True
                    self.connection.close()
                    return None
                if trouble == "slow":
                    time.sleep(1)
                return self.answer({"success": success, "message": message, "data": None if trouble == "no number" else data})

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):  # connections that were cut
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.server)
        context.load_verify_locations(authority.folder / "ca.pem")
        context.verify_mode = ssl.CERT_OPTIONAL
        self.http = Server(("127.0.0.1", 0), Handler)
        self.http.socket = context.wrap_socket(self.http.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.http.shutdown()

    # What the interface has.
    def task_submit(self, task_parameters: dict, parent_tid: int | None = None):
        name = task_parameters["taskName"]
        for number, task in self.tasks.items():
            if task["taskName"] == name and task_parameters.get("uniqueTaskName"):
                return False, f"jediTaskID={number} is in the {task['status']} state for taskName={name}", 2
        number = 4242 + len(self.tasks)
        self.tasks[number] = {"jediTaskID": number, "taskName": name, "status": "registered", "superStatus": "registered", "errorDialog": None}
        self.parameters[number] = task_parameters
        return True, f"succeeded. new jediTaskID={number}", number

    def task_get_tasks_detailed_info_since(self, n_tasks: str = "500", since: str = "", filters: str = "{}"):
        wanted = json.loads(filters)
        found = [] if self.hidden else [task for task in self.tasks.values() if all(str(task[key]) == str(value) for key, value in wanted.items())]
        return True, "", found[:int(n_tasks)]

    def task_get_task_parameters(self, task_id: str):
        return (True, "", self.parameters[int(task_id)]) if int(task_id) in self.parameters else (False, "Task not found", None)

    def task_get_status(self, task_id: str):
        return (True, "", self.tasks[int(task_id)]["status"]) if int(task_id) in self.tasks else (False, "Task not found", None)

    def task_get_job_descriptions(self, task_id: str, unsuccessful_only: str = "False"):
        return True, "", self.jobs.get(int(task_id), [])

    def task_kill(self, task_id: int, broadcast: bool = False):
        return self._command("kill", task_id, "aborting", {"done", "failed", "aborted"})

    def task_retry(self, task_id: int, new_parameters: dict | None = None):
        return self._command("retry", task_id, "toretry", {"done", "registered", "running"})

    def _command(self, word: str, number: int, status: str, irrelevant: set):
        task = self.tasks.get(number)
        if task is None:
            return False, "task not found", 2
        if task["status"] in irrelevant:
            return False, f"Command rejected: the {word} command is not accepted if the task is in {task['status']} status", 4
        self.commands.append((word, number))
        task["status"] = status
        return True, "command is registered. will be executed in a few minutes", 0
