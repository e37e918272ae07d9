"""A gateway, its origin and somebody who writes, for one thing that goes wrong."""

import http.client
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "deploy"), str(REPOSITORY / "Tests/BrowserTests")]

from demonstration.postgres import programs  # noqa: E402 (found by the line above)
from demonstration.processes import redis_program  # noqa: E402
from gateway import free_port  # noqa: E402

KEY = "an-operators-key-of-forty-characters-0123"
#: Fields that differ from run to run, as they are shown.
VARYING = [
    (r"\b\d{4}-\d\d-\d\dT[\d:.]+Z\b", "TIME"), (re.escape(tempfile.gettempdir()) + "/trouble[a-z0-9_]*", "DIR"),
    (r"127\.0\.0\.1:\d+", "HOST:PORT"), (r"\[::1\]:\d+", "HOST:PORT"),
    (r"0\.0\.0\.0:\d+", "0.0.0.0:PORT"), (r"\bport \d+\b", "port PORT"),
    (r"\bprocess \d+\b", "process PID"), (r"/proc/\d+/", "/proc/PID/"),
    (r"\bcommit=\w+", "commit=COMMIT"),
]
#: A certificate of our own.
OURS = ssl._create_unverified_context()  # pylint: disable=protected-access
#: Metrics that move by themselves.
RESTLESS = re.compile(
    "uptime|cpu_seconds|resident|_seconds_bucket|_seconds_sum|_seconds_count|last_event_age"
    "|cache_bytes|log_lines|commits_total|committed_writes|cache_messages|open_descriptors"
    "|fetches_total")


def plain(text):
    """Without what is different at each run."""
    for pattern, word in VARYING:
        text = re.sub(pattern, word, text)
    return text


class Redis:
    """A server in a folder of its own."""

    def __init__(self, folder, *arguments, port=None):
        self.port = port or free_port()
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.arguments = [
            "redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(folder),
            "--save", "", "--appendonly", "yes", "--appendfsync", "everysec", *arguments]
        self.start()

    @property
    def settings(self):
        return {"upstream.kind": "redis", "upstream.redis.url": f"redis://127.0.0.1:{self.port}/0"}

    def start(self):
        self.process = subprocess.Popen(
            self.arguments, executable=redis_program(), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        wait(lambda: b"PONG" in self.ask("PING") or b"NOAUTH" in self.ask("PING"))

    def ask(self, *words):
        """The first piece of what it answers, empty if it does not."""
        return self.asks(words)

    def asks(self, *commands):
        """The same of several on one connection: the last answer."""
        answer = b""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 2) as link:
                link.settimeout(2)
                for words in commands:
                    parts = [str(word).encode() for word in words]
                    link.sendall(b"*%d\r\n" % len(parts) + b"".join(
                        b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
                    answer = link.recv(65536)
        except OSError:
            pass
        return answer

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        self.process.kill()
        self.process.wait()


class Postgres:
    """A server with the schema of the logs."""

    def __init__(self, folder, program):
        self.port = free_port()
        # Its user has to come in.
        self.folder = pathlib.Path(f"/var/tmp/gapless-trouble-{os.getpid()}-{self.port}")
        self.folder.mkdir(mode=0o700)
        self.user = "postgres" if os.getuid() == 0 else None
        if self.user:
            shutil.chown(self.folder, self.user)
        self.program = program
        self.data = self.folder / "data"
        self._run("initdb", "-D", self.data, "-U", "gapless", "-A", "trust", "-E", "UTF8",
                  "--locale", "C.UTF-8", "--no-sync")
        self.start()
        self.install()

    @property
    def url(self):
        return f"postgresql://gapless@127.0.0.1:{self.port}/postgres"

    @property
    def settings(self):
        return {"upstream.kind": "postgres", "upstream.postgres.url": self.url}

    def install(self):
        subprocess.run([self.program, "postgres", "install", "--url", self.url], check=True,
                       stdout=subprocess.DEVNULL)

    def start(self):
        self.process = subprocess.Popen(
            [programs() / "postgres", "-D", self.data, "-c", "listen_addresses=127.0.0.1", "-c",
             f"port={self.port}", "-c", "unix_socket_directories=", "-c", "fsync=off", "-c",
             "max_connections=30", "-c", "superuser_reserved_connections=3"],
            user=self.user, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait(lambda: self._answers())

    def _answers(self):
        return subprocess.run([programs() / "pg_isready", "-q", "-h", "127.0.0.1", "-p",
                               str(self.port)], check=False).returncode == 0

    def sql(self, text, user="gapless"):
        subprocess.run(["psql", "-q", "-h", "127.0.0.1", "-p", str(self.port), "-U", user, "-d",
                        "postgres", "-c", text], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "PGOPTIONS": "-c default_transaction_read_only=off"})

    def hold(self, text, user="gapless"):
        """A session that does this and stays."""
        return subprocess.Popen(
            ["psql", "-q", "-h", "127.0.0.1", "-p", str(self.port), "-U", user, "-d",
             "postgres", "-c", text], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def signal(self, number):
        self.process.send_signal(number)

    def _run(self, name, *arguments):
        subprocess.run([programs() / name, *map(str, arguments)], check=True, user=self.user,
                       cwd=self.folder, stdout=subprocess.DEVNULL)

    def end(self):
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def wait(holds, seconds=30):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise RuntimeError("it does not come to hold")
        time.sleep(0.05)


class Gateway:
    """One gateway, looked at ten times a second."""

    def __init__(self, program, folder, settings, launcher=()):
        self.program = str(program)
        self.folder = folder
        self.port, self.internal = free_port(), free_port()
        (folder / "keys").write_text(KEY + "\n")
        self.settings = {
            "listen.public": f"127.0.0.1:{self.port}",
            "listen.internal": f"127.0.0.1:{self.internal}", "cache.path": folder / "gapless.db",
            "auth.api_key_file": folder / "keys", **settings}
        self.scheme = "https" if "listen.tls.key" in settings else "http"
        self.launcher = [str(word) for word in launcher]
        self.process = None
        self.log = folder / "log"
        #: (seconds, ready status, reasons, health status, trouble) whenever one of them changes.
        self.states = []
        self.began = 0.0
        self.done = threading.Event()

    def flags(self):
        file = self.folder / "gapless.json5"
        named = [f"--config={file}"] if file.exists() else []
        return named + [f"--set={key}={value}" for key, value in self.settings.items()]

    def check(self):
        """What `checkconfig` says and exits with."""
        run = subprocess.run(
            [*self.launcher, self.program, "checkconfig", *self.flags()], capture_output=True,
            text=True, check=False, stdin=subprocess.DEVNULL, timeout=60, cwd=self.folder)
        said = run.stderr if run.returncode else run.stdout.splitlines()[0]
        return run.returncode, plain(said.strip())

    def serve(self):
        self.process = subprocess.Popen(
            [*self.launcher, self.program, "serve", *self.flags()], stdout=subprocess.DEVNULL,
            stderr=self.log.open("wb"), stdin=subprocess.DEVNULL, cwd=self.folder)

    def exit(self, seconds=20):
        """How it ended, where it does not serve; None if it does."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                return self.process.returncode
            if self.get("/health/live")[0] == 200:
                return None
            time.sleep(0.05)
        return None

    def start(self):
        self.serve()
        wait(lambda: self.get("/health/ready")[0] == 200, 60)

    def get(self, path):
        try:
            link = http.client.HTTPConnection("127.0.0.1", self.internal, timeout=3)
            link.request("GET", path)
            answer = link.getresponse()
            return answer.status, answer.read().decode()
        except OSError:
            return 0, ""

    def lines(self):
        return self.log.read_text(errors="replace").splitlines()

    def metrics(self):
        found = {}
        for line in self.get("/metrics")[1].splitlines():
            if not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                found[name] = float(value)
        return found

    def write(self, conversation="ops"):
        """Posts a message: the status, and the code and message of an error."""
        body = json.dumps({"author": "ann", "body": "hello"}).encode()
        request = urllib.request.Request(
            f"{self.scheme}://127.0.0.1:{self.port}/v1/conversations/{conversation}/messages",
            data=body, headers={"X-API-Key": KEY, "Content-Type": "application/json"})
        return self._call(request)

    def put(self, conversation="ops"):
        body = json.dumps({"participants": ["ann", "ben"]}).encode()
        request = urllib.request.Request(
            f"{self.scheme}://127.0.0.1:{self.port}/v1/conversations/{conversation}", data=body,
            method="PUT", headers={"X-API-Key": KEY, "Content-Type": "application/json"})
        return self._call(request)

    @staticmethod
    def _call(request):
        try:
            with urllib.request.urlopen(request, timeout=15, context=OURS) as answer:
                return answer.status, ""
        except urllib.error.HTTPError as error:
            told = json.loads(error.read() or b"{}").get("error", {})
            return error.code, f"{told.get('code')}: {told.get('message')}"
        except OSError as error:
            return 0, str(error)

    def watch(self):
        """Looks at it and writes to it until `stop`, on threads."""
        self.began = time.monotonic()
        self.answers = []
        threads = [threading.Thread(target=work, daemon=True)
                   for work in (self._look, self._talk, self._read)]
        for thread in threads:
            thread.start()
        self.threads = threads

    def _read(self):
        """Somebody watches the conversation, so that a cache is written."""
        while not self.done.is_set():
            try:
                with socket.create_connection(("127.0.0.1", self.port), 2) as link:
                    link.sendall((
                        f"GET /v1/ws HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
                        "Connection: Upgrade\r\nUpgrade: websocket\r\n"
                        "Sec-WebSocket-Version: 13\r\n"
                        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n").encode())
                    for number, method, params in (
                            (1, "connect", {"user": "ann"}),
                            (2, "subscribeMessages", {"conversation": "ops"})):
                        text = json.dumps(
                            {"id": number, "method": method, "params": params}).encode()
                        # Masked with zeros: the bytes as they are.
                        link.sendall(bytes([0x81, 0x80 | len(text)]) + bytes(4) + text)
                    link.settimeout(1)
                    while not self.done.is_set():
                        try:
                            if not link.recv(65536):
                                break
                        except TimeoutError:
                            pass
            except OSError:
                pass
            time.sleep(0.3)

    def stop_watching(self):
        self.done.set()
        for thread in self.threads:
            thread.join()

    def _look(self):
        while not self.done.is_set():
            status, text = self.get("/health/ready")
            reasons = json.loads(text or "{}").get("reasons", [])
            health = json.loads(self.get("/health")[1] or "{}")
            upstream = (health.get("upstream") or [{}])[0]
            state = (status, tuple(reasons), health.get("status", "no answer"),
                     upstream.get("trouble"), json.dumps(health.get("troubles", [])))
            if not self.states or self.states[-1][1:] != state:
                self.states.append((time.monotonic() - self.began, *state))
            time.sleep(0.1)

    def _talk(self):
        while not self.done.is_set():
            answer = self.write()
            if not self.answers or self.answers[-1] != answer:
                self.answers.append(answer)
            time.sleep(0.2)

    def end(self):
        self.done.set()
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
