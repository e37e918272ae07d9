"""What the page of the demonstration asks: presses of its buttons, how things stand, and the ways
to the gateways. On loopback, and only for that page."""

import asyncio
import json

HEAD_LIMIT = 16 << 10
#: A quiet stream says so often enough that a browser notices a dead one, in seconds.
BREATH = 10.0


class Control:
    """A small HTTP server."""

    def __init__(self, settings, links, press, state):
        self.address = settings.supervisor
        port = settings.address.rsplit(":", 1)[1]
        #: Another page of the browser must not kill gateways.
        self.origins = {
            f"http://{host}:{port}" for host in ("127.0.0.1", "localhost")
        } | {f"http://{settings.address}"}
        self.links = links
        self.press = press
        self.state = state
        self.version = 0
        self.news = asyncio.Condition()

    async def start(self):
        """Listens."""
        host, port = self.address.rsplit(":", 1)
        await asyncio.start_server(self._serve, host, int(port), limit=HEAD_LIMIT)

    def changed(self):
        """Something stands otherwise: tells the listeners."""
        asyncio.get_running_loop().create_task(self._tell())

    async def _tell(self):
        async with self.news:
            self.version += 1
            self.news.notify_all()

    async def _serve(self, reader, writer):
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
            lines = head.decode("latin-1").split("\r\n")
            method, target, _ = lines[0].split(" ", 2)
            fields = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
            # A page under another name that was pointed here has that name as its host.
            is_ours = fields.get("host") == self.address.lower()
            if not is_ours or fields.get("origin") not in self.origins:
                answer(writer, "403 Forbidden", None, {"error": "Origin: not the demonstration"})
            elif target.startswith("/links/"):
                await self._carry(target, lines, reader, writer)
                return
            else:
                await self._answer(method, target, fields["origin"], writer)
            await writer.drain()
        except (OSError, ValueError, asyncio.TimeoutError, asyncio.IncompleteReadError,
                asyncio.LimitOverrunError, asyncio.CancelledError):
            # A client that does not finish a request, or leaves, gets no answer; nor is there one
            # when everything stops.
            pass
        finally:
            writer.close()

    async def _carry(self, target, lines, reader, writer):
        link = self.links.get(target.removeprefix("/links/"))
        if link is None:
            answer(writer, "404 Not Found", None, {"error": "path: not found"})
            return
        address = link.target()
        kept = [line for line in lines[1:] if line
                and not line.lower().startswith(("host:", "origin:"))]
        head = "\r\n".join([
            "GET /v1/ws HTTP/1.1", f"Host: {address}", f"Origin: http://{address}", *kept, "", ""])
        await link.carry(head.encode("latin-1"), reader, writer)

    async def _answer(self, method, target, origin, writer):
        if method == "GET" and target == "/events":
            await self._stream(origin, writer)
        elif method == "POST" and target.startswith("/press/"):
            try:
                await self.press(target.removeprefix("/press/"))
            except KeyError:
                answer(writer, "404 Not Found", origin, {"error": "path: no such button"})
                return
            self.changed()
            answer(writer, "200 OK", origin, self.state())
        else:
            answer(writer, "404 Not Found", origin, {"error": "path: not found"})

    async def _stream(self, origin, writer):
        writer.write((
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
            f"Access-Control-Allow-Origin: {origin}\r\nConnection: close\r\n\r\n").encode())
        while True:
            writer.write(f"data: {json.dumps(self.state())}\n\n".encode())
            await writer.drain()
            seen = self.version
            async with self.news:
                try:
                    await asyncio.wait_for(
                        self.news.wait_for(lambda: self.version != seen), BREATH)
                except asyncio.TimeoutError:
                    # It says the same once more.
                    continue


def answer(writer, status, origin, value):
    """Writes an answer, which ends the connection."""
    body = json.dumps(value).encode()
    allowed = f"Access-Control-Allow-Origin: {origin}\r\n" if origin else ""
    writer.write((
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n"
        f"{allowed}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body)
