"""The page of what can be wrong, as `deploy/reference/trouble.md` has it."""

import json
import re

from .stage import RESTLESS, plain

HEAD = """# When something is wrong

Each trouble here was really caused at a gateway, by `make trouble`, which writes this page. Search
it for the code of a log line (`event`) or for words of the line. [events.md](events.md) has the
`message` and `remedy` of each code, [metrics.md](metrics.md) the metrics;
[lost-message.md](lost-message.md) says what became of one message.

- `/health` names each trouble by the same code. *Health* gives its `status` and these codes.
- *Ready* says when `/health/ready` answers 503. Where it stays 200, the gateway serves what it has;
  taking it out of service would only move its clients.
- *Writes* is the answer to a write of the server API, and so the error of a client's write.
- Where an origin is offline, the log has `feed_broken` and `upstream_state_changed` too.
- *Alerts* fire when their condition has lasted for as long as `../monitoring/alerts.yml` says. Each
  line of level `error` raises `GaplessErrorsLogged` too.
- Names that differ are written as `DIR`, `HOST:PORT` and `PID`.

"""
#: The parts of the page.
PARTS = {
    "start": "The gateway does not start", "redis": "Redis", "postgres": "Postgres",
    "disk": "The file of `cache.path`", "process": "The process"}
#: Lines of any start, and of any outage of an origin.
USUAL = {
    "listening", "page_served", "origin_connected", "upstream_state_changed", "feed_broken",
    "cache_writable"}
#: What says no more than the code does, or differs at each run.
OMITTED = {"level", "event", "time", "message", "remedy", "origin", "path", "for_s", "generation"}
#: Metrics that say more than health does.
TELLING = re.compile("^gapless_refused_")
#: Where the machine of the test has as many descriptors.
DEFAULT = "limits.connections=20000 "
LONGEST = 220


def changed(found):
    """The metrics that the fault moved: name, before and after."""
    before, after = found.get("metrics", ({}, {}))
    return [(name, before.get(name, 0), after[name]) for name in sorted(after)
            if before.get(name, 0) != after[name] and not RESTLESS.search(name)]


def alerts(found):
    after = found.get("metrics", ({}, {}))[1]
    if not after and "exit" in found:
        return ["GaplessDown"] if found["exit"] is not None else []
    rising = {name.split("{")[0] for name, old, new in changed(found) if new > old}
    fired = []
    for name, value in after.items():
        if name.startswith("gapless_upstream_state") and 'state="offline"' in name and value == 1:
            fired.append("GaplessUpstreamOffline")
    if after.get("gapless_cache_writable") == 0:
        fired.append("GaplessCacheNotWritable")
    if after.get("gapless_upstream_troubled") == 1 and after.get("gapless_ready") == 1:
        fired.append("GaplessUpstreamTroubled")
    if after.get("gapless_ready") == 0:
        fired.append("GaplessNotReady")
    if "gapless_failed_commits_total" in rising:
        fired.append("GaplessCommitsFail")
    if "gapless_refused_connections_total" in rising:
        fired.append("GaplessDescriptorsShort")
    left = after.get("gapless_certificate_days_left")
    if left is not None and left < 30:
        fired.append("GaplessCertificateExpires")
    if left is not None and left < 3:
        fired.append("GaplessCertificateNearItsEnd")
    return fired


def readiness(found):
    if "exit" in found:
        return "does not start" if found["exit"] is not None else "**starts**"
    if "flaps" not in found:
        return "?"
    if found["down"] is None:
        return "stays 200"
    return f"503 after {max(0.0, found['down']):.1f} s"


def row(number, found):
    return f"{number:3} {found['thing'].title}: {readiness(found)}" + "".join(
        f"\n      FAULT {fault}" for fault in found["faults"])


def fields(line):
    """What a line of the log says, by name."""
    found = re.findall(r'([\w.]+)=("(?:[^"\\]|\\.)*"|\S+)', line)
    return {name: json.loads(value) if value.startswith('"') else value for name, value in found}


def shortened(text):
    return text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0] + " …"


def words(line):
    """The code of a line, and what it says beside it."""
    said = fields(line)
    if "event" not in said:
        return "", line
    texts = [value if name in ("error", "notice") else f"{name}={value}"
             for name, value in said.items() if name not in OMITTED]
    return said["event"], " ".join(texts)


def log(found):
    """Each code once, with its different texts."""
    said = {}
    for code, text in map(words, found.get("log", [])):
        if "still so, " in text or text.startswith(DEFAULT):
            continue
        texts = said.setdefault(code, [])
        if text and text not in texts:
            texts.append(text)
    return {code: texts for code, texts in said.items() if code not in USUAL} or {
        code: texts for code, texts in said.items() if code == "listening"}


def refused_starts(results):
    """A row for each: all have the same code, alert and answer of `checkconfig`."""
    text = "The log says `start_failed`, with the `error` below. `gapless checkconfig` finds it" \
           " too, in the same words unless others are given. The alert is `GaplessDown`.\n\n" \
           "| what is wrong | `error` | what to do |\n|---|---|---|\n"
    for found in results:
        thing = found["thing"]
        errors = [error for texts in log(found).values() for error in texts]
        said = found["check"][1].removeprefix("gapless checkconfig: ")
        cell = "<br>".join(f"`{shortened(error)}`" for error in errors)
        if not any(error in said for error in errors):
            cell += f"<br>`checkconfig`: `{shortened(said.removeprefix('cache.path: '))}`"
        text += f"| {thing.title}. {thing.why} | {cell} | {thing.do} |\n"
    return text


def entry(found):
    """What is seen of one trouble."""
    thing = found["thing"]
    text = f"\n### {thing.title}\n\n{thing.why} **Do:** {thing.do}\n\n"
    texts = log(found)
    for code, said in texts.items():
        text += f"- Log: `{code}`"
        text += (f": `{'`, `'.join(map(shortened, said))}`" if said else "") + "\n"
    states = found.get("states", [])
    status, codes, troubles = "ok", {}, {}
    for state in states:
        status = state[3] if state[3] != "ok" else status
        for one in json.loads(state[5]):
            codes[one["code"]] = None
        if state[4]:
            troubles[plain(state[4])] = None
    text += f"- Health: `{status}`" + (f" (`{'`, `'.join(codes)}`)" if codes else "") + "\n"
    said = " ".join(one for many in texts.values() for one in many)
    for trouble in troubles:
        if trouble not in said:
            text += f"- Its words: `{shortened(trouble)}`\n"
    text += f"- Ready: {readiness(found)}"
    if "healed" in found and found["down"] is not None:
        text += f"; 200 again {found['healed']:.0f} s after it was put right"
    text += "\n"
    for status, answer in found.get("answers", []):
        if status not in (0, 200, 201):
            code, _, message = answer.partition(": ")
            text += f"- Writes: {status} `{code}` ({message})\n"
    moved = [f"`{name}`" for name, _, _ in changed(found) if TELLING.search(name)]
    if moved:
        text += "- Metric: " + ", ".join(moved) + "\n"
    if alerts(found):
        text += "- Alerts: " + ", ".join(f"`{name}`" for name in alerts(found)) + "\n"
    code, said = found.get("check", (0, ""))
    return text + (f"- `checkconfig`: {said}\n" if code else "")


def write(path, results):
    text = HEAD
    for kind, title in PARTS.items():
        starts = [found for _, found in results if "exit" in found and kind == "start"]
        others = [found for _, found in results
                  if "exit" not in found and found["thing"].kind == kind]
        if starts or others:
            text += f"## {title}\n"
        if starts:
            text += "\n" + refused_starts(starts)
        text += "".join(map(entry, others)) + "\n"
    path.write_text(text.rstrip() + "\n")
