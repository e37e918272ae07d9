"""A fault that nothing outside of a process can cause: a number in its memory changes."""

import pathlib
import subprocess

from processes import PROGRAM

#: What the loop calls in each turn, with the engine at hand, and where in it the books begin.
TURN = "$s6EngineAAC7endTurn2at7instanty4Chat9TimestampV_s8DurationVtF"
BOOKS = "$s6EngineAAC5booksAA5BooksVvpWvd"


def symbols():
    """The addresses of both in the program's file."""
    table = subprocess.run(["nm", PROGRAM], text=True, capture_output=True, check=True).stdout
    words = [line.split() for line in table.splitlines()]
    found = {word[-1]: int(word[0], 16) for word in words if word[-1] in (TURN, BOOKS)}
    return found[TURN], found[BOOKS]


def add_to_books(process, amount):
    """Adds to the deltas that the gateway takes for accepted, by a debugger."""
    program = str(pathlib.Path(PROGRAM).resolve())
    maps = pathlib.Path(f"/proc/{process.pid}/maps").read_text().splitlines()
    base = min(int(line.split("-")[0], 16) for line in maps if line.endswith(program))
    turn, books = symbols()
    words = ["gdb", "-batch", "-nx", "-p", str(process.pid)]
    for command in [
            f"tbreak *{base + turn}", "continue",
            # Swift hands the object of a method over in this register.
            f"set $accepted = (long *)($r13 + *(long *){base + books})",
            f"set *$accepted = *$accepted + {amount}", "detach"]:
        words += ["-ex", command]
    done = subprocess.run(words, text=True, capture_output=True, timeout=60)
    assert "detached" in done.stdout, done.stdout + done.stderr
