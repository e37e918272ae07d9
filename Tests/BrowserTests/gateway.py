"""The program under test, as a process of its own."""

import http.client
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse
import uuid

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("TESTED_PROGRAM", str(REPOSITORY / ".build/debug/gapless"))
API_KEY = "key-of-the-browser-tests"
#: How long the program may take to start or to stop, in seconds. It takes a fraction of one; a
#: machine that does something else besides may need the rest.
PATIENCE = 30


#: Where `free_port` looks: below the ports that the kernel gives to a process that asks for any.
#: One of those could go to a proxy or an outgoing connection before the server that was meant to
#: have it listens; a proxy that got the port of its own target then connects to itself without end.
PORTS = range(16000, 32000)
_given = set()


def free_port():
    """A port of the loopback that nobody uses. A gateway that starts again needs its own back."""
    while True:
        port = random.choice(PORTS)
        if port in _given:
            continue
        with socket.socket() as probe:
            # A connection that ended here a moment ago is in nobody's way.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        return port


class Gateway:
    """One gateway with an embedded origin on ports and files of its own.

    Owned by one test class or one test, which stops it. It can be killed and started again on what
    it left behind.
    """

    def __init__(self, program=PROGRAM, **settings):
        """`settings` are keys of the configuration, with `__` for the dot: `drain__window="1s"`."""
        self.program = program
        self.folder = tempfile.TemporaryDirectory(prefix="gapless-browser-")
        self.address = f"127.0.0.1:{free_port()}"
        self.internal = f"127.0.0.1:{free_port()}"
        self.log = pathlib.Path(self.folder.name, "log")
        keys = pathlib.Path(self.folder.name, "keys")
        keys.write_text(API_KEY + "\n")
        values = {
            "listen.public": self.address,
            "listen.internal": self.internal,
            "cache.path": f"{self.folder.name}/gapless.db",
            "auth.api_key_file": str(keys),
            "drain.window": "1s",
        }
        values.update({key.replace("__", "."): value for key, value in settings.items()})
        self.arguments = [f"--set={key}={value}" for key, value in values.items()]
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.discard()

    # Life and death.

    def start(self):
        """Starts it and waits until it is ready."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [self.program, "serve", *self.arguments], cwd=self.folder.name,
                stdout=log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + PATIENCE
        while self.status("/health/ready") != 200:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"the gateway did not start:\n{self.log.read_text()}")
            time.sleep(0.02)

    def kill(self):
        """Ends it as a power failure would."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def stop(self):
        """Asks it to end, and gives its exit status."""
        self.process.terminate()
        return self.process.wait(PATIENCE)

    def suspend(self):
        """Its sockets stay open, and it stops answering."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        """Answers again; does nothing to one that is not suspended."""
        self.process.send_signal(signal.SIGCONT)

    def discard(self):
        """Ends it, whatever its state, and removes its files."""
        if self.process is not None and self.process.poll() is None:
            self.resume()
            self.kill()
        self.folder.cleanup()

    # What it says.

    def status(self, path):
        """The status of a page of the internal listener; `None` where nobody listens."""
        connection = http.client.HTTPConnection(self.internal, timeout=PATIENCE)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except OSError:
            return None
        finally:
            connection.close()

    def health(self):
        return json.loads(self.operation("/health"))

    def metric(self, name):
        """The value of a metric without labels."""
        for line in self.operation("/metrics").splitlines():
            if line.startswith(f"{name} "):
                return float(line.split(" ")[1])
        raise AssertionError(f"there is no metric {name}")

    def operation(self, path):
        """A page of the internal listener."""
        connection = http.client.HTTPConnection(self.internal, timeout=PATIENCE)
        try:
            connection.request("GET", path)
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    def headers(self, path):
        """The headers of a page of the public listener, names in lower case."""
        connection = http.client.HTTPConnection(self.address, timeout=PATIENCE)
        try:
            connection.request("GET", path)
            return {name.lower(): value for name, value in connection.getresponse().getheaders()}
        finally:
            connection.close()

    # The server API.

    def call(self, method, path, body=None):
        """One call of the server API. A backend that reads `retry: "now"` makes it again, and any
        other failure fails the test."""
        until = time.monotonic() + PATIENCE
        while True:
            status, text = self.answer(method, path, body)
            if status in (200, 201):
                return json.loads(text)
            if b'"retry":"now"' not in text or time.monotonic() > until:
                raise AssertionError(f"{method} {path}: {status} {text.decode()}")
            time.sleep(0.1)

    def answer(self, method, path, body=None):
        connection = http.client.HTTPConnection(self.address, timeout=PATIENCE)
        try:
            connection.request(
                method, path, None if body is None else json.dumps(body),
                {"Authorization": f"Bearer {API_KEY}", "Content-Type": "application/json"})
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def converse(self, conversation, *people, title=None):
        """Creates a conversation of these people."""
        fields = {"title": title or conversation, "participants": list(people)}
        self.call("PUT", path(conversation), fields)

    def say(self, conversation, author, *bodies, metadata=None):
        """Writes messages to the log, as a backend does."""
        # Under the same ids, what is sent again is written once.
        messages = [{"id": str(uuid.uuid4()), "author": author, "body": body,
                     "metadata": metadata or {}} for body in bodies]
        for first in range(0, len(messages), 1000):
            self.call("POST", path(conversation, "messages"), messages[first:first + 1000])

    def said(self, conversation):
        """What the log holds: the bodies, oldest first."""
        reply = self.call("GET", path(conversation, "messages") + "?limit=1000&order=asc")
        return [message["body"] for message in reply["messages"]]


def path(conversation, *more):
    """A path of the server API."""
    parts = [conversation, *more]
    return "/v1/conversations/" + "/".join(urllib.parse.quote(part, safe="") for part in parts)
