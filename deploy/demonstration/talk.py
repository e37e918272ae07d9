"""What is said in the demonstration: lines of a real channel, again and again."""

import asyncio
import json
import pathlib
import re

LINE = re.compile(r"^\[\d\d:\d\d\] <([^>]+)> (.*)$")
#: In one call, when everybody talks at once.
CROWD = 25


def lines_of(folder):
    """(author, text) of each line of the logs in a folder."""
    found = []
    for path in sorted(pathlib.Path(folder).glob("*.irc")):
        for line in path.read_text(errors="replace").splitlines():
            if match := LINE.match(line):
                found.append(match.groups())
    return found


class Talk:
    """Writes to one conversation, each message until it is acknowledged."""

    def __init__(self, lines, post):
        """`post` is asynchronous: it takes a body and gives the status of the answer."""
        self._lines = lines
        self._post = post
        self._next = 0
        self.authors = sorted({author for author, _ in lines})
        #: Messages a second.
        self.rate = 2.0
        #: How many were acknowledged.
        self.written = 0

    async def say(self, count):
        """Writes the next lines; the same ones again until they are acknowledged."""
        messages = [self._message(self._next + at) for at in range(count)]
        self._next += count
        body = json.dumps(messages).encode()
        while await self._post(body) not in (200, 201):
            await asyncio.sleep(0.3)
        self.written += count

    async def run(self):
        """Goes on until it is cancelled."""
        while True:
            await self.say(1)
            await asyncio.sleep(1 / self.rate)

    async def crowd(self, count, is_enough):
        """Everybody talks at once: so many times, and then until `is_enough` says so."""
        while count > 0 or not is_enough():
            await self.say(CROWD)
            await asyncio.sleep(0.1)
            count -= 1

    def _message(self, number):
        author, text = self._lines[number % len(self._lines)]
        # Its own id makes it one message, however often it is sent.
        return {"id": f"talk-{number}", "author": author, "body": text}
