"""What deploy/release made, where somebody would use it: the package in an empty Debian, the image
without root and on a root that cannot be written, and the lists of what is in them."""

import hashlib
import http.client
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
import time
import unittest

from processes import PATIENCE, REPOSITORY, free_port, run, wait_until

VERSION = re.search(r'#define BUILD_VERSION "(.*)"',
                    (REPOSITORY / "Sources/CRelease/release.c").read_text())[1]
RELEASE = REPOSITORY / f".build/release-{VERSION}"
#: An empty Debian is made once; each test has a copy.
EMPTY = REPOSITORY / ".build/debian-empty.tar"
#: What a program does that has a root of its own.
MOUNTED = "mount -t proc none {root}/proc; mount --bind /dev {root}/dev; "


def released(pattern):
    found = list(RELEASE.glob(pattern))
    if len(found) != 1:
        raise AssertionError(f"{RELEASE} has {len(found)} of {pattern}; run deploy/release")
    return found[0]


def get(port, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except OSError:
        return None, ""
    finally:
        connection.close()


class Root:
    """A folder that is the root of what runs in it, in namespaces of its own."""

    def __init__(self, test):
        folder = tempfile.mkdtemp(prefix="gapless-root-", dir=REPOSITORY / ".build")
        test.addCleanup(shutil.rmtree, folder)
        self.path = pathlib.Path(folder)
        self.path.chmod(0o755)

    def words(self, command, user=None, read_only=False):
        script = MOUNTED.format(root=self.path)
        if read_only:
            script = (f"mount --bind {self.path} {self.path}; "
                      f"mount -t tmpfs -o uid={user},mode=0700 none {self.path}/var/lib/gapless; "
                      + script + f"mount -o remount,ro,bind {self.path}; ")
        who = f"--userspec={user}:{user} " if user else ""
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec",
                f"{script} exec chroot {who}{self.path} {command}"]

    def run(self, command, **more):
        return run(*self.words(command, **more))

    def files(self):
        """All paths, without what dpkg, apt and the tools of users write about themselves."""
        own = re.compile(r"^(var/(lib/(dpkg|apt|systemd)|cache|log)|tmp|proc|dev|run|root)(/|$)"
                         r"|^etc/(passwd|group|shadow|gshadow|subuid|subgid)-?$|\.lock$|^etc/ld.so.cache")
        found = set()
        for path in self.path.rglob("*"):
            name = str(path.relative_to(self.path))
            if not own.search(name):
                found.add(name)
        return found


class Service:
    """A gateway that runs in a root, until the `with` ends."""

    def __init__(self, root, command, **more):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            root.words(command, **more), stdout=self.log, stderr=self.log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def said(self):
        self.log.seek(0)
        return self.log.read()


@unittest.skipUnless(RELEASE.exists(), "deploy/release made nothing: the tree has changes")
class Packages(unittest.TestCase):
    def succeeds(self, status_and_text):
        status, said = status_and_text
        self.assertEqual(status, 0, said)
        return said

    def debian(self):
        if not EMPTY.exists():
            folder = REPOSITORY / ".build/debian-empty"
            shutil.rmtree(folder, ignore_errors=True)
            done = subprocess.run(
                ["debootstrap", "--variant=minbase", "bookworm", str(folder)],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
            self.assertEqual(done.returncode, 0, done.stdout[-2000:])
            subprocess.run(["tar", "--create", "--file", f"{EMPTY}.new", "--directory", str(folder),
                            "."], check=True)
            os.replace(f"{EMPTY}.new", EMPTY)
            shutil.rmtree(folder)
        root = Root(self)
        subprocess.run(["tar", "--extract", "--file", str(EMPTY), "--directory", str(root.path)],
                       check=True)
        shutil.copy("/etc/resolv.conf", root.path / "etc/resolv.conf")
        for name in ["sources.list", "apt.conf.d"]:
            source = pathlib.Path("/etc/apt") / name
            if source.is_dir():
                shutil.copytree(source, root.path / "etc/apt" / name, dirs_exist_ok=True)
            elif source.exists():
                shutil.copy(source, root.path / "etc/apt" / name)
        return root

    def install(self, root, package):
        shutil.copy(package, root.path / "srv" / package.name)
        command = ("env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet "
                   "--no-install-recommends -o Dpkg::Options::=--force-confold /srv/")
        return self.succeeds(root.run(command + package.name))

    def test_the_package_from_an_empty_debian_to_a_purge(self):
        root = self.debian()
        self.succeeds(root.run("apt-get update --quiet"))
        package = released("gapless_*.deb")
        # What it needs is installed first, so that only its own files are compared.
        depends = subprocess.run(
            ["dpkg-deb", "--field", str(package), "Depends"], check=True, capture_output=True,
            text=True).stdout
        names = [re.split(r"[ |(]", part.strip())[0] for part in depends.split(",")]
        self.succeeds(root.run(
            "env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet "
            "--no-install-recommends " + " ".join(names)))
        before = root.files()
        self.install(root, package)
        self.assertIn("gapless:", (root.path / "etc/passwd").read_text())
        self.assertEqual((root.path / "etc/gapless").stat().st_mode & 0o777, 0o750)
        self.assertEqual((root.path / "var/lib/gapless").stat().st_mode & 0o777, 0o700)
        self.assertEqual(
            self.succeeds(root.run("gapless checkconfig --config /etc/gapless/gapless.json5"))
            .splitlines()[0], "the configuration is valid")

        # A stranger's first message.
        public, internal = free_port(), free_port()
        guide = self.succeeds(root.run(
            f"gapless init /srv/first --public 127.0.0.1:{public} --internal 127.0.0.1:{internal}"))
        token = re.search(r"\?token=(\S+)", guide)[1]
        self.assertEqual(token.count("."), 2)
        with Service(root, "gapless serve --config /srv/first/gapless.json5") as gateway:
            wait_until(lambda: get(internal, "/health/ready")[0] == 200, gateway.said())
            status, page = get(public, "/")
            self.assertEqual(status, 200)
            self.assertIn("<title>", page)
            key = (root.path / "srv/first/api.key").read_text().strip()
            status, text = get(public, "/v1/conversations/welcome/messages",
                               Authorization=f"Bearer {key}")
            self.assertEqual(status, 200, text)
            self.assertEqual(len(json.loads(text)["messages"]), 1)

        # An upgrade keeps what the operator wrote.
        configuration = root.path / "etc/gapless/gapless.json5"
        configuration.write_text(configuration.read_text() + "// the operator's\n")
        self.install(root, self.other_version(package, "9.0.0"))
        self.assertTrue(configuration.read_text().endswith("// the operator's\n"))
        shown = self.succeeds(root.run("dpkg-query --show gapless"))
        self.assertEqual(shown.split()[1], "9.0.0")

        self.succeeds(root.run("apt-get remove --yes --quiet gapless"))
        self.assertTrue(configuration.exists())
        self.succeeds(root.run("apt-get purge --yes --quiet gapless"))
        self.assertEqual(root.files() - before, set())
        self.assertNotIn("gapless:", (root.path / "etc/passwd").read_text())

    def other_version(self, package, version):
        """The same package, as if it were another version."""
        folder = tempfile.mkdtemp(prefix="gapless-package-")
        self.addCleanup(shutil.rmtree, folder)
        tree = pathlib.Path(folder) / "tree"
        subprocess.run(["dpkg-deb", "--raw-extract", str(package), str(tree)], check=True)
        control = tree / "DEBIAN/control"
        control.write_text(re.sub("(?m)^Version: .*$", f"Version: {version}", control.read_text()))
        made = pathlib.Path(folder) / f"gapless_{version}.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "--build", str(tree), str(made)],
                       check=True, capture_output=True)
        return made

    def test_the_package_has_no_error(self):
        status, said = run("lintian", "--fail-on", "error", released("gapless_*.deb"))
        self.assertEqual(status, 0, said)

    def test_the_image_runs_without_root_on_a_root_that_is_read_only(self):
        image = released("gapless-*-image-*.tar")
        self.assertLess(image.stat().st_size, 60 << 20)
        config = json.loads(self.succeeds(run(
            "skopeo", "inspect", "--config", f"oci-archive:{image}")))["config"]
        user = config["User"].split(":")[0]
        self.assertNotIn(user, ["", "0", "root"])
        root = Root(self)
        folder = tempfile.mkdtemp(prefix="gapless-image-")
        self.addCleanup(shutil.rmtree, folder)
        self.succeeds(run("skopeo", "copy", f"oci-archive:{image}", f"dir:{folder}"))
        manifest = json.loads((pathlib.Path(folder) / "manifest.json").read_text())
        for layer in manifest["layers"]:
            name = layer["digest"].removeprefix("sha256:")
            with tarfile.open(pathlib.Path(folder) / name) as archive:
                archive.extractall(root.path, filter="tar", numeric_owner=True)
        for name in ["proc", "dev"]:
            (root.path / name).mkdir(exist_ok=True)
        public, internal = free_port(), free_port()
        variables = " ".join([
            *config["Env"], f"GAPLESS_LISTEN_PUBLIC=127.0.0.1:{public}",
            f"GAPLESS_LISTEN_INTERNAL=127.0.0.1:{internal}"])
        # No shell is in it: the variables are those of the chroot, which keeps them.
        command = " ".join(config["Entrypoint"] + config["Cmd"])
        words = root.words(f"{command} --set=cache.path=/var/lib/gapless/gapless.db", user=user,
                           read_only=True)
        with tempfile.TemporaryFile("w+") as log:
            process = subprocess.Popen(
                words, stdout=log, stderr=log,
                env=dict(word.split("=", 1) for word in variables.split()) | {
                    "PATH": os.environ["PATH"]})
            try:
                deadline = time.monotonic() + PATIENCE
                while get(internal, "/health/ready")[0] != 200:
                    if time.monotonic() > deadline:
                        log.seek(0)
                        raise AssertionError(log.read())
                    time.sleep(0.1)
                self.assertEqual(get(public, "/")[0], 200)
                test = self.health_check(image)
                status, said = run(*root.words(
                    f"{' '.join(test)} --set=listen.internal=127.0.0.1:{internal}", user=user))
                self.assertEqual(status, 0, said)
            finally:
                process.kill()
                process.wait()

    def health_check(self, image):
        """The words of the health check, which skopeo does not show."""
        with tarfile.open(image) as archive:
            def blob(digest):
                return json.load(archive.extractfile(f"blobs/sha256/{digest.split(':')[1]}"))
            index = json.load(archive.extractfile("index.json"))
            config = blob(blob(index["manifests"][0]["digest"])["config"]["digest"])
        kind, *words = config["config"]["Healthcheck"]["Test"]
        self.assertEqual(kind, "CMD")
        return words

    def test_the_sums_are_those_of_the_files(self):
        named = set()
        for line in (RELEASE / "SHA256SUMS").read_text().splitlines():
            digest, name = line.split()
            named.add(name)
            self.assertEqual(hashlib.sha256((RELEASE / name).read_bytes()).hexdigest(), digest)
        self.assertEqual(named, {file.name for file in RELEASE.iterdir()} - {"SHA256SUMS"})

    def test_the_list_of_parts_names_each_with_version_and_licence(self):
        document = json.loads(released("*.spdx.json").read_text())
        names = {part["name"] for part in document["packages"]}
        for wanted in ["gapless", "swift-runtime", "libwebsockets17", "libsqlite3-0", "libssl3"]:
            self.assertIn(wanted, names)
        for part in document["packages"]:
            self.assertTrue(part["versionInfo"] and part["comment"], part)


if __name__ == "__main__":
    unittest.main()
