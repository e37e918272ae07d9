"""The demonstration, as `make run` starts it: each button, and a counter that stays equal."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import axe
from browser import SCREENSHOTS, UNREACHABLE, chromium
from gateway import PATIENCE as START
from gateway import PROGRAM, REPOSITORY, Gateway, free_port

#: A gateway that was killed, a page that comes back: seconds on a machine that has them to spare.
PATIENCE = 90_000
#: Looks at the counter whenever something is drawn, and keeps what is not equal.
WATCH = """() => {
  window.unequal = [];
  window.looks = 0;
  const look = () => {
    const ledger = demonstration.ledger();
    window.looks += 1;
    if (!ledger.isEqual || ledger.sent !== ledger.held + ledger.missing || ledger.silent > 0) {
      window.unequal.push(ledger);
    }
    requestAnimationFrame(look);
  };
  look();
}"""
ROWS = """() => demonstration.alice.conversation.items
  .filter((item) => item.kind === 'message' && item.isHeld)
  .map(({ message: { seq, id, body } }) => [seq, id, body])"""
AT_REST = """() => {
  const { sent, onTheWay, missing } = demonstration.ledger();
  return demonstration.alice.conversation.phase === 'live' && onTheWay === 0
    && sent > 0 && missing === MISSING;
}"""

#: A row of alice's says that something is missing, or, after a restore, gone.
SAYS = """name => {
  const [row, words] = name === 'restore'
    ? ['.restored', /^The log (was restored to \\d\\d:\\d\\d|began anew)/]
    : ['.tail', /^(\\d+ m|M)essages? (is|are|may be) missing|^\\d+ messages? ha(s|ve) not come/];
  const element = document.querySelector(`#alice ${row}`);
  return element.checkVisibility() && words.test(element.textContent);
}"""
#: And the list beside it says that nothing is, while it is judged by who knows.
HIDES = "() => document.querySelector('.verdict').textContent.startsWith('It looks whole: ')"
#: What must be seen this soon after a button was pressed, in milliseconds.
SOON = 10_000

#: Boxes of the drawing that are wider than it, and words that are wider than their boxes.
CLIPPED = """() => {
  const { viewBox: { baseVal: view } } = document.querySelector('.diagram');
  const clipped = [];
  for (const group of document.querySelectorAll('.diagram [data-node]')) {
    const { x, y, width, height } = group.querySelector('rect').getBBox();
    if (x - 1 < view.x || x + width + 1 > view.x + view.width || y - 1 < view.y
      || y + height + 1 > view.y + view.height) clipped.push(group.dataset.node);
    for (const text of group.querySelectorAll('text')) {
      if (text.getComputedTextLength() > width - 8) clipped.push(text.textContent);
    }
  }
  return clipped;
}"""


class DemoTests(unittest.TestCase):
    def begin(self, **environment):
        """Starts the demonstration, and opens its page."""
        self.choose()
        self.start(**environment)
        context = chromium().new_context(
            viewport={"width": 1440, "height": 860}, locale="en-GB", timezone_id="UTC")
        self.addCleanup(context.close)
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.complaints = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(f"http://{self.ports['DEMO_ADDRESS']}/demo")
        self.wait("() => window.demonstration?.alice?.conversation.phase === 'live'")
        self.page.evaluate(WATCH)

    def choose(self):
        """A folder and addresses of its own."""
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="gapless-demo-"))
        names = ("ADDRESS", "INTERNAL", "SECOND", "SECOND_INTERNAL", "SUPERVISOR", "REDIS",
                 "POSTGRES")
        self.ports = {f"DEMO_{name}": f"127.0.0.1:{free_port()}" for name in names}

    def start(self, **environment):
        """Starts its programs, and waits until it has said where they are."""
        self.process = subprocess.Popen(
            [REPOSITORY / "deploy/demo", PROGRAM], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **self.ports, "DEMO_DIRECTORY": self.folder, **environment})
        self.addCleanup(self.end)
        for line in self.process.stdout:
            if "Stop: Ctrl-C" in line:
                break
        else:
            self.fail("the demonstration ended before it said where it is")

    def end(self):
        self.process.send_signal(signal.SIGINT)
        try:
            status = self.process.wait(START)
        finally:
            self.process.kill()
            self.process.stdout.close()
        self.assertEqual(0, status)

    def ask(self, method, path, body=None):
        """One call of the server API."""
        with open(os.path.join(self.folder, "api-keys"), encoding="ascii") as keys:
            key = keys.read().strip()
        connection = http.client.HTTPConnection(self.ports["DEMO_ADDRESS"], timeout=START)
        connection.request(
            method, path, None if body is None else json.dumps(body), {"X-API-Key": key})
        with contextlib.closing(connection):
            return json.loads(connection.getresponse().read())

    def wait(self, condition):
        self.page.wait_for_function(condition, timeout=PATIENCE)

    def press(self, name):
        self.page.locator(f"[data-button={name}]").click()

    def settle(self, missing="0"):
        self.wait(AT_REST.replace("MISSING", missing))

    def picture(self, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"demo-{name}.png")

    def assert_true(self):
        """The counter was equal whenever it was looked at, and what is held is what the log has."""
        self.assertEqual([], self.page.evaluate("() => window.unequal"))
        self.assertGreater(self.page.evaluate("() => window.looks"), 0)
        rows = self.page.evaluate(ROWS)
        said = []
        while True:
            after = f"&after={said[-1][0]}" if said else ""
            reply = self.ask(
                "GET", f"/v1/conversations/demo/messages?limit=1000&order=asc{after}")
            said += [[each["seq"], each["id"], each["body"]] for each in reply["messages"]]
            if not reply["hasMore"]["after"]:
                break
        kept = {tuple(each) for each in said}
        self.assertEqual([], [row for row in rows if tuple(row) not in kept])
        self.assert_books(len(said))
        # Chromium says so when it can't open what was cut, killed or stopped.
        self.assertEqual([], [text for text in self.complaints if UNREACHABLE not in text])

    def assert_books(self, count):
        """Every place of the log is in one column of the books: held, missing, on its way to alice,
        or not loaded. `count` is how many there were, a moment ago."""
        self.wait(f"""() => {{
          const {{ held, missing, onTheWay, unasked }} = demonstration.ledger();
          window.counted = held + missing + onTheWay + unasked;
          return window.counted >= {count};
        }}""")
        counted = self.page.evaluate("() => window.counted")
        newest = self.ask("GET", "/v1/conversations/demo/messages?limit=1&order=desc")
        self.assertLessEqual(counted, newest["messages"][0]["seq"])

    def visit(self):
        """Opens the page once more, as on another day."""
        self.page.goto(self.page.url)
        self.wait("() => window.demonstration?.alice?.isAtPresent")
        self.wait("() => demonstration.naive()?.lines > 0")
        restored = self.page.locator("#alice .restored")
        if restored.is_visible():
            restored.get_by_role("button", name="Dismiss").click()
        self.assertFalse(self.page.evaluate(SAYS, "restore"))
        self.page.evaluate(WATCH)

    def press_kill(self):
        before = self.page.evaluate("() => demonstration.state.gateways[0].pid")
        self.press("kill")
        self.wait(f"() => ![null, {before}].includes(demonstration.state.gateways[0].pid)")

    def press_origin(self):
        self.press("origin")
        self.wait("() => demonstration.state.origin.state === 'dead'")
        self.wait("() => demonstration.alice.conversation.isOpen")
        self.picture("origin")
        self.press("origin")
        self.wait("() => demonstration.state.origin.state === 'running'")
        self.wait("() => !demonstration.alice.conversation.isOpen")

    def press_restore(self):
        self.press("restore")
        self.wait("() => demonstration.naive().ghosts > 0")
        self.settle()

    def test_each_button_with_two_gateways_on_one_redis(self):
        self.begin(DEMO_UPSTREAM="redis")
        self.wait("() => demonstration.naive().lines > 0")
        self.press("cut")
        # Declared at once: her connection is broken, and the log goes on.
        self.wait("() => demonstration.ledger().missing > 2")
        self.picture("cut")
        self.press("cut")
        self.settle()
        self.assertGreater(self.page.evaluate("() => demonstration.naive().unseen"), 0)

        self.press("slow")
        self.wait("() => demonstration.state.gateways[0].sheds > 0")
        self.picture("slow")
        self.press("slow")
        self.wait(
            "() => demonstration.alice.conversation.gaps.some(({ cause }) => cause === 'slow')")
        self.picture("gaps")

        self.press_kill()
        self.wait("() => demonstration.alice.conversation.phase === 'live'")

        self.press_origin()
        self.press_restore()
        self.picture("restored")
        self.assert_true()

    def test_each_button_shows_what_is_missing_on_the_first_and_the_fifth_visit(self):
        self.begin(DEMO_UPSTREAM="redis")
        for number in range(1, 6):
            self.visit()
            if number not in (1, 5):
                continue
            for name in ("cut", "slow", "kill", "origin", "restore"):
                with self.subTest(button=name, visit=number):
                    self.press(name)
                    self.page.wait_for_function(SAYS, arg=name, timeout=SOON)
                    self.page.wait_for_function(HIDES, timeout=SOON)
                    self.picture(f"{name}-{number}")
                    if name in ("cut", "slow", "origin"):
                        self.press(name)
                    self.wait("() => demonstration.alice.isAtPresent")
                    self.assert_true()
                    self.visit()

    def test_two_gateways_share_a_postgres(self):
        self.begin(DEMO_UPSTREAM="postgres")
        self.wait("() => demonstration.naive().lines > 0")
        self.press_origin()
        self.press_restore()
        self.assert_true()

    def test_without_redis_there_is_one_gateway_and_its_file(self):
        self.begin(DEMO_UPSTREAM="embedded")
        self.assertTrue(self.page.locator("[data-button=origin]").is_disabled())
        self.wait("() => demonstration.naive().lines > 0")
        self.assertEqual([], axe.findings(self.page))
        self.press_kill()
        self.settle()
        self.press("restore")
        self.wait("() => demonstration.naive().ghosts > 0")
        self.settle()
        self.assert_true()

    def test_history_that_nobody_asked_for_is_not_missing_and_no_box_is_clipped(self):
        self.begin(DEMO_UPSTREAM="embedded")
        self.wait("() => demonstration.naive().lines > 0")
        # More than a page begins with.
        messages = [{"author": "bob", "body": f"Earlier {n}"} for n in range(300)]
        self.ask("POST", "/v1/conversations/demo/messages", messages)
        self.page.reload()
        self.wait("() => window.demonstration?.alice?.conversation.phase === 'live'")
        self.wait("() => demonstration.ledger()?.sent > 0")
        ledger = self.page.evaluate("() => demonstration.ledger()")
        self.assertEqual(0, ledger["missing"])
        self.assertEqual(ledger["sent"], ledger["held"])
        self.assertLess(ledger["sent"], 300)
        for width in (1280, 1440, 1920):
            self.page.set_viewport_size({"width": width, "height": 860})
            self.assertEqual([], self.page.evaluate(CLIPPED), width)
            self.picture(f"at-{width}")

    def test_what_was_said_is_there_at_the_next_start(self):
        live = "/v1/conversations/ubuntu-live/messages"
        self.choose()
        self.start(DEMO_UPSTREAM="embedded")
        self.ask("POST", live, {"author": "alice", "body": "Remember me"})
        self.end()
        self.start(DEMO_UPSTREAM="embedded")
        said = self.ask("GET", f"{live}?limit=1000&order=desc")["messages"]
        self.assertEqual(1, sum(each["body"] == "Remember me" for each in said))
        # And the channel goes on.
        deadline = time.monotonic() + START
        newest = f"{live}?limit=1&order=desc"
        while self.ask("GET", newest)["messages"][0]["seq"] < said[0]["seq"] + 2:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)

    def test_an_address_that_is_taken_is_named_with_what_to_do(self):
        self.choose()
        for name in ("ADDRESS", "SUPERVISOR"):
            address = self.ports[f"DEMO_{name}"]
            host, port = address.split(":")
            with socket.create_server((host, int(port))):
                ended = subprocess.run(
                    [REPOSITORY / "deploy/demo", PROGRAM], capture_output=True, text=True,
                    timeout=START, env={**os.environ, **self.ports, "DEMO_UPSTREAM": "embedded"})
            self.assertEqual(1, ended.returncode)
            self.assertRegex(ended.stderr, (
                rf"^demo: {address}: Address already in use\. .*"
                rf" DEMO_{name}={host}:\d+ make run\n$"))

    def test_no_other_page_presses_its_buttons(self):
        self.begin(DEMO_UPSTREAM="embedded")
        address = self.ports["DEMO_SUPERVISOR"]
        ours = f"http://{self.ports['DEMO_ADDRESS']}"
        for headers, status in (
                ({}, 403), ({"Origin": "http://evil.example"}, 403),
                ({"Origin": ours, "Host": "evil.example"}, 403), ({"Origin": ours}, 404)):
            connection = http.client.HTTPConnection(address, timeout=START)
            connection.request("POST", "/press/nothing", headers=headers)
            self.assertEqual(status, connection.getresponse().status, headers)

    def test_it_is_there_only_where_it_was_enabled(self):
        for settings, status in (({}, 404), ({"demo__enabled": "true"}, 200)):
            with Gateway(**settings) as gateway:
                for path in ("/demo", "/demo/demo.js", "/demo/supervisor"):
                    connection = http.client.HTTPConnection(gateway.address, timeout=START)
                    connection.request("GET", path)
                    self.assertEqual(status, connection.getresponse().status, (settings, path))


if __name__ == "__main__":
    unittest.main()
