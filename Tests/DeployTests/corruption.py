"""A fault that nothing outside of a process can cause: a number in its memory changes."""

import pathlib
import subprocess

from processes import PROGRAM

#: What the loop calls in each turn, with the engine at hand.
TURN = "$s6EngineAAC7endTurn2at7instantAA0C0V4Chat9TimestampV_s8DurationVtF"
#: Where in each of them the next one is, from the engine to the accounting of all deltas, which
#: begins with those that were accepted.
FIELDS = [
    "$s6EngineAAC11connectionsAA11ConnectionsCvpWvd",
    "$s6Engine11ConnectionsC6fanoutAA6FanoutCvpWvd",
    "$s6Engine6FanoutC8deliveryAA8DeliveryVvpWvd",
]


def symbols():
    """The addresses of all of them in the program's file."""
    table = subprocess.run(["nm", PROGRAM], text=True, capture_output=True, check=True).stdout
    words = [line.split() for line in table.splitlines()]
    found = {word[-1]: int(word[0], 16) for word in words if word[-1] in (TURN, *FIELDS)}
    return found[TURN], [found[field] for field in FIELDS]


def add_to_books(process, amount):
    """Adds to the deltas that the gateway takes for accepted, by a debugger."""
    program = str(pathlib.Path(PROGRAM).resolve())
    maps = pathlib.Path(f"/proc/{process.pid}/maps").read_text().splitlines()
    base = min(int(line.split("-")[0], 16) for line in maps if line.endswith(program))
    turn, fields = symbols()
    # Swift hands the object of a method over in this register.
    place = "$r13"
    for at, field in enumerate(fields):
        place = f"({place} + *(long *){base + field})"
        if at + 1 < len(fields):
            place = f"*(long *){place}"
    words = ["gdb", "-batch", "-nx", "-p", str(process.pid)]
    for command in [
            f"tbreak *{base + turn}", "continue",
            f"set $accepted = (long *){place}",
            f"set *$accepted = *$accepted + {amount}", "detach"]:
        words += ["-ex", command]
    done = subprocess.run(words, text=True, capture_output=True, timeout=60)
    assert "detached" in done.stdout, done.stdout + done.stderr
