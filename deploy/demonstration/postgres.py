"""The Postgres of the demonstration: a server of its own, in a folder of its own."""

import asyncio
import os
import pathlib
import pwd
import secrets
import shutil
import signal
import subprocess
import sys

from .processes import Program

#: Where Debian puts the programs of a server: `postgresql-15`, and what comes after it.
PLACES = "/usr/lib/postgresql/*/bin"
#: Where its files are if root starts it and nobody else may enter the demonstration's folder.
ELSEWHERE = pathlib.Path("/var/tmp/gapless-demo")


class Postgres(Program):
    """A server with the schema of the logs in it, which can be put back to a copy of itself.

    Postgres refuses to run as root: then it runs as the user `postgres`, whom its package makes.
    """

    # Without waiting for those who are connected.
    ending = signal.SIGINT

    def __init__(self, address, folder, program, note):
        self.host, self.port = address.rsplit(":", 1)
        self.program = program
        self.programs = programs()
        user = "postgres" if os.getuid() == 0 else None
        self.folder = place(pathlib.Path(folder), user)
        self.data = self.folder / "data"
        self.copy = self.folder / "copy"
        #: The password of its owner, which is that of the gateways here.
        self.password = self.folder / "password"
        #: Where a gateway reads the URL.
        self.url = pathlib.Path(folder).with_name("postgres-url")
        log = (self.folder / "postgres.log").open("ab")
        arguments = [
            "postgres", "-D", self.data, "-c", f"listen_addresses={self.host}",
            "-c", f"port={self.port}", "-c", "unix_socket_directories=",
        ]
        super().__init__(
            "Postgres", arguments, self._answers, note, self.programs / "postgres", log, user)

    def settings(self):
        """What a gateway is told of it."""
        return {"upstream.kind": "postgres", "upstream.postgres.url_file": self.url}

    async def start(self):
        if not (self.data / "PG_VERSION").exists():
            self.password.write_text(secrets.token_hex(24))
            if self.user is not None:
                shutil.chown(self.password, self.user)
            await self._run(
                "initdb", "--pgdata", self.data, "--username", "gapless", "--encoding", "UTF8",
                "--locale", "C.UTF-8", "--auth", "scram-sha-256", "--pwfile", self.password)
        password = self.password.read_text().strip()
        self.url.write_text(
            f"postgresql://gapless:{password}@{self.host}:{self.port}/postgres\n")
        if not await super().start():
            return False
        install = await asyncio.create_subprocess_exec(
            self.program, "postgres", "install", "--url", self.url.read_text().strip(),
            stdout=asyncio.subprocess.DEVNULL)
        return await install.wait() == 0

    async def back_up(self):
        """Copies its files as they are now, while it runs."""
        shutil.rmtree(self.copy, ignore_errors=True)
        await self._run(
            "pg_basebackup", "--pgdata", self.copy, "--checkpoint", "fast", "--no-sync",
            "--dbname", self.url.read_text().strip())

    async def restore(self):
        """Puts the copy back: what was written since is lost."""
        await self.hold()
        shutil.rmtree(self.data)
        await self._run("cp", "--archive", self.copy, self.data)
        self.release()

    async def _answers(self):
        asked = await asyncio.create_subprocess_exec(
            self.programs / "pg_isready", "--quiet", "--host", self.host, "--port", self.port)
        return await asked.wait() == 0

    async def _run(self, program, *arguments):
        path = self.programs / program
        process = await asyncio.create_subprocess_exec(
            path if path.exists() else program, *arguments, stdout=self.output,
            stderr=self.output, user=self.user, cwd=self.folder)
        if await process.wait() != 0:
            raise RuntimeError(f"{program} failed; {self.folder}/postgres.log says why")


def programs():
    """The folder of the newest server's programs."""
    found = sorted(pathlib.Path("/").glob(PLACES.lstrip("/")), key=lambda path: (
        int(path.parent.name) if path.parent.name.isdigit() else 0))
    if not found:
        sys.exit(f"demo: no Postgres in {PLACES}; install the package postgresql")
    return found[-1]


def place(folder, user):
    """A folder that the user, if it is another one, can enter and owns."""
    if user is not None:
        enters = ["setpriv", f"--reuid={user}", "--clear-groups", "test", "-x", folder.parent]
        folder.parent.chmod(0o711)
        if subprocess.run(enters, check=False).returncode != 0:
            folder = ELSEWHERE
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    owner = pwd.getpwnam(user).pw_uid if user else os.getuid()
    if folder.is_symlink() or folder.stat().st_uid not in (owner, os.getuid()):
        sys.exit(f"demo: {folder} belongs to somebody else; remove it")
    if user is not None:
        shutil.chown(folder, user)
    return folder
