"""What a person does with the page, and what they see on it."""

import pathlib

from playwright.sync_api import expect

#: Starting again takes the page a backoff of some seconds.
RETURN = 30_000
#: One page of history may take so long to come, in milliseconds.
PATIENCE = 60_000
#: A step of a walk, in pixels. The page draws more beyond the view, so no step passes over a gap
#: that is not drawn yet.
STEP = 300
HOLD = """method => {
  const { send } = WebSocket.prototype;
  const held = [];
  WebSocket.prototype.send = function (text) {
    if (text.includes(method)) held.push([this, text]); else send.call(this, text);
  };
  window.release = () => {
    WebSocket.prototype.send = send;
    for (const [socket, text] of held) if (socket.readyState === 1) socket.send(text);
  };
}"""
#: Says as a user, by a connection of its own, that everything up to a place was read.
MARK_READ = """async ([user, conversation, seq]) => {
  const { ChatClient } = await import('/gapless.js');
  const url = `ws://${location.host}/v1/ws`;
  const client = new ChatClient({ url, credentials: () => ({ user }) });
  await new Promise((resolve) => { client.pubsub.onConnect(resolve); client.open(); });
  await client.connection.request('markRead', { conversation, seq });
  client.close();
}"""
WALK = pathlib.Path(__file__).with_name("walk.js").read_text()


class ChatPage:
    """One page of one user. The words here are those of the person in front of it."""

    def __init__(self, page, user):
        self.page = page
        self.user = user
        self.messages = page.locator(".message")
        self.bodies = page.locator(".message .body")
        self.box = page.get_by_role("textbox", name="Message")
        self.light = page.locator(".light")
        self.notice = page.locator(".notice")
        self.gaps = page.locator(".gap")
        self.scroller = page.get_by_role("feed")
        self.title = page.locator(".head h2")
        self.dialog = page.locator("dialog")

    def say(self, text):
        self.box.fill(text)
        self.box.press("Enter")

    def message(self, text):
        """The message that holds a text."""
        return self.messages.filter(has_text=text)

    def entry(self, title):
        """The entry of a conversation in the list."""
        return self.page.locator(".conversations a").filter(has_text=title)

    def badge(self, title):
        return self.entry(title).locator(".badge")

    def delete(self, text):
        self.message(text).hover()
        self.message(text).get_by_role("button", name="Delete message").click()
        self.dialog.get_by_role("button", name="Delete").click()

    def places(self):
        """The seq of each message, from top to bottom; what is still being sent has none."""
        return self.messages.evaluate_all("rows => rows.map((row) => Number(row.dataset.seq))")

    def scroll_to(self, top):
        """Scrolls, and waits until the rows of the place are there."""
        self.scroller.evaluate("""async (scroller, top) => {
          scroller.scrollTop = top;
          // The page hears of it before the next frame.
          for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
        }""", top)

    def walk(self, direction, newest, step=STEP):
        """Scrolls up (-1) or down (1) to the end; what was seen on the way, see `walk.js`."""
        return self.page.evaluate(WALK, {
            "direction": direction, "step": step, "newest": newest, "patience": PATIENCE})

    def mark_read(self, conversation, seq):
        """The user has read up to here on another machine."""
        self.page.evaluate(MARK_READ, [self.user, conversation, seq])

    def reveal(self, share):
        """Goes to a place of the conversation by the bar that shows what is held."""
        opener = self.page.get_by_role("button", name="What this page holds")
        if opener.get_attribute("aria-expanded") == "false":
            opener.click()
        bar = self.page.locator(".coverage")
        expect(bar.locator("span").first).to_be_attached()
        box = bar.bounding_box()
        bar.click(position={"x": box["width"] * share, "y": box["height"] / 2})

    def lose_network(self):
        """The device loses its network, and the browser says so."""
        self.page.context.set_offline(True)
        # On a machine without any it would not: there it never had one.
        self.page.evaluate("dispatchEvent(new Event('offline'))")

    def regain_network(self):
        self.page.context.set_offline(False)
        self.page.evaluate("dispatchEvent(new Event('online'))")

    def hold_requests(self, method):
        """Keeps requests of a method from leaving, until `release_requests`."""
        self.page.evaluate(HOLD, f'"{method}"')

    def release_requests(self):
        self.page.evaluate("release()")

    # What is waited for.

    def expect_live(self):
        expect(self.light).to_contain_text("Live", timeout=RETURN)

    def expect_state(self, text):
        expect(self.light).to_contain_text(text, timeout=RETURN)

    def expect_messages(self, bodies):
        """These messages are shown, all of them, in this order, each once."""
        expect(self.bodies).to_have_text(bodies, timeout=RETURN)

    def expect_last(self, text):
        expect(self.messages.last).to_contain_text(text, timeout=RETURN)
