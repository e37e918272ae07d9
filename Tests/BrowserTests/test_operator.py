"""The operator's page of the internal listener, in health, in an outage and near its limits."""

import base64
import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import unittest

import axe
from browser import DESK, PHONE, SCREENSHOTS, chromium
from colors import SYSTEM, colors
from gateway import PATIENCE, Gateway, free_port
from playwright.sync_api import expect

#: What no page of the internal listener may ever show.
SECRET = "xyzzy-words-of-a-person"
WAIT = PATIENCE * 1000


class Reader:
    """A WebSocket that takes nothing once it is subscribed."""

    def __init__(self, gateway, user, *conversations):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(PATIENCE)
        host, port = gateway.address.split(":")
        self.socket.connect((host, int(port)))
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET /v1/ws HTTP/1.1\r\nHost: {gateway.address}\r\nConnection: Upgrade\r\n"
            f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
            .encode())
        self.ask(1, "connect", user=user)
        self.wait(b'"id":1')
        for number, conversation in enumerate(conversations, 2):
            self.ask(number, "subscribeMessages", conversation=conversation)
            self.wait(f'"id":{number}'.encode())

    def ask(self, number, method, **params):
        text = json.dumps({"id": number, "method": method, "params": params}).encode()
        # Masked with zeros: the bytes as they are.
        self.socket.sendall(bytes([0x81, 0x80 | len(text)]) + bytes(4) + text)

    def wait(self, part):
        heard = b""
        while part not in heard:
            more = self.socket.recv(65536)
            if not more:
                raise AssertionError(f"closed before {part}: {heard}")
            heard += more


class OperatorTestCase(unittest.TestCase):
    settings = {}

    def setUp(self):
        self.gateway = Gateway(**self.settings)
        self.addCleanup(self.gateway.discard)
        self.gateway.start()
        self.complaints = []
        self.expected = ()
        self.strangers = []

    def tearDown(self):
        self.assertEqual([], [
            text for text in self.complaints
            if not any(expected in text for expected in self.expected)])
        self.assertEqual([], self.strangers)

    def open(self, look=DESK):
        """The page, in a profile of its own."""
        context = chromium().new_context(locale="en-GB", timezone_id="UTC", **look)
        self.addCleanup(context.close)
        page = context.new_page()
        own = f"http://{self.gateway.internal}/"
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.strangers.append(request.url)
                if not request.url.startswith((own, "data:")) else None)
        page.goto(own)
        return page

    def read(self, user):
        """Somebody who watches and takes nothing."""
        reader = Reader(self.gateway, user, "ops")
        self.addCleanup(reader.socket.close)

    def row(self, page, table, text):
        return page.locator(f"#{table} tbody tr").filter(has_text=text)

    def assert_accessible(self, page, state):
        """It hides nothing from people who do not see it, or not well."""
        with self.subTest(state):
            self.assertEqual([], axe.findings(page))

    def picture(self, page, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"operator-{name}.png", full_page=True)


class HealthTests(OperatorTestCase):
    def test_a_healthy_gateway_is_shown_live_and_without_a_word_that_was_said(self):
        self.gateway.converse("ops", "alice", "bob")
        self.read("bob")
        page = self.open()
        expect(page.locator("#status")).to_have_text(re.compile("^ok"), timeout=WAIT)
        expect(page.locator("#silence")).to_be_hidden()
        self.gateway.say("ops", "alice", *[f"{SECRET} {number}" for number in range(20)])
        row = self.row(page, "busiest", "ops")
        expect(row.locator("td").nth(3)).to_have_text("20", timeout=WAIT)
        expect(page.locator("#upstream")).to_contain_text("embedded: online")
        expect(page.locator("#gaps-summary")).to_have_text("Nothing is missing.")
        expect(page.locator("#accounting")).to_contain_text("It balances.")
        # A point every ten seconds.
        line = page.locator("[data-plot=written] polyline").first
        expect(line).to_have_attribute("points", re.compile("[0-9]"), timeout=WAIT)
        self.assertNotIn(SECRET, page.content())
        self.picture(page, "healthy")
        page.emulate_media(color_scheme="dark")
        self.picture(page, "healthy-dark")
        self.assert_accessible(page, "healthy")
        phone = self.open(look=PHONE)
        expect(self.row(phone, "busiest", "ops")).to_be_visible(timeout=WAIT)
        self.assert_accessible(phone, "on a phone")
        self.picture(phone, "phone")

    def test_a_message_is_explained_by_keyboard_alone(self):
        self.gateway.converse("ops", "alice", "bob")
        self.read("bob")
        self.gateway.say("ops", "alice", SECRET)
        page = self.open()
        expect(self.row(page, "busiest", "ops")).to_be_visible(timeout=WAIT)
        # The first stop is the way to the box; the conversation's id fills it.
        page.keyboard.press("Tab")
        expect(page.locator(".skip")).to_be_focused()
        button = self.row(page, "busiest", "ops").get_by_role("button")
        button.focus()
        # The table goes on changing, and the focus stays.
        page.wait_for_function("() => { const old = document.activeElement; return new Promise("
                               "done => setTimeout(() => done(old === document.activeElement"
                               " && old.tagName === 'BUTTON'), 1500)); }")
        page.keyboard.press("Enter")
        expect(page.get_by_label("Message's id or seq")).to_be_focused()
        page.keyboard.type("1")
        page.keyboard.press("Enter")
        answer = page.locator("#answer")
        expect(answer).to_contain_text("told: ", timeout=WAIT)
        expect(answer).to_contain_text("bob")
        self.assertNotIn(SECRET, page.content())
        self.assert_accessible(page, "an answer")
        page.get_by_label("Message's id or seq").fill("nobody sent this")
        page.keyboard.press("Enter")
        expect(answer).to_contain_text("unknown: ", timeout=WAIT)

    def test_a_gateway_that_is_silent_is_said_to_be_and_comes_back_by_itself(self):
        page = self.open()
        expect(page.locator("#status")).to_have_text(re.compile("^ok"), timeout=WAIT)
        self.expected = ("Failed to load resource", "net::ERR")
        self.gateway.kill()
        expect(page.locator("#silence")).to_contain_text("Nothing was heard", timeout=WAIT)
        expect(page.locator("#status")).to_have_text(re.compile("^not known since"), timeout=WAIT)
        self.assert_accessible(page, "silence")
        self.picture(page, "silence")
        self.gateway.start()
        expect(page.locator("#silence")).to_be_hidden(timeout=WAIT)
        expect(page.locator("#status")).to_have_text(re.compile("^ok"), timeout=WAIT)


class NearALimitTests(OperatorTestCase):
    settings = {
        "limits__connections": "10", "limits__outbox_soft": "32KiB",
        "limits__outbox_hard": "64MiB", "limits__pong_timeout": "10m",
    }

    def test_slow_readers_are_named_with_what_they_were_told_as_gaps(self):
        self.gateway.converse("ops", "alice", "bob", "carol")
        for user in ("bob", "carol"):
            self.read(user)
        page = self.open()
        for _ in range(128):
            self.gateway.say("ops", "alice", *[SECRET + "x" * 4096] * 64)
            if self.gateway.metric("gapless_sheds_total") >= 2:
                break
        row = self.row(page, "slowest", "bob")
        expect(row).to_contain_text("takes nothing", timeout=WAIT)
        expect(row.locator("td").last).to_have_text(re.compile("[1-9]"), timeout=WAIT)
        self.picture(page, "slow-readers")
        self.assert_accessible(page, "slow readers")
        self.assertNotIn(SECRET, page.content())

    def test_a_limit_that_is_near_says_what_to_do(self):
        self.gateway.converse("ops", *[f"user {number}" for number in range(9)])
        for number in range(9):
            self.read(f"user {number}")
        page = self.open()
        row = self.row(page, "limits", "limits.connections")
        expect(row).to_contain_text("Add a gateway", timeout=WAIT)
        expect(row.get_by_role("meter")).to_have_attribute("value", "9")
        self.picture(page, "near-a-limit")
        self.assert_accessible(page, "near a limit")

    def test_with_forced_colors_what_colors_tell_is_told_by_shapes(self):
        self.gateway.converse("ops", *[f"user {number}" for number in range(9)])
        for number in range(9):
            self.read(f"user {number}")
        page = self.open()
        meter = self.row(page, "limits", "limits.connections").get_by_role("meter")
        expect(meter).to_have_attribute("value", "9", timeout=WAIT)
        # Two lines far apart, whatever this gateway had to do until now.
        page.locator("[data-plot=written] polyline").evaluate_all(
            """lines => lines.forEach((line, at) => {
              new MutationObserver(() => draw(line)).observe(line, { attributes: true });
              const points = `0,${14 + 28 * at} 360,${14 + 28 * at}`;
              const draw = (line) => {
                if (line.getAttribute('points') !== points) line.setAttribute('points', points);
              };
              draw(line);
            })""")
        darkroom = chromium().new_context().new_page()
        self.addCleanup(darkroom.context.close)
        for scheme in ("light", "dark"):
            with self.subTest(scheme):
                page.emulate_media(color_scheme=scheme, forced_colors="active")
                ink, ground = page.evaluate(SYSTEM)
                self.assertNotEqual(ink, ground)
                self.picture(page, f"forced-colors-{scheme}")
                drawn = colors(darkroom, page.locator("[data-plot=written] svg"))
                self.assertGreater(drawn.get(ink, 0), 0.02, drawn)
                # One is whole, the other is not.
                dashes = page.locator("[data-plot=written] polyline").evaluate_all(
                    "lines => lines.map((line) => getComputedStyle(line).strokeDasharray)")
                self.assertEqual("none", dashes[0])
                self.assertNotEqual("none", dashes[1])
                # Nine of ten are used, and that is how far the bar goes.
                used = colors(darkroom, meter)
                self.assertGreater(used.get(ink, 0), 0.3, used)
                self.assertGreater(used.get(ground, 0), 0.02, used)


class OutageTests(OperatorTestCase):
    #: Debian's packages hold one program that is what its name says; linked under its name, no
    #: daemon needs to be installed.
    PROGRAM = "/usr/bin/redis-check-rdb"

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gapless-browser-redis-")
        self.addCleanup(folder.cleanup)
        self.program = pathlib.Path(folder.name, "redis-server")
        self.program.symlink_to(self.PROGRAM)
        self.port = free_port()
        self.start_redis()
        self.addCleanup(lambda: self.redis.poll() is None and self.stop_redis())
        self.settings = {
            "upstream__kind": "redis", "upstream__redis__url": f"redis://127.0.0.1:{self.port}"}
        super().setUp()

    def start_redis(self):
        self.redis = subprocess.Popen(
            [self.program, "--port", str(self.port), "--save", "", "--appendonly", "no"],
            cwd=self.program.parent, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop_redis(self):
        self.redis.kill()
        self.redis.wait(PATIENCE)

    def test_an_outage_is_shown_with_what_to_do_and_so_is_its_end(self):
        self.gateway.converse("ops", "alice", "bob")
        self.read("bob")
        page = self.open()
        expect(page.locator("#status")).to_have_text(re.compile("^ok"), timeout=WAIT)
        self.stop_redis()
        expect(page.locator("#troubles")).to_contain_text("can't be reached", timeout=WAIT)
        expect(page.locator("#troubles")).to_contain_text("Look whether the origin runs")
        expect(self.row(page, "links", "feed")).to_contain_text("broken for")
        expect(self.row(page, "notices", "as clients see it, has changed").first).to_be_visible()
        self.picture(page, "outage")
        self.assert_accessible(page, "outage")
        self.start_redis()
        expect(page.locator("#upstream")).to_contain_text("online", timeout=WAIT)
        # What is shown once a second is shown once.
        rows = page.locator("#notices tbody tr").count()
        shown = page.evaluate("""async () => {
          const { fill } = await import('./tables.js');
          const table = document.querySelector('#notices');
          const row = (text) => ({ key: 'one', cells: [text] });
          const counts = [];
          for (let time = 0; time < 3; time += 1) {
            fill(table, [row('first'), row('second'), { key: 'two', cells: ['third'] }]);
            counts.push([...table.tBodies[0].rows].map((each) => each.cells[0].textContent).join());
          }
          return counts;
        }""")
        self.assertGreater(rows, 0)
        self.assertEqual(["first,second,third"] * 3, shown)


if __name__ == "__main__":
    unittest.main()
