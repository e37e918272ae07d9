"""A site of one's own beside the gateway, with the client's package as npm would install it."""

import functools
import http.server
import pathlib
import subprocess
import tempfile
import threading

from gateway import REPOSITORY

#: Where Debian keeps packages of Node.
DEBIAN = pathlib.Path("/usr/share/nodejs")
#: What React consists of there.
REACT = ["react", "react-dom", "scheduler", "loose-envify", "js-tokens", "object-assign"]


class SilentHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        # Chromium asks for it by itself, and complains.
        if self.path == "/favicon.ico":
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()


def serve(test, folder):
    """Serves a folder until the test class ends; its origin."""
    site = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(SilentHandler, directory=folder))
    threading.Thread(target=site.serve_forever, daemon=True).start()
    test.addClassCleanup(site.server_close)
    test.addClassCleanup(site.shutdown)
    return f"http://127.0.0.1:{site.server_port}"


def project(test):
    """A folder with the package, and Debian's React, in its `node_modules`."""
    folder = pathlib.Path(test.enterClassContext(tempfile.TemporaryDirectory()))
    made = folder / "made"
    tarball = subprocess.run(
        [REPOSITORY / "deploy/client-package", made],
        check=True, capture_output=True, text=True).stdout.strip().splitlines()[-1]
    client = folder / "node_modules/@gapless/client"
    client.mkdir(parents=True)
    subprocess.run(
        ["tar", "--extract", "--file", tarball, "--strip-components=1", "-C", client], check=True)
    for name in REACT:
        if (DEBIAN / name).exists():
            (folder / "node_modules" / name).symlink_to(DEBIAN / name)
    return folder


def bundle(folder, name, *flags):
    """Bundles a module of a project, as a build of an app does."""
    subprocess.run(
        ["esbuild", name, "--bundle", "--format=esm", "--jsx=automatic", "--log-level=warning",
         '--define:process.env.NODE_ENV="development"', "--preserve-symlinks",
         f"--outfile={pathlib.Path(name).stem}.js", *flags], cwd=folder, check=True)
