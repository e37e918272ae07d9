"""What can go wrong: each is really done to a gateway, by `break_it` of a `Thing`."""

import contextlib
import os
import pathlib
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import time

from .stage import Postgres, Redis, free_port, wait


class Thing:
    """Something that can be wrong.

    `prepare` is given (folder, program) and returns what is to be ended, and settings;
    `break_it` is given (gateway, origin); `heal` puts it right. Those of a start have neither:
    `serve` and `checkconfig` are to say the same.
    """

    def __init__(self, kind, title, why, do, prepare=None, break_it=None, heal=None, seconds=6,
                 launcher=(), ready=None, starts=None, healing=40, is_there=False):
        self.kind, self.title, self.why, self.do = kind, title, why, do
        self.prepare = prepare or (lambda folder, program: (None, {}))
        self.break_it, self.heal, self.seconds = break_it, heal, seconds
        self.launcher, self.ready, self.starts, self.healing = launcher, ready, starts, healing
        #: It is there when the gateway starts.
        self.is_there = is_there


THINGS = []
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
#: A full disk is a file that may not grow; the signal for that would end the gateway.
BOUNDED = ("/bin/sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh")


def thing(*arguments, **named):
    THINGS.append(Thing(*arguments, **named))


# MARK: - The start

def certificate(folder, days=365, name="tls"):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem", "-days",
         str(days), "-subj", "/CN=localhost"], check=True, capture_output=True)
    return {"listen.tls.certificate": folder / f"{name}.pem",
            "listen.tls.key": folder / f"{name}.key"}


def settings(values):
    return lambda folder, program: (None, {
        key: str(value).replace("FOLDER", str(folder)) for key, value in values.items()})


def other_key(folder, program):
    certificate(folder, name="other")
    return None, {**certificate(folder), "listen.tls.key": folder / "other.key"}


def no_pem(folder, program):
    found = certificate(folder)
    (folder / "tls.pem").write_text("not a certificate\n")
    return None, found


def encrypted_key(folder, program):
    found = certificate(folder)
    subprocess.run(["openssl", "pkey", "-in", folder / "tls.key", "-aes256", "-passout", "pass:x",
                    "-out", folder / "locked.key"], check=True, capture_output=True)
    return None, {**found, "listen.tls.key": folder / "locked.key"}


def for_nobody(folder):
    for path in [folder, folder.parent]:
        path.chmod(0o755)
    (folder / "keys").write_text("an-operators-key-of-forty-characters-0123\n")
    (folder / "keys").chmod(0o644)


def lock_of_root(folder, program):
    for_nobody(folder)
    place = folder / "state"
    place.mkdir()
    os.chown(place, 65534, 65534)
    (place / "gapless.db-lock").touch(mode=0o600)
    (place / "gapless.db.lock").touch(mode=0o600)
    return None, {"cache.path": place / "gapless.db"}


def file_of_root(folder, program):
    for_nobody(folder)
    place = folder / "state"
    place.mkdir()
    os.chown(place, 65534, 65534)
    (place / "gapless.db").touch(mode=0o600)
    return None, {"cache.path": place / "gapless.db"}


def folder_of_root(folder, program):
    for_nobody(folder)
    (folder / "state").mkdir(mode=0o755)
    return None, {"cache.path": folder / "state/gapless.db"}


class Taken:
    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]

    def end(self):
        self.socket.close()


def taken_port(folder, program):
    taken = Taken()
    return taken, {"listen.public": f"127.0.0.1:{taken.port}"}


def damaged(folder, program):
    (folder / "gapless.db").write_bytes(b"\x00not a database" * 400)
    return None, {}


def of_no_version(folder, program):
    with contextlib.closing(sqlite3.connect(folder / "gapless.db")) as file:
        file.execute("pragma application_id = 0x47504C53")
        file.execute("pragma user_version = -3")
    return None, {}


def of_another_kind(folder, program):
    from .stage import Gateway
    gateway = Gateway(program, folder, {})
    gateway.start()
    gateway.put()
    gateway.write()
    gateway.process.terminate()
    gateway.process.wait()
    redis = Redis(folder / "redis")
    return redis, redis.settings


def broken_pages(folder, program):
    from .stage import Gateway
    gateway = Gateway(program, folder, {})
    gateway.start()
    gateway.put()
    gateway.process.terminate()
    gateway.process.wait()
    with (folder / "gapless.db").open("r+b") as file:
        file.seek(3 * 4096)
        file.write(os.urandom(4 * 4096))
    return None, {}


def full_disk(folder, program):
    disk, values = small_disk(folder, program)
    with (disk.place / "filling").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
    return disk, values


def one_port(folder, program):
    port = free_port()
    return None, {"listen.public": f"127.0.0.1:{port}", "listen.internal": f"0.0.0.0:{port}"}


def wrong_password(folder, program):
    redis = Redis(folder / "redis", "--requirepass", "right")
    return redis, {"upstream.kind": "redis",
                   "upstream.redis.url": f"redis://:wrong@127.0.0.1:{redis.port}/0"}


thing("start", "A key of the configuration is mistyped", "No such key.",
      "Correct the key: the error names the nearest one.",
      settings({"cache.retain_mesages": "10"}), starts=False)
thing("start", "A value is out of its range", "Or it is of another kind.",
      "Correct the value: the error says what is accepted.",
      settings({"limits.connections": "-1"}), starts=False)
thing("start", "The key of TLS does not belong to the certificate",
      "Two files of two renewals were mixed.", "Put both files of one renewal in place.",
      other_key, starts=False)
thing("start", "The certificate is no PEM", "A file of another format, or half a file.",
      "Convert it: `openssl x509 -inform der -in FILE -out FILE.pem`.", no_pem, starts=False)
thing("start", "The key of TLS has a passphrase", "A gateway can't ask for it.",
      "Remove it: `openssl pkey -in KEY -out PLAIN`.", encrypted_key, starts=False)
thing("start", "The file with the API keys is not there", "`auth.api_key_file` names no file.",
      "Make the file, a key a line: `(umask 077; openssl rand -hex 24 > FILE)`.",
      settings({"auth.api_key_file": "FOLDER/nothing"}), starts=False)
thing("start", "Open mode on an address that others reach", "Anybody could take any name.",
      "Set `auth.mode: jwt`, listen on loopback, or set `auth.allow_insecure`.",
      settings({"listen.public": "0.0.0.0:18999"}), starts=False)
thing("start", "Tokens are wanted, and there is no key to check them", "`auth.jwt.*` is empty.",
      "Give one of `auth.jwt.secret_file`, `public_key_file`, `jwks_file`.",
      settings({"auth.mode": "jwt"}), starts=False)
thing("start", "The folder of the file is not there", "`cache.path` is mistyped, or not mounted.",
      "Make the folder, or mount it.", settings({"cache.path": "FOLDER/none/gapless.db"}),
      starts=False)
thing("start", "`cache.path` is a folder", "It has to name a file in it.",
      "Add the file's name.", settings({"cache.path": "FOLDER"}), starts=False)
thing("start", "The file belongs to another user", "A gateway was started as root.",
      "`chown` it to the gateway's user.", file_of_root, launcher=NOBODY,
      starts=False)
thing("start", "The folder belongs to another user", "The gateway may not write there.",
      "`chown` it to the gateway's user.", folder_of_root, launcher=NOBODY,
      starts=False)
thing("start", "The lock file belongs to another user",
      "A command was run as root beside the gateway.",
      "`chown` it to the gateway's user. Keep it: it says how far clients know their lists.",
      lock_of_root, launcher=NOBODY, starts=False)
thing("start", "The port is taken", "Another program, or another gateway, listens there.",
      "`ss -ltnp` names the program: stop it, or choose another port.", taken_port, starts=False)
thing("start", "The address is not this machine's", "A wrong address, or an interface that is down.",
      "`ip address` shows the machine's addresses.",
      settings({"listen.public": "192.0.2.1:8000", "auth.allow_insecure": "true"}),
      starts=False)
thing("start", "`rediss://` with a file of authorities that is not there", "The path is mistyped.",
      "Correct `upstream.redis.tls.ca_file`.",
      settings({"upstream.kind": "redis", "upstream.redis.url": "rediss://127.0.0.1:6379/0",
                "upstream.redis.tls.ca_file": "FOLDER/none.pem"}), starts=False)
thing("start", "The pages of the embedded log contradict each other",
      "The disk failed, or a copy was cut.",
      "Restore a backup, or what sqlite3's `.recover` saves of it.", broken_pages, starts=False)
thing("start", "The disk is full before there is a file", "Something else filled it.", "Make room.",
      full_disk, starts=False)
thing("start", "Fewer descriptors than a gateway needs", "`LimitNOFILE` or `ulimit -n` is too low.",
      "Raise it: one for each connection, and 128.", None, starts=False,
      launcher=("prlimit", "--nofile=64:64"))
thing("start", "Both listeners have one port", "`0.0.0.0` means the address of the other too.",
      "Give `listen.internal` another port.", one_port, starts=False)
thing("start", "`cache.path` names a file of another program",
      "It is mistyped, or the first page of the embedded log is broken.",
      "Correct it, or restore a backup (`gapless backup` makes them). The file stays as it is.",
      damaged, starts=False)
thing("start", "The file is the log of an embedded gateway, and Redis is configured",
      "`upstream.kind` was changed, or `cache.path` mixed up.",
      "Give the cache another `cache.path`: the log is not touched.", of_another_kind,
      starts=False)
thing("start", "The file has no version", "Somebody changed `user_version`, or the first page is broken.",
      "Restore a backup. The file stays as it is.", of_no_version, starts=False)


# MARK: - Redis

#: All clients that are connected, but for the one that asks.
KILL = ("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
KILL_FEEDS = ("CLIENT", "KILL", "TYPE", "pubsub")


def redis(*arguments):
    def prepare(folder, program):
        server = Redis(folder / "redis", *arguments)
        return server, server.settings
    return prepare


def damaged_cache(folder, program):
    from .stage import Gateway
    server = Redis(folder / "redis")
    gateway = Gateway(program, folder, server.settings)
    gateway.start()
    gateway.process.terminate()
    gateway.process.wait()
    with (folder / "gapless.db").open("r+b") as file:
        file.write(bytes(64))
    return server, server.settings


def misconf(gateway, origin):
    origin.ask("CONFIG", "SET", "stop-writes-on-bgsave-error", "yes")
    origin.ask("CONFIG", "SET", "save", "1 1")
    # Where it is to save there is a folder of that name.
    (origin.folder / "dump.rdb").unlink(missing_ok=True)
    (origin.folder / "dump.rdb").mkdir()
    wait(lambda: b"MISCONF" in origin.ask("SET", "gapless-trouble", "1"), 60)


def unmisconf(gateway, origin):
    (origin.folder / "dump.rdb").rmdir()
    origin.ask("CONFIG", "SET", "save", "")
    origin.ask("BGSAVE")


def ask(*words):
    return lambda gateway, origin: origin.ask(*words)


def asks(*commands):
    return lambda gateway, origin: origin.asks(*commands)


def restart(gateway, origin):
    origin.process.kill()
    origin.process.wait()


def again(gateway, origin):
    origin.start()


def emptied(gateway, origin):
    origin.end()
    shutil.rmtree(origin.folder)
    origin.folder.mkdir()
    origin.start()


thing("redis", "Redis is killed", "The process, its machine or its container ended.",
      "Start it; the gateway comes back by itself, and fetches what it missed.", redis(), restart,
      again, ready=False)
thing("redis", "Redis hangs", "It is stopped, swaps, or runs a long script.",
      "Look at its `LATENCY DOCTOR` and `SLOWLOG GET`, or start it again.", redis(),
      lambda gateway, origin: origin.signal(signal.SIGSTOP),
      lambda gateway, origin: origin.signal(signal.SIGCONT), ready=False)
thing("redis", "Redis can't save its file (MISCONF)", "Its disk is full, or not writable.",
      "Make room where its `dir` is; its log says what failed.", redis(), misconf, unmisconf,
      seconds=10, ready=True)
thing("redis", "Redis has no memory left (OOM)", "`maxmemory` with `noeviction`.",
      "Raise `maxmemory`, or keep less (`upstream.redis.retain`).",
      redis("--maxmemory-policy", "noeviction"), ask("CONFIG", "SET", "maxmemory", "1mb"),
      ask("CONFIG", "SET", "maxmemory", "0"), ready=True)
thing("redis", "Redis lacks replicas (NOREPLICAS)", "`min-replicas-to-write`, and they are gone.",
      "Bring its replicas back.", redis(), ask("CONFIG", "SET", "min-replicas-to-write", "1"),
      ask("CONFIG", "SET", "min-replicas-to-write", "0"), ready=True)
thing("redis", "Redis may throw logs away", "`maxmemory-policy` is `allkeys-*`.",
      "`redis-cli config set maxmemory-policy noeviction`, and in its file.", redis(),
      ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru"),
      ask("CONFIG", "SET", "maxmemory-policy", "noeviction"), seconds=35, ready=True)
thing("redis", "Redis has become a replica",
      "There was a failover, and the gateway does not know the new master.",
      "Give `upstream.redis.sentinels`, or the master's address.", redis(),
      ask("REPLICAOF", "127.0.0.1", "1"), ask("REPLICAOF", "NO", "ONE"), seconds=8)
thing("redis", "The password of Redis was changed", "`requirepass` was set, and the links broke.",
      "Write the new one into `upstream.redis.password_file`, and start the gateway again.",
      redis(), asks(("CONFIG", "SET", "requirepass", "other"), ("AUTH", "other"), KILL, KILL_FEEDS),
      asks(("AUTH", "other"), ("CONFIG", "SET", "requirepass", "")), seconds=8, ready=False)
thing("redis", "The user of Redis may not do all that is needed (NOPERM)", "Its ACL was changed.",
      "Give it the rights that security.md names.", redis(),
      asks(("ACL", "SETUSER", "default", "-eval", "-evalsha")),
      asks(("ACL", "SETUSER", "default", "+@all")), seconds=8)
thing("redis", "Redis was emptied (FLUSHALL)", "Somebody ran the command.",
      "Restore its backup; clients forget and load what is there then.", redis(),
      ask("FLUSHALL"), lambda gateway, origin: gateway.put(), seconds=8)
thing("redis", "Redis came back without its data", "No `appendonly`, no save, or another volume.",
      "Restore its backup; make it durable.", redis(), emptied,
      lambda gateway, origin: gateway.put(), seconds=8)
thing("redis", "A key of a log is gone", "Somebody deleted it, or it was evicted.",
      "`gapless repair --conversation ID` makes a log of what is left.", redis(),
      lambda gateway, origin: [origin.ask("DEL", key) for key in keys_of(origin)[:1]], seconds=8)
thing("redis", "Redis takes no more connections", "`maxclients` is reached.",
      "Raise `maxclients`, or end what holds them (`CLIENT LIST`).", redis(),
      lambda gateway, origin: crowd_out(origin), lambda gateway, origin: let_in(origin),
      seconds=8, ready=False)
thing("redis", "The password of Redis is wrong from the start (WRONGPASS)", "A mistyped password.",
      "Correct `upstream.redis.password_file` or the URL.", wrong_password, lambda *_: None,
      ready=False, seconds=70, is_there=True)
thing("redis", "The cache's file is damaged", "The disk, or something that wrote into it.",
      "Nothing: the gateway put it aside and fills a new one. Look at the disk.", damaged_cache,
      lambda *_: None, ready=True, is_there=True)


def crowd_out(origin):
    """One connection stays, and is all that there may be."""
    origin.crowd = socket.create_connection(("127.0.0.1", origin.port), 2)
    for words in (("CONFIG", "SET", "maxclients", "1"), KILL, KILL_FEEDS):
        origin.crowd.sendall(b"*%d\r\n" % len(words) + b"".join(
            b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words))
        origin.crowd.recv(1000)


def let_in(origin):
    origin.crowd.sendall(b"*4\r\n$6\r\nCONFIG\r\n$3\r\nSET\r\n$10\r\nmaxclients\r\n$4\r\n1000\r\n")
    origin.crowd.recv(1000)
    origin.crowd.close()


def keys_of(origin):
    text = origin.ask("KEYS", "*ops*").decode(errors="replace")
    return sorted(line for line in text.split("\r\n") if "ops" in line and ":log" in line or
                  line.endswith("messages")) or sorted(
        line for line in text.split("\r\n") if "ops" in line)


# MARK: - Postgres

def postgres(folder, program):
    server = Postgres(folder, program)
    return server, server.settings


def without_schema(folder, program):
    server = Postgres(folder, program)
    server.sql("drop schema gapless cascade")
    return server, server.settings


def wrong_user(folder, program):
    server = Postgres(folder, program)
    return server, {"upstream.kind": "postgres",
                    "upstream.postgres.url": server.url.replace("gapless@", "nobody@")}


def wrong_database(folder, program):
    server = Postgres(folder, program)
    return server, {"upstream.kind": "postgres",
                    "upstream.postgres.url": server.url.replace("/postgres", "/nothing")}


thing("postgres", "Postgres is killed", "The process, its machine or its container ended.",
      "Start it; the gateway comes back by itself.", postgres,
      lambda gateway, origin: (origin.signal(signal.SIGQUIT), origin.process.wait()),
      lambda gateway, origin: origin.start(), ready=False)
thing("postgres", "Postgres hangs", "It is stopped, or its disk stands still.",
      "Look at its machine, and at `pg_stat_activity`.", postgres,
      lambda gateway, origin: stop_all(origin, signal.SIGSTOP),
      lambda gateway, origin: stop_all(origin, signal.SIGCONT), ready=False)
thing("postgres", "Postgres takes no writes", "`default_transaction_read_only`, or a standby.",
      "Point the gateway at the primary, or take the setting back.", postgres,
      lambda gateway, origin: (origin.sql(
          "alter system set default_transaction_read_only = on"), origin.sql(
          "select pg_reload_conf()")),
      lambda gateway, origin: (origin.sql(
          "alter system reset default_transaction_read_only"), origin.sql(
          "select pg_reload_conf()")), seconds=8)
thing("postgres", "A session holds a lock on the logs", "A migration, or an open transaction.",
      "Find it by `select pid, xact_start, query from pg_stat_activity order by 2`, and end it.",
      postgres,
      lambda gateway, origin: setattr(origin, "held", origin.hold(
          "begin; lock table gapless.conversations; select pg_sleep(300)")),
      lambda gateway, origin: origin.sql(
          "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(300)%'"
          " and pid <> pg_backend_pid()"), seconds=10, ready=True)
thing("postgres", "Postgres takes no more connections",
      "`max_connections` is reached. The log names a refused connection by `origin_full`.",
      "Raise it, or end what holds them; the gateway needs `upstream.postgres.connections` + 1.",
      postgres, lambda gateway, origin: crowd(origin), lambda gateway, origin: origin.sql(
          "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(299)%'"
          " and pid <> pg_backend_pid()"), seconds=8)
thing("postgres", "The schema of the logs is not there", "`gapless postgres install` was not run.",
      "Run it: `gapless postgres install --url URL`.", without_schema, starts=False)
thing("postgres", "The user of Postgres is not there", "A mistyped name, or a missing role.",
      "Correct `upstream.postgres.url`, or create the role.", wrong_user, lambda *_: None,
      ready=False, seconds=8, is_there=True)
thing("postgres", "The database is not there", "A mistyped name.",
      "Correct `upstream.postgres.url`.", wrong_database, lambda *_: None, ready=False, seconds=8,
      is_there=True)


def stop_all(origin, number):
    children = subprocess.run(["pgrep", "-P", str(origin.process.pid)], capture_output=True,
                              text=True, check=False).stdout.split()
    for process in [str(origin.process.pid), *children]:
        os.kill(int(process), number)


def crowd(origin):
    # Its owner, who is a superuser here, has three that nobody else takes.
    origin.sql("create role crowd login")
    origin.crowd = [origin.hold("select pg_sleep(299)", "crowd") for _ in range(30)]
    time.sleep(1)
    origin.sql("select pg_terminate_backend(pid) from pg_stat_activity where query like '%gapless%'"
               " and pid <> pg_backend_pid()")


# MARK: - The disk, the process

def bound(size):
    return lambda gateway, origin: subprocess.run(
        ["prlimit", f"--pid={gateway.process.pid}", f"--fsize={size}:"], check=True)


def descriptors(gateway, origin):
    gateway.crowd = []
    for _ in range(200):
        try:
            gateway.crowd.append(socket.create_connection(("127.0.0.1", gateway.port), 1))
        except OSError:
            break


def leave(gateway, origin):
    for link in gateway.crowd:
        link.close()


def removed(gateway, origin):
    for path in gateway.folder.glob("gapless.db*"):
        if not path.name.endswith("lock"):
            path.unlink()


def garbage(gateway, origin):
    with (gateway.folder / "gapless.db").open("r+b") as file:
        file.write(os.urandom(65536))


def other_file(gateway):
    """A log of another gateway, which has ended."""
    folder = gateway.folder / "other"
    folder.mkdir()
    other = type(gateway)(gateway.program, folder, {})
    other.start()
    other.put()
    other.process.terminate()
    other.process.wait()
    return folder / "gapless.db"


def moved_over(gateway, origin):
    other_file(gateway).rename(gateway.folder / "gapless.db")


def copied_over(gateway, origin):
    shutil.copyfile(other_file(gateway), gateway.folder / "gapless.db")


def without_log(gateway, origin):
    (gateway.folder / "gapless.db-wal").unlink()


def without_index(gateway, origin):
    (gateway.folder / "gapless.db-shm").unlink()


def cut_log(gateway, origin):
    os.truncate(gateway.folder / "gapless.db-wal", 0)


def put_back(folder, program):
    from .stage import Gateway
    gateway = Gateway(program, folder, {})
    gateway.start()
    subprocess.run(["sqlite3", folder / "gapless.db", f".backup {folder}/copy.db"], check=True)
    gateway.put()
    gateway.write()
    gateway.process.terminate()
    gateway.process.wait()
    for end in ["-wal", "-shm"]:
        (folder / f"gapless.db{end}").unlink(missing_ok=True)
    (folder / "copy.db").rename(folder / "gapless.db")
    return None, {}


def small_disk(folder, program):
    place = folder / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", place], check=True)

    class Disk:
        def end(self):
            subprocess.run(["umount", "-l", place], check=False)
    disk = Disk()
    disk.place = place
    return disk, {"cache.path": place / "gapless.db"}


def remount(how):
    return lambda gateway, origin: subprocess.run(
        ["mount", "-o", f"remount,{how}", origin.place], check=how == "rw")


def fill_up(gateway, origin):
    with (origin.place / "filling").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass


def broken_reload(gateway, origin):
    (gateway.folder / "gapless.json5").write_text("{ limits: { connections: 'many' } }")
    gateway.process.send_signal(signal.SIGHUP)


def with_file(folder, program):
    (folder / "gapless.json5").write_text("{}")
    return None, {}


def expiring(days):
    return lambda folder, program: (None, certificate(folder, days))


def expired(folder, program):
    found = certificate(folder)
    request = folder / "tls.csr"
    subprocess.run(["openssl", "req", "-new", "-key", folder / "tls.key", "-subj", "/CN=localhost",
                    "-out", request], check=True, capture_output=True)
    subprocess.run(["openssl", "x509", "-req", "-in", request, "-signkey", folder / "tls.key",
                    "-days", "-1", "-out", folder / "tls.pem"], check=True, capture_output=True)
    return None, found


def many_connections(folder, program):
    return None, {"limits.connections": "1000000"}


def new_file(folder, program):
    return None, {"cache.path": folder / "gaples.db"}


thing("disk", "The disk is full under the embedded log", "Something else filled it, or the log grew.",
      "Make room; the gateway tries every second.", None, bound(65536), bound("unlimited"),
      launcher=BOUNDED, ready=False)
thing("disk", "The disk is full under the cache (Redis)", "Something else filled it.",
      "Make room; the gateway tries every second, and fetches what it missed.", redis(),
      bound(65536), bound("unlimited"), launcher=BOUNDED, ready=False)
thing("disk", "No block is free on the disk", "The file system reports `ENOSPC`.", "Make room.", small_disk, fill_up,
      lambda gateway, origin: (origin.place / "filling").unlink(), ready=False)
thing("disk", "The embedded log's file was removed under the gateway", "Somebody deleted it.",
      "Copy the file from the folder that the error names before you stop the gateway: it is"
      " lost with the process.", None,
      removed, ready=False)
thing("disk", "The embedded log's file was written over", "Something wrote into it.",
      "Stop, and restore a backup.", None, garbage, seconds=8, ready=False)
thing("disk", "Another file was moved in the place of the embedded log's", "A restore under it.",
      "Put the first file back: until the process ends, its bytes are where the error says. To"
      " restore, stop the gateway first.",
      None, moved_over, seconds=8, ready=False)
thing("disk", "Another file was copied over the embedded log's", "A restore under it.",
      "Stop the gateway, and restore a backup.", None, copied_over, seconds=8, ready=False)
thing("disk", "The write-ahead log of the embedded log was removed", "Somebody deleted it.",
      "Stop the gateway with SIGTERM: it writes the removed log into the file. A kill loses it.",
      None, without_log, seconds=8, ready=False)
thing("disk", "The index of the write-ahead log was removed", "Somebody deleted it.",
      "Restart the gateway: SQLite makes it anew, and nothing is lost.", None, without_index,
      seconds=8, ready=False)
thing("disk", "The write-ahead log of the embedded log was cut", "`truncate`, or a disk's repair.",
      "Restart the gateway. It goes on with what the last checkpoint left, and clients learn"
      " what is lost. Or restore a backup that has more.", None, cut_log, seconds=8, ready=False)
thing("disk", "An older copy of the embedded log was put back", "A restore, with the gateway stopped.",
      "Nothing: clients forget what the copy lacks, and read their lists again.", put_back,
      lambda *_: None, ready=True, is_there=True)
thing("process", "There are no descriptors left", "More connections than `LimitNOFILE`.",
      "Raise `LimitNOFILE`, or lower `limits.connections`.", None, descriptors, leave,
      ready=True, launcher=("prlimit", "--nofile=160:160"))
thing("process", "More connections are allowed than there are descriptors",
      "`limits.connections` is above `LimitNOFILE`.", "Raise `LimitNOFILE`, or lower it.",
      many_connections, lambda *_: None, ready=True, is_there=True)
thing("process", "The certificate expires in ten days", "Nobody renewed it.",
      "Renew it, and reload (SIGHUP).", expiring(10), lambda *_: None, ready=True, is_there=True)
thing("process", "The certificate has expired", "Nobody renewed it: clients refuse to connect.",
      "Renew it, and reload (SIGHUP).", expired, lambda *_: None, ready=True, is_there=True)
thing("process", "A reload finds a wrong value", "The file was edited.",
      "Run `gapless checkconfig` on the file, correct it, and reload again.", with_file, broken_reload,
      ready=True)
thing("process", "`cache.path` is mistyped, and an empty log begins", "The old file is elsewhere.",
      "Stop, and correct `cache.path`.", new_file, lambda *_: None, ready=True, is_there=True)
