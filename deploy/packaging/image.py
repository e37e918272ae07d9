"""Makes an OCI image: the program, the page and the libraries that it needs, and nothing else. It
has no shell and no package manager, and runs without root on a root that may be read-only.

    image.py STAGE VERSION FILE

FILE is a tar of an OCI image layout, which `podman load`, `skopeo copy oci-archive:` and the
registries read. The image has two layers, the libraries and the program, so that a new version
sends only the second one.
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import sys
import tarfile
from datetime import datetime, timezone

import linked

USER = 10001
#: What programs look up by name, and what says whom they trust.
FILES = {
    "etc/passwd": f"gapless:x:{USER}:{USER}::/var/lib/gapless:/nonexistent\n",
    "etc/group": f"gapless:x:{USER}:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
WHEN = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))


class Layer:
    """A layer: a tar whose bytes depend on nothing but what is in it."""

    def __init__(self):
        self.entries = {}

    def folder(self, path, mode=0o755, user=0):
        for parent in reversed(pathlib.PurePosixPath(path).parents):
            if str(parent) != "." and str(parent) not in self.entries:
                self.entries[str(parent)] = (tarfile.DIRTYPE, 0o755, 0, b"")
        self.entries[path] = (tarfile.DIRTYPE, mode, user, b"")

    def file(self, path, content, mode=0o644):
        parent = str(pathlib.PurePosixPath(path).parent)
        if parent not in self.entries:
            self.folder(parent)
        self.entries[path] = (tarfile.REGTYPE, mode, 0, content)

    def tar(self):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path, (kind, mode, user, content) in sorted(self.entries.items()):
                info = tarfile.TarInfo(path)
                info.type, info.mode, info.uid, info.gid = kind, mode, user, user
                info.size, info.mtime = len(content), WHEN
                archive.addfile(info, io.BytesIO(content))
        return out.getvalue()


def libraries(program):
    layer = Layer()
    for path in linked.libraries(program):
        layer.file(path.lstrip("/"), pathlib.Path(path).read_bytes(), 0o755)
    for path, text in FILES.items():
        layer.file(path, text.encode())
    layer.file(AUTHORITIES.lstrip("/"), pathlib.Path(AUTHORITIES).read_bytes())
    layer.folder("tmp", 0o1777)
    # What a container mounts there.
    layer.folder("proc")
    layer.folder("dev")
    layer.folder("var/lib/gapless", 0o700, USER)
    for name, version in linked.packages(program).items():
        text = pathlib.Path(f"/usr/share/doc/{name}/copyright").read_bytes()
        layer.file(f"usr/share/doc/{name}/copyright", f"{name} {version}\n\n".encode() + text)
    return layer


def program_layer(stage):
    layer = Layer()
    for path in sorted(stage.rglob("*")):
        if path.is_file():
            mode = 0o755 if path.parent.name == "bin" else 0o644
            layer.file(f"usr/local/{path.relative_to(stage)}", path.read_bytes(), mode)
    return layer


def main(stage, version, target):
    stage = pathlib.Path(stage)
    blobs = {}

    def keep(content):
        digest = hashlib.sha256(content).hexdigest()
        blobs[digest] = content
        return f"sha256:{digest}"

    tars = [libraries(stage / "bin/gapless").tar(), program_layer(stage).tar()]
    packed = [gzip.compress(tar, 9, mtime=0) for tar in tars]
    created = datetime.fromtimestamp(WHEN, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {
        "org.opencontainers.image.title": "gapless",
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.revision": os.environ.get("BUILD_COMMIT", "unknown"),
        "org.opencontainers.image.licenses": "Apache-2.0"}
    config = json.dumps({
        "created": created, "architecture": linked.run("dpkg", "--print-architecture").strip(),
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}", "WorkingDir": "/var/lib/gapless",
            "Env": ["PATH=/usr/local/bin", "GAPLESS_LISTEN_PUBLIC=0.0.0.0:8000",
                    "GAPLESS_LISTEN_INTERNAL=0.0.0.0:9000"],
            "Entrypoint": ["/usr/local/bin/gapless"], "Cmd": ["serve"],
            "ExposedPorts": {"8000/tcp": {}, "9000/tcp": {}}, "Volumes": {"/var/lib/gapless": {}},
            "StopSignal": "SIGTERM", "Labels": labels,
            # Whether it lives, not whether it is ready: without its origin it still serves.
            "Healthcheck": {
                "Test": ["CMD", "/usr/local/bin/gapless", "live"], "Interval": 10_000_000_000,
                "Timeout": 5_000_000_000, "StartPeriod": 30_000_000_000, "Retries": 6}},
        "rootfs": {"type": "layers",
                   "diff_ids": [f"sha256:{hashlib.sha256(tar).hexdigest()}" for tar in tars]},
        "history": [{"created": created, "created_by": "deploy/release: libraries"},
                    {"created": created, "created_by": "deploy/release: program"}],
    }, sort_keys=True).encode()
    manifest = json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json",
                   "digest": keep(config), "size": len(config)},
        "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip",
                    "digest": keep(layer), "size": len(layer)} for layer in packed],
        "annotations": labels}, sort_keys=True).encode()
    index = json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [{"mediaType": "application/vnd.oci.image.manifest.v1+json",
                       "digest": keep(manifest), "size": len(manifest),
                       "annotations": {"org.opencontainers.image.ref.name": f"gapless:{version}"}}],
    }, sort_keys=True).encode()
    layout = Layer()
    layout.file("oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
    layout.file("index.json", index)
    for digest, content in blobs.items():
        layout.file(f"blobs/sha256/{digest}", content)
    layout.entries.pop(".", None)
    pathlib.Path(target).write_bytes(layout.tar())


if __name__ == "__main__":
    main(*sys.argv[1:])
