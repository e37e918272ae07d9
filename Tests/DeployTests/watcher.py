"""A client that comes back, and a backend that says everything until it is heard."""

import asyncio
import http.client
import json
import ssl

import websockets

from processes import API_KEY, PATIENCE

TRUSTING = ssl.create_default_context()
TRUSTING.check_hostname = False
TRUSTING.verify_mode = ssl.CERT_NONE


class Watcher:
    """One user's client by way of a proxy: it keeps what it is told, and when it is sent away it
    comes back with that. Follows the rules of the protocol for `have` and nothing else."""

    def __init__(self, port, user, conversation):
        self.url = f"wss://127.0.0.1:{port}/v1/ws?token=secret-word"
        self.user, self.conversation = user, conversation
        self.held, self.bodies = set(), {}
        self.as_of, self.head = 0, None
        self.connections, self.refused, self.codes = 0, 0, []

    async def run(self):
        while True:
            try:
                async with websockets.connect(
                        self.url, ssl=TRUSTING, open_timeout=PATIENCE, proxy=None) as socket:
                    self.connections += 1
                    await self.talk(socket)
            except websockets.ConnectionClosed as closed:
                self.codes.append(closed.rcvd.code if closed.rcvd else 1006)
            except (OSError, websockets.InvalidStatus, websockets.InvalidMessage, EOFError):
                self.refused += 1
            await asyncio.sleep(0.05)

    async def talk(self, socket):
        await self.ask(socket, 1, "connect", {"user": self.user})
        params = {"conversation": self.conversation, "limit": 1000}
        if self.head is not None:
            params["have"] = {"head": self.head, "asOf": self.as_of, "runs": self.runs()}
        await self.ask(socket, 2, "subscribeMessages", params)
        async for frame in socket:
            self.take(json.loads(frame))

    async def ask(self, socket, number, method, params):
        await socket.send(json.dumps({"id": number, "method": method, "params": params}))
        async for frame in socket:
            message = json.loads(frame)
            if message.get("id") == number:
                assert "result" in message, message
                return self.take(message["result"])
            self.take(message)

    def take(self, message):
        if message.get("conversation", self.conversation) != self.conversation \
                and isinstance(message["conversation"], str):
            return
        assert not message.get("reset") and message.get("event") != "reset", message
        for delta in message.get("deltas", []):
            self.bodies[delta["message"]["seq"]] = delta["message"].get("body")
        for low, high in message.get("covers", []):
            self.held.update(range(low, high + 1))
        for gap in message.get("gaps", []):
            self.held.difference_update(range(gap["after"] + 1, gap["before"]))
        if "asOf" in message:
            self.as_of, self.head = message["asOf"], message["head"]

    def runs(self):
        runs = []
        for seq in sorted(self.held):
            if runs and runs[-1][1] == seq - 1:
                runs[-1][1] = seq
            else:
                runs.append([seq, seq])
        return runs


class Backend:
    """Writes numbered messages through the proxy, each until it is acknowledged."""

    def __init__(self, port, conversation):
        self.port, self.conversation = port, conversation
        self.written, self.repeated, self.stopped = 0, 0, False

    def call(self, method, path, body):
        """The status; 0 where the connection broke."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, context=TRUSTING, timeout=PATIENCE)
        try:
            connection.request(
                method, f"/v1/conversations/{self.conversation}{path}", json.dumps(body),
                {"Authorization": f"Bearer {API_KEY}"})
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()

    async def run(self):
        while not self.stopped:
            message = {"id": f"m{self.written}", "author": "user-0", "body": f"text {self.written}"}
            while await asyncio.to_thread(self.call, "POST", "/messages", message) \
                    not in (200, 201):
                self.repeated += 1
                await asyncio.sleep(0.05)
            self.written += 1
            await asyncio.sleep(0.01)
