"""Chromium as a person has it: tabs of one window, of which one is seen. A driver keeps each tab
awake, so this speaks the browser's own protocol."""

import contextlib
import json
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

from browser import CHROMIUM, FLAGS
from gateway import PATIENCE, free_port
from websockets.sync.client import connect


class RawTab:
    """One tab; the newest is the one that is seen."""

    def __init__(self, address, url):
        quoted = urllib.parse.quote(url, safe="")
        request = urllib.request.Request(f"{address}/json/new?{quoted}", method="PUT")
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
            target = json.load(reply)
        self.stack = contextlib.ExitStack()
        self.socket = self.stack.enter_context(
            connect(target["webSocketDebuggerUrl"], max_size=None))
        self.last = 0

    def ask(self, method, **params):
        self.last += 1
        self.socket.send(json.dumps({"id": self.last, "method": method, "params": params}))
        while True:
            reply = json.loads(self.socket.recv(timeout=PATIENCE))
            if reply.get("id") == self.last:
                return reply["result"]

    def evaluate(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        return result["result"].get("value")

    def wait_for(self, expression, patience=PATIENCE):
        """Waits until something is true; gives the seconds that took."""
        began = time.monotonic()
        while not self.evaluate(expression):
            if time.monotonic() - began > patience:
                raise AssertionError(f"waited {patience} s for {expression}: "
                                     f"{self.evaluate('document.body.innerText')}")
            time.sleep(0.05)
        return time.monotonic() - began

    def freeze(self):
        self.ask("Page.setWebLifecycleState", state="frozen")

    def thaw(self):
        self.ask("Page.setWebLifecycleState", state="active")


class RawBrowser:
    """A browser with a profile of its own."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(
            prefix="gapless-browser-", ignore_cleanup_errors=True)
        port = free_port()
        self.address = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [CHROMIUM, "--headless=new", *FLAGS, f"--remote-debugging-port={port}",
             f"--user-data-dir={self.folder.name}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.tabs = []
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                urllib.request.urlopen(f"{self.address}/json/version", timeout=1).close()
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def tab(self, url):
        self.tabs.append(RawTab(self.address, url))
        return self.tabs[-1]

    def close(self):
        for tab in self.tabs:
            tab.stack.close()
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.folder.cleanup()
