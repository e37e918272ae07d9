"""Seeded walks: two people, one of them in two tabs, do what comes to mind, while links are cut and
the gateway is killed. After each step what is shown is judged, and at the end what was kept.

TEST_WALK_SEED says which is the first and TEST_WALKS how many there are; without them the seeds of
KEPT are walked. A walk that fails names its seed."""

import os
import random
import unittest

from browser import DESK, SCREENSHOTS, UNREACHABLE, chromium
from chat_page import PATIENCE, ChatPage
from gateway import Gateway
from playwright.sync_api import Error, expect
from tcp_proxy import TCPProxy

#: One, and those that found something: a hole without a row among messages that were only shown.
KEPT = (1, 3001)
FIRST = int(os.environ.get("TEST_WALK_SEED", "0"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("TEST_WALKS", "1"))) if FIRST else KEPT
STEPS = 100
ROOMS = ("one", "two")
#: What each room begins with.
HISTORY = 250
#: Notes the newest place that was ever in view, by tab and room, in what outlives a reload: before
#: each frame, and as soon as it was painted. What tabs share is not written by two of them.
WITNESS = """() => {
  const { port1, port2 } = new MessageChannel();
  const look = () => {
    const room = new URL(location.href).searchParams.get('conversation');
    const scroller = document.querySelector('.scroller');
    if (scroller !== null && document.querySelector('.head h2')?.textContent === room) {
      const { top, bottom } = scroller.getBoundingClientRect();
      const known = Number(sessionStorage.getItem(`witness ${room}`) ?? 0);
      let newest = known;
      for (const row of scroller.querySelectorAll('.message[data-seq]')) {
        const bounds = row.getBoundingClientRect();
        if (bounds.bottom > top && bounds.top < bottom) {
          newest = Math.max(newest, Number(row.dataset.seq));
        }
      }
      if (newest > known) sessionStorage.setItem(`witness ${room}`, newest);
    }
  };
  const frame = () => {
    look();
    port2.postMessage(null);
    requestAnimationFrame(frame);
  };
  port1.onmessage = look;
  if (location.protocol === 'http:') requestAnimationFrame(frame);
}"""
PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
#: What stands in the list, from top to bottom: a place with its text, or null for a gap.
SHOWN = """() => ({
  room: document.querySelector('.head h2')?.textContent ?? '',
  rows: [...document.querySelectorAll('.rows .message[data-seq], .rows .gap')].map((row) => (
    row.matches('.gap') ? null : [Number(row.dataset.seq),
      row.querySelector('.body')?.textContent ?? null])),
})"""


class Walk:
    """One walk, all of whose choices follow from its seed."""

    def __init__(self, test, seed):
        self.test = test
        self.random = random.Random(seed)
        self.written = {room: set() for room in ROOMS}
        self.said = []
        self.done = []
        self.count = 0
        #: Whose browser has no network: on a machine without any, a page says so of itself always.
        self.offline = set()
        self.complaints = []
        self.gateway = test.enterContext(Gateway(
            limits__ping_interval="5m", limits__pong_timeout="10m",
            # So that a link which stands still is shed for, and gaps are many.
            limits__outbox_soft="4KiB"))
        for room in ROOMS:
            self.gateway.converse(room, "alice", "bob")
            self.write(room, HISTORY)
        self.proxy = TCPProxy(self.gateway.address)
        test.addCleanup(self.proxy.close)
        self.tabs = []
        for user, tabs in (("alice", 2), ("bob", 1)):
            context = chromium().new_context(locale="en-GB", timezone_id="UTC", **DESK)
            test.addCleanup(context.close)
            context.set_default_timeout(PATIENCE)
            context.add_init_script(f"({WITNESS})()")
            for _ in range(tabs):
                page = context.new_page()
                page.on("dialog", lambda dialog: dialog.accept())
                page.on("pageerror", lambda error: self.complaints.append(str(error)))
                page.goto(f"http://{self.proxy.address}/?user={user}&conversation=one")
                tab = ChatPage(page, user)
                expect(tab.messages.first).to_be_visible(timeout=PATIENCE)
                self.tabs.append(tab)

    # What is done.

    def write(self, room, count):
        texts = [self.text() for _ in range(count)]
        self.written[room].update(texts)
        self.gateway.say(room, "carol", *texts)

    def text(self):
        self.count += 1
        return f"text {self.count}"

    def step(self):
        name = self.random.choices(
            ["scroll", "say", "edit", "switch", "reload", "network", "kill", "cut", "stall",
             "burst"], [30, 16, 8, 12, 5, 10, 2, 4, 5, 12])[0]
        tab = self.random.choice(self.tabs)
        self.done.append((name, self.tabs.index(tab)))
        getattr(self, name)(tab)

    def scroll(self, tab):
        # It is a feed, and `tab.scroller`, only while there is something in it.
        tab.page.locator(".scroller").evaluate(
            "(scroller, by) => { scroller.scrollTop += by; }",
            self.random.choice([-4000, -900, -300, 200, 800, 5000]))

    def say(self, tab):
        text, room = self.text(), self.room(tab)
        self.written[room].add(text)
        self.said.append((room, text))
        tab.say(text)

    def edit(self, tab):
        tab.box.fill("")
        tab.box.press("ArrowUp")
        # Without a message of one's own in sight there is nothing to edit.
        if tab.box.input_value() == "":
            return
        room, before, text = self.room(tab), tab.box.input_value(), self.text()
        self.written[room].add(text)
        tab.box.fill(text)
        tab.box.press("Enter")
        # One of them stands: the edit, or, where somebody was faster, the message as it was.
        self.said = [(where, f"{said}|{text}" if before in said.split("|") and where == room
                      else said) for where, said in self.said]

    def switch(self, tab):
        room = next(room for room in ROOMS if room != self.room(tab))
        if tab.entry(room).count() > 0:
            tab.entry(room).click()

    def reload(self, tab):
        # Without a network there is no page to load, unless it was installed.
        if tab.user in self.offline or not self.proxy.is_open:
            return
        tab.page.reload()
        expect(tab.box).to_be_visible(timeout=PATIENCE)

    def network(self, tab):
        # All tabs of a browser have the same network.
        tabs = [each for each in self.tabs if each.user == tab.user]
        if tab.user in self.offline:
            self.offline.remove(tab.user)
            for each in tabs:
                each.regain_network()
        else:
            self.offline.add(tab.user)
            for each in tabs:
                each.lose_network()

    def kill(self, _):
        self.gateway.kill()
        self.gateway.start()

    def cut(self, _):
        # The browsers are told nothing but that their connections ended.
        self.proxy.cut()

    def stall(self, _):
        if self.proxy.is_open:
            self.proxy.stop_reading()
        else:
            self.proxy.go_on()

    def burst(self, _):
        self.write(self.random.choice(ROOMS), self.random.choice([1, 3, 20, 150, 400]))

    # What is judged.

    @staticmethod
    def room(tab):
        return tab.title.text_content()

    def judge(self, tab):
        """No row out of order, none of another room, none after a hole without a gap between."""
        shown = tab.page.evaluate(SHOWN)
        if shown["room"] not in ROOMS:
            return
        last, is_gap = None, True
        for row in shown["rows"]:
            if row is None:
                is_gap = True
                continue
            seq, body = row
            text = body.removesuffix(" (edited)")
            self.test.assertTrue(text in self.written[shown["room"]], (body, shown))
            if last is not None and not is_gap:
                self.test.assertEqual(last + 1, seq, shown)
            elif last is not None:
                self.test.assertGreater(seq, last, shown)
            last, is_gap = seq, False

    def end(self):
        """All is well again: everything that was written is there, and no more was read than seen."""
        if not self.proxy.is_open:
            self.proxy.go_on()
        for tab in self.tabs:
            tab.regain_network()
        for tab in self.tabs:
            tab.expect_live()
            expect(tab.page.locator(".message[data-state=sending]")).to_have_count(
                0, timeout=PATIENCE)
        for room in ROOMS:
            self.expect_said(room)
            self.judge_markers(room)
            for tab in self.tabs:
                self.expect_badge(tab, room)
        for tab in self.tabs:
            self.judge(tab)
        self.test.assertEqual([], [
            text for text in self.complaints if UNREACHABLE not in text])

    def expect_said(self, room):
        # What another room's outbox holds goes out a moment after "Live".
        for _ in range(600):
            bodies = self.bodies(room)
            lost = [said for where, said in self.said if where == room
                    and sum(bodies.count(text) for text in said.split("|")) != 1]
            if not lost:
                return
            self.tabs[0].page.wait_for_timeout(100)
        self.test.fail(f"not once in the log of {room}: {lost}")

    def expect_badge(self, tab, room):
        """The list counts as unread what nobody read: no more, and nothing is lost."""
        counted = None
        for _ in range(300):
            people = self.gateway.call(
                "GET", f"/v1/conversations/{room}/participants")["participants"]
            read = next(each["lastReadSeq"] for each in people if each["id"] == tab.user)
            unread = sum(1 for each in self.log(room) if each["seq"] > read
                         and each["author"] != tab.user and not each["deleted"])
            badge = tab.badge(room)
            counted = badge.text_content() if badge.is_visible() else "0"
            if counted == (str(unread) if unread < 1000 else "999+"):
                return
            tab.page.wait_for_timeout(100)
        self.test.fail(f"{tab.user} has {unread} unread messages in {room}, not {counted}")

    def log(self, room):
        messages, more = [], True
        while more:
            after = messages[-1]["seq"] if messages else 0
            reply = self.gateway.call(
                "GET", f"/v1/conversations/{room}/messages?limit=1000&order=asc&after={after}")
            messages += reply["messages"]
            more = reply["hasMore"]["after"]
        return messages

    def bodies(self, room):
        return [message["body"] for message in self.log(room)]

    def judge_markers(self, room):
        people = self.gateway.call("GET", f"/v1/conversations/{room}/participants")["participants"]
        log = self.log(room)
        for tab in self.tabs:
            tab.page.evaluate(PAINTED)
        for person in people:
            own = [each["seq"] for each in log if each["author"] == person["id"]]
            seen = [int(tab.page.evaluate(f"() => sessionStorage.getItem('witness {room}') ?? 0"))
                    for tab in self.tabs if tab.user == person["id"]]
            self.test.assertLessEqual(
                person["lastReadSeq"], max([0, *own, *seen]), (room, person["id"]))


class WalkTests(unittest.TestCase):
    def test_walks(self):
        for seed in SEEDS:
            with self.subTest(seed=seed):
                walk = Walk(self, seed)
                try:
                    for _ in range(STEPS):
                        walk.step()
                        for tab in walk.tabs:
                            walk.judge(tab)
                    walk.end()
                except (AssertionError, Error) as error:
                    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
                    for number, tab in enumerate(walk.tabs):
                        tab.page.screenshot(
                            path=SCREENSHOTS / f"failed-walk-{seed}-{number}.png")
                    raise AssertionError(f"seed {seed}, after {walk.done[-8:]}") from error
                finally:
                    self.doCleanups()


if __name__ == "__main__":
    unittest.main()
