"""What a program is linked with, and which packages of Debian that comes from."""

import pathlib
import re
import subprocess

#: Loaded by name while the program runs: ldd does not show it.
LOADED = ["/usr/lib/{arch}/libwebsockets-evlib_ev.so", "/lib/{arch}/libnss_dns.so.2",
          "/lib/{arch}/libnss_files.so.2"]


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def multiarch():
    return run("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()


def libraries(program):
    """The paths of all shared libraries that the program needs, with the loader and what it loads
    by name."""
    loaded = [name.format(arch=multiarch()) for name in LOADED]
    wanted = {str(program)} | {path for path in loaded if pathlib.Path(path).exists()}
    found = wanted - {str(program)}
    for path in sorted(wanted):
        for line in run("ldd", path).splitlines():
            match = re.search(r"(?:=> )?(/\S+) \(0x", line)
            if match:
                found.add(match[1])
    return sorted(found)


def owner(path):
    """The package of a library; of two names of one file, the one that dpkg knows."""
    for name in [path, "/usr" + path, path.removeprefix("/usr"), str(pathlib.Path(path).resolve())]:
        done = subprocess.run(["dpkg-query", "--search", name], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    raise SystemExit(f"packages: no package owns {path}")


def packages(program):
    """The packages of all those libraries, by name, with their versions."""
    names = sorted({owner(path) for path in libraries(program)})
    return {name: run("dpkg-query", "--show", "--showformat=${Version}\n", name).split()[0]
            for name in names}


def licences(package):
    """The licences that a package's own copyright file names, or nothing if it names none."""
    text = pathlib.Path(f"/usr/share/doc/{package}/copyright").read_text(errors="replace")
    if "copyright-format" not in text:
        return []
    return sorted(set(re.findall(r"^License: *(\S.*?) *$", text, re.MULTILINE)))
