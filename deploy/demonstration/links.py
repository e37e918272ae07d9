"""The ways of alice and bob to their gateways, which can be cut and made slow."""

import asyncio
import socket

#: What a slow link carries, in bytes a second.
SLOW = 5000
PIECE = 500
#: Small, so that little stands between a gateway and a reader that has become slow: otherwise the
#: kernel would hold megabytes of what alice has not seen, and nobody would have to say so.
SEGMENT, RECEIVE_BUFFER = 536, 4 << 10


class Link:
    """What carries one person's connections to the gateway `target`."""

    def __init__(self, target):
        self.target = target
        self.is_cut = False
        self.is_slow = False
        self._ends = set()

    def cut(self):
        """Breaks what stands, and lets nothing through until `mend`."""
        self.is_cut = True
        for end in list(self._ends):
            end.transport.abort()

    def mend(self):
        """Carries again."""
        self.is_cut = False

    async def carry(self, head, reader, writer):
        """Carries a connection whose request was read until either side ends it."""
        server = None
        try:
            if self.is_cut:
                writer.transport.abort()
                return
            incoming, server = await self._connect()
            self._ends |= {server, writer}
            server.write(head)
            ways = [self._pump(reader, server, False), self._pump(incoming, writer, True)]
            done, rest = await asyncio.wait(
                [asyncio.create_task(way) for way in ways], return_when=asyncio.FIRST_COMPLETED)
            for way in rest:
                way.cancel()
            await asyncio.gather(*done, *rest, return_exceptions=True)
        except OSError:
            # Nobody is there, which is how a dead gateway looks from outside.
            pass
        finally:
            for end in filter(None, (server, writer)):
                self._ends.discard(end)
                end.close()

    async def _connect(self):
        host, port = self.target().rsplit(":", 1)
        end = socket.socket()
        end.setblocking(False)
        try:
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
            await asyncio.get_running_loop().sock_connect(end, (host, int(port)))
            return await asyncio.open_connection(sock=end, limit=2 * PIECE)
        except OSError:
            end.close()
            raise

    async def _pump(self, reader, writer, is_down):
        while piece := await reader.read(PIECE if is_down and self.is_slow else 1 << 16):
            writer.write(piece)
            await writer.drain()
            if is_down and self.is_slow:
                await asyncio.sleep(len(piece) / SLOW)
