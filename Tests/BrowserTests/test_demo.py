"""The demonstration, as `make run` starts it: each button, and a counter that stays equal."""

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
        # Chromium says so when it can't open what was cut, killed or stopped.
        self.assertEqual([], [text for text in self.complaints if UNREACHABLE not in text])

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
