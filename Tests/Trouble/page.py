"""The table of what can be wrong, as `deploy/reference/trouble.md` has it."""

import json
import re

from .stage import RESTLESS, plain

HEAD = """# When something is wrong

What an operator sees of each thing that can go wrong, word for word, and what to do. Each was
really done to a gateway: `Tests/trouble PROGRAM` does it again and writes this page. Look for the
line of the log, or for the words of `/health`, and go on with *do*. Lines of the log are shown
without `message` and `remedy`, which [events.md](events.md) has for each code. What a metric means
is in [metrics.md](metrics.md), what became of one message says [lost-message.md](lost-message.md).

*Ready* says when `/health/ready` answers 503: where it stays 200 on purpose, what the gateway has
is served, and taking it out of service would only move its clients. *Alert* is the one whose
condition held; it fires when that has lasted for as long as `../monitoring/alerts.yml` says.

"""


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
    if any("level=error" in line for line in found.get("log", [])):
        fired.append("GaplessErrorsLogged")
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


def lines(found):
    """Each line of the log once, without its time and what its code says already."""
    seen = []
    for line in found.get("log", []):
        line = re.sub(r'^time=\S+ | (message|remedy)=("[^"]*"|\S+)', "", line)
        if line not in seen:
            seen.append(line)
    return seen[:8]


def write(path, results):
    text = HEAD + "| | what is wrong | ready | alert |\n|---|---|---|---|\n"
    for number, found in results:
        title = found["thing"].title
        text += f"| [{number}](#{number}) | {title} | {readiness(found)} | "
        text += ", ".join(f"`{name}`" for name in alerts(found)) + " |\n"
    for number, found in results:
        thing = found["thing"]
        text += f"\n## {number}\n\n**{thing.title}.** {thing.why}\n\n- Do: {thing.do}\n"
        text += f"- Ready: {readiness(found)}"
        if "healed" in found:
            text += f"; 200 again {found['healed']:.0f} s after it was put right"
        text += f"; changes of readiness: {found['flaps']}\n" if "flaps" in found else "\n"
        for line in lines(found):
            text += f"- Log: `{line}`\n"
        states = found.get("states", [])
        for reasons in dict.fromkeys(state[2] for state in states if state[2]):
            text += f"- `/health/ready`: {plain('; '.join(reasons))}\n"
        for status, trouble, troubles in dict.fromkeys(
                (state[3], state[4], state[5]) for state in states):
            text += f"- `/health`: `{status}`" + (
                f", `trouble`: {plain(trouble)}" if trouble else "") + "\n"
            for one in json.loads(troubles):
                what = "" if one["what"] == trouble else plain(one["what"]) + " "
                text += f"  - `{one['code']}`: {what}{one['remedy']}\n"
        for status, words in found.get("answers", []):
            if status not in (200, 201):
                text += f"- A write is answered: {status or 'no answer'} {words}\n"
        moved = [f"`{name}` {old:g} → {new:g}" for name, old, new in changed(found)]
        if moved:
            text += "- Metrics: " + ", ".join(moved[:8]) + "\n"
        if alerts(found):
            text += "- Alert: " + ", ".join(alerts(found)) + "\n"
        code, said = found.get("check", (0, ""))
        text += f"- `checkconfig`: {'valid' if code == 0 else said}\n"
    path.write_text(text)
