"""What the checks of deploy/ start: gateways that share a Redis, and what stands before them."""

import http.client
import pathlib
import re
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "Tests/BrowserTests"))

from gateway import API_KEY, PATIENCE, PROGRAM, Gateway, free_port  # noqa: E402, F401

DEPLOY = REPOSITORY / "deploy"


def run(*words, **more):
    """Runs a tool to its end; what it says and its exit status."""
    done = subprocess.run(
        [str(word) for word in words], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=120, **more)
    return done.returncode, done.stdout


def wait_until(condition, what, seconds=PATIENCE):
    """Looks again and again until it holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not in {seconds} s: {what}")
        time.sleep(0.05)


def text(address, path):
    """A page as text; `None` where nobody listens."""
    connection = http.client.HTTPConnection(address, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode()
    except OSError:
        return None
    finally:
        connection.close()


class Daemon:
    """A process with a folder of its own, that is ended with its `with`."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="gapless-deploy-")
        self.path = pathlib.Path(self.folder.name)
        self.process = None

    def start(self, *words):
        with (self.path / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [str(word) for word in words], cwd=self.path, stdout=log, stderr=log)

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(PATIENCE)

    def log(self):
        return (self.path / "log").read_text()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self.folder.cleanup()


class Redis(Daemon):
    """A Redis that forgets everything when it stops."""

    #: Debian's packages hold one program that is what its name says; linked under its name, no
    #: daemon needs to be installed.
    PROGRAM = "/usr/bin/redis-check-rdb"

    def __init__(self):
        super().__init__()
        (self.path / "redis-server").symlink_to(self.PROGRAM)
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        self.begin()

    def begin(self):
        self.start(self.path / "redis-server", "--port", self.port, "--bind", "127.0.0.1",
                   "--save", "", "--appendonly", "yes", "--appendfsync", "everysec")
        wait_until(lambda: run("redis-cli", "-p", self.port, "ping")[1] == "PONG\n", "Redis")

    def ask(self, *words):
        """One command; a refusal fails the test."""
        status, said = run("redis-cli", "-e", "-p", self.port, *words)
        assert status == 0, said


class Proxy(Daemon):
    """nginx or HAProxy with the file of deploy/proxy, as it stands there but for its addresses."""

    def __init__(self, kind, gateways):
        super().__init__()
        self.port = free_port()
        self.kind = kind
        certificate, key = self.path / "chat.pem", self.path / "chat.key"
        status, said = run(
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "1", "-subj", "/CN=chat.example.org", "-keyout", key, "-out",
            certificate)
        assert status == 0, said
        places = {
            r"127\.0\.0\.1:8000\b": gateways[0].address,
            r"127\.0\.0\.1:8001\b": gateways[1].address,
            r"port 9000\b": "port " + gateways[0].internal.split(":")[1],
            r"port 9001\b": "port " + gateways[1].internal.split(":")[1],
            r"/etc/ssl/chat\.example\.org\.pem": str(certificate),
            r"/etc/ssl/chat\.example\.org\.key": str(key),
            r"/var/log/nginx": str(self.path),
            r"listen 443": f"listen 127.0.0.1:{self.port}",
            # Of a test, a process has fewer descriptors.
            r"maxconn 100000": "maxconn 4000",
            r"bind :443": f"bind 127.0.0.1:{self.port}",
        }
        name = {"nginx": "nginx.conf", "haproxy": "haproxy.cfg"}[kind]
        configuration = (DEPLOY / "proxy" / name).read_text()
        for pattern, place in places.items():
            configuration = re.sub(pattern, place, configuration)
        (self.path / name).write_text(configuration)
        if kind == "nginx":
            self.file = self.path / "main.conf"
            self.file.write_text(
                f"pid {self.path}/pid;\nerror_log stderr crit;\nworker_processes 2;\n"
                f"events {{ worker_connections 4096; }}\nhttp {{ include {self.path}/{name}; }}\n")
            self.words = ["nginx", "-e", "stderr", "-c", self.file, "-g", "daemon off;"]
            self.check = ["nginx", "-t", "-e", "stderr", "-c", self.file]
        else:
            # One file holds certificate and key there.
            certificate.write_text(certificate.read_text() + key.read_text())
            self.words = ["haproxy", "-db", "-f", self.path / name]
            self.check = ["haproxy", "-c", "-f", self.path / name]

    def lines(self):
        """Its log of requests."""
        name = "gapless.log" if self.kind == "nginx" else "log"
        return (self.path / name).read_text()
