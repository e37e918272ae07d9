"""The contract for machines: openapi.yaml and asyncapi.yaml, shown to the tools that they are for,
and to the frames and answers of a gateway."""

import asyncio
import http.client
import json
import pathlib
import re
import tempfile
import unittest
import warnings

import jsonschema
import websockets
import yaml
from openapi_spec_validator import validate

from processes import API_KEY, DEPLOY, PATIENCE, PROGRAM, Gateway, Redis, run

with warnings.catch_warnings():
    # Of its own classes, which we do not change.
    warnings.simplefilter("ignore")
    from asyncapi3.models import AsyncAPI3

API = yaml.safe_load((DEPLOY / "reference/openapi.yaml").read_text())
SOCKET = yaml.safe_load((DEPLOY / "reference/asyncapi.yaml").read_text())
MESSAGES = SOCKET["channels"]["socket"]["messages"]
METHODS = {name for name, operation in SOCKET["operations"].items()
           if operation["action"] == "receive"}
EVENTS = {name for name in MESSAGES if name.startswith("event-")}
#: What a slow reader and a log that is recreated would be needed for.
NOT_CAUSED = {"event-gap", "event-reset"}


def references(value):
    """Each `$ref` of a document."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        value = list(value.values())
    if isinstance(value, list):
        for element in value:
            yield from references(element)


def resolve(document, reference):
    for part in reference.removeprefix("#/").split("/"):
        document = document[part.replace("~1", "/").replace("~0", "~")]
    return document


def fits(value, document, *place):
    """Fails where the value is not what this place of the document describes."""
    pointer = "#/" + "/".join(str(part).replace("~", "~0").replace("/", "~1") for part in place)
    schema = {"$ref": pointer, **document}
    validator = jsonschema.Draft202012Validator(
        schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
    validator.validate(value)


class Session:
    """One connection that shows every frame to the schemas, and keeps the names of those it had."""

    def __init__(self, socket):
        self.socket, self.count, self.seen = socket, 0, set()

    def take(self, text):
        frame = json.loads(text)
        if "event" in frame:
            self.show(frame, f"event-{frame['event']}")
        return frame

    def show(self, frame, name):
        fits(frame, SOCKET, "channels", "socket", "messages", name, "payload")
        self.seen.add(name)

    async def call(self, method, **params):
        """Asks, and gives the final answer."""
        self.count += 1
        request = {"id": self.count, "method": method, "params": params}
        self.show(request, f"request-{method}")
        await self.socket.send(json.dumps(request))
        while True:
            frame = self.take(await asyncio.wait_for(self.socket.recv(), PATIENCE))
            if frame.get("id") == self.count:
                if "error" in frame:
                    self.show(frame, "error")
                    return frame["error"]
                self.show(frame, f"result-{method}")
                if frame.get("cached") is not True:
                    return frame["result"]

    async def wait_for(self, event):
        async with asyncio.timeout(PATIENCE):
            while f"event-{event}" not in self.seen:
                self.take(await self.socket.recv())


async def chat(gateway, token, redis):
    """Every method at least once, and what they bring; the names of all that was seen."""
    url = f"ws://{gateway.address}/v1/ws"
    options = {"open_timeout": PATIENCE, "proxy": None}
    async with websockets.connect(url, **options) as one, websockets.connect(url, **options) as two:
        alice, bob = Session(one), Session(two)
        await alice.call("connect", token=token("alice"), client="a test")
        await bob.call("connect", token=token("bob"), unread=True)
        await alice.call("refresh", token=token("alice"))
        await bob.call("subscribeConversations")
        await alice.call("createConversation", id="ops", title="Ops", participants=["bob"])
        await bob.call("subscribeMessages", conversation="ops")
        await alice.call("sendMessage", conversation="ops", id="m1", body="one", own=[1, None])
        await alice.call("sendMessage", conversation="ops", id="m2", attachment={"a": 1})
        await alice.call("sendMessage", conversation="ops", id="m1", body="another")
        await alice.call("editMessage", conversation="ops", id="m1", body="first")
        await alice.call("editMessage", conversation="ops", id="m1", body="last", ifRev=1)
        await alice.call("deleteMessage", conversation="ops", id="m2")
        held = await alice.call("subscribeMessages", conversation="ops")
        have = {"head": held["head"], "asOf": held["asOf"], "runs": held["covers"]}
        await alice.call("sendMessage", conversation="ops", body="three")
        # Before an answer says the totals.
        await bob.wait_for("unread")
        await alice.call("subscribeMessages", conversation="ops", have=have, limit=10)
        await alice.call("fetchMessages", conversation="ops", around="m1", limit=1, order="asc")
        await alice.call("fetchMessages", conversation="ops", after={"time": "2026-11-29T12:00:00Z"})
        await alice.call("findBoundaries", conversation="ops", have=have)
        await alice.call("fetchConversation", conversation="ops")
        await bob.call("fetchConversations", limit=1)
        await alice.call("fetchParticipants", conversation="ops", limit=1, order_by="created_at")
        await alice.call("updateConversation", conversation="ops", title=None)
        for method in ("addParticipants", "addAdmins", "removeAdmins", "removeParticipants"):
            await alice.call(method, conversation="ops", users=["carol"])
        await bob.call("markRead", conversation="ops", seq=2)
        await alice.call("typing", conversation="ops", state="begin")
        for event in ("messages", "conversation", "conversations", "read", "typing"):
            await bob.wait_for(event)
        await alice.call("unsubscribeMessages", conversation="ops")
        await bob.call("leaveConversation", conversation="ops")
        await bob.wait_for("unsubscribed")
        await alice.call("deleteConversation", conversation="ops")
        await bob.call("unsubscribeConversations")
        await alice.wait_for("ping")
        gateway.call("POST", "/v1/users/bob/disconnect", {"reconnect": True})
        await bob.wait_for("goaway")
        redis.stop()
        await alice.wait_for("upstream")
        return alice.seen | bob.seen


class Contracts(unittest.TestCase):
    def test_the_server_api_is_openapi(self):
        validate(API)

    def test_the_socket_is_asyncapi(self):
        AsyncAPI3.model_validate(SOCKET)
        for reference in references(SOCKET):
            resolve(SOCKET, reference)
        for document in (API, SOCKET):
            for schema in document["components"]["schemas"].values():
                jsonschema.Draft202012Validator.check_schema(schema)

    def test_both_describe_the_same_objects(self):
        one, other = (document["components"]["schemas"] for document in (API, SOCKET))
        shared = (set(one) & set(other)) - {"Anchor"}
        self.assertGreater(len(shared), 10)
        for name in shared:
            self.assertEqual(one[name], other[name], name)

    def test_the_examples_of_the_page_are_what_is_described(self):
        """`{…}` in them stands for an object of section 6; one that leaves out more is not shown."""
        head = {"epoch": "e", "seq": 1, "rev": 2, "mark": "m", "floor": 1}
        time = "2026-11-29T12:00:00.000Z"
        message = {"id": "m1", "conversation": "ops", "seq": 1, "rev": 2, "author": "alice",
                   "createdAt": time, "editedAt": None, "deleted": True}
        conversation = {"id": "ops", "title": None, "participantCount": 0, "admins": [],
                        "metadata": {}, "createdAt": time, "updatedAt": time, "rev": 1,
                        "lastMessage": None, "head": head}
        objects = {"head": head, "message": message, "lastMessage": message,
                   "conversation": conversation}

        def named(match):
            return f'"{match[1]}":{json.dumps(objects[match[1]])}'

        shown = set()
        page = (DEPLOY / "reference/protocol.md").read_text()
        page = page[page.index("## 3. Methods"):page.index("## 6. Objects")]
        for section in page.split("\n### ")[1:]:
            name = section.split(maxsplit=1)[0]
            for line in section.split("```json\n")[-1].split("```")[0].splitlines():
                line = re.sub(r'"(\w+)":\{…\}', named, line)
                line = line.replace("[{…}]", json.dumps([conversation])).replace('…"', '"')
                if "…" in line or not line.startswith('{"'):
                    continue
                frame = json.loads(line)
                kind = ("error" if "error" in frame else f"event-{frame['event']}"
                        if "event" in frame else f"request-{frame['method']}"
                        if "method" in frame else f"result-{name}")
                fits(frame, SOCKET, "channels", "socket", "messages", kind, "payload")
                shown.add(kind)
        wanted = EVENTS | {f"request-{method}" for method in METHODS}
        self.assertEqual(set(), wanted - shown)

    def test_the_socket_says_what_is_described(self):
        with tempfile.TemporaryDirectory(prefix="gapless-deploy-") as folder, Redis() as redis:
            secret = pathlib.Path(folder, "secret")
            secret.write_text("a secret of the tests, 32 bytes or more\n")

            def token(user):
                status, said = run(PROGRAM, "gentoken", "--user", user, "--secret-file", secret)
                self.assertEqual(status, 0, said)
                return said.strip()

            settings = {
                "auth__mode": "jwt", "auth__jwt__secret_file": secret, "clients__create": "any",
                "limits__ping_interval": "1s", "upstream__kind": "redis",
                "upstream__redis__url": redis.url}
            with Gateway(**settings) as gateway:
                seen = asyncio.run(chat(gateway, token, redis))
        wanted = {f"{kind}-{method}" for kind in ("request", "result") for method in METHODS}
        self.assertEqual(wanted | EVENTS | {"error"}, seen | NOT_CAUSED)

    def test_the_server_api_says_what_is_described(self):
        seen = set()

        def call(method, path, place, body=None):
            connection = http.client.HTTPConnection(gateway.address, timeout=PATIENCE)
            try:
                connection.request(
                    method.upper(), path, None if body is None else json.dumps(body),
                    {"X-API-Key": API_KEY})
                reply = connection.getresponse()
                answer = json.loads(reply.read())
            finally:
                connection.close()
            answers = API["paths"][place][method]["responses"]
            answered = answers.get(str(reply.status), answers["default"])
            if "$ref" in answered:
                answered = resolve(API, answered["$ref"])
            schema = answered["content"]["application/json"]["schema"]
            fits(answer, {**API, "shown": schema}, "shown")
            self.assertTrue((reply.status < 400) == ("error" not in answer), answer)
            seen.add((place, method))
            return reply.status

        base = "/v1/conversations"
        one, messages = base + "/{id}", base + "/{id}/messages"
        message, person = messages + "/{mid}", base + "/{id}/participants/{user}"
        with Gateway() as gateway:
            fields = {"title": "Ops", "participants": ["alice", "bob"], "admins": ["bob"]}
            self.assertEqual(call("put", f"{base}/ops", one, fields), 201)
            self.assertEqual(call("put", f"{base}/ops", one, {"title": None}), 200)
            self.assertEqual(call("put", f"{base}/none", one, {"ifRev": 1}), 404)
            self.assertEqual(call("put", f"{base}/ops", one, {"title": "x", "ifRev": 1}), 409)
            first = {"id": "m1", "author": "alice", "body": "one", "own": [1]}
            self.assertEqual(call("post", f"{base}/ops/messages", messages, first), 201)
            self.assertEqual(call("post", f"{base}/ops/messages", messages, first), 200)
            first["body"] = "another"
            self.assertEqual(call("post", f"{base}/ops/messages", messages, first), 409)
            two = [{"author": "bob", "attachment": {}}, {"author": "eve", "body": ""}]
            self.assertEqual(call("post", f"{base}/ops/messages", messages, two), 201)
            self.assertEqual(call("post", f"{base}/ops/messages", messages, []), 400)
            self.assertEqual(call("get", f"{base}/ops/messages?around=id:m1", messages), 200)
            self.assertEqual(call("get", f"{base}/ops/messages/m1", message), 200)
            self.assertEqual(call("patch", f"{base}/ops/messages/m1", message, {"body": "1"}), 200)
            self.assertEqual(
                call("patch", f"{base}/ops/messages/m1", message, {"body": "2", "ifRev": 1}), 409)
            self.assertEqual(call("delete", f"{base}/ops/messages/m1", message), 200)
            self.assertEqual(call("delete", f"{base}/ops/messages/none", message), 404)
            self.assertEqual(call("put", f"{base}/ops/participants/carol", person), 201)
            self.assertEqual(
                call("put", f"{base}/ops/participants/carol", person, {"name": "Carol"}), 200)
            self.assertEqual(call("delete", f"{base}/ops/participants/carol", person), 200)
            self.assertEqual(
                call("get", f"{base}/ops/participants?limit=1", base + "/{id}/participants"), 200)
            changes = base + "/{id}/changes"
            self.assertEqual(call("get", f"{base}/ops/changes", changes), 200)
            self.assertEqual(call("get", f"{base}/ops/changes?since=1&mark=none", changes), 409)
            self.assertEqual(
                call("get", f"{base}/ops/boundaries", base + "/{id}/boundaries"), 200)
            self.assertEqual(call("get", f"{base}?user=bob&limit=1", base), 200)
            self.assertEqual(call("get", base, base), 400)
            self.assertEqual(call("get", f"{base}/ops", one), 200)
            self.assertEqual(call("post", "/v1/heads", "/v1/heads", {"ids": ["ops", "x"]}), 200)
            self.assertEqual(call("get", "/v1/gaps", "/v1/gaps"), 200)
            end = "/v1/users/{user}/disconnect"
            self.assertEqual(call("post", "/v1/users/bob/disconnect", end), 200)
            self.assertEqual(call("delete", f"{base}/ops", one), 200)
        described = {(place, method) for place, item in API["paths"].items()
                     for method in item if method != "parameters"}
        self.assertEqual(seen, described)


if __name__ == "__main__":
    unittest.main()
