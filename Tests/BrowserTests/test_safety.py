"""What others write, and how they are called, stays text; the page's policy holds."""

import base64
import hashlib
import hmac
import json
import pathlib
import re
import tempfile
import time
import unittest

from browser import UNREACHABLE, BrowserTestCase
from chat_page import RETURN
from gateway import REPOSITORY, path
from playwright.sync_api import expect

#: Each would set `window.hit`, or leave an element, if it became more than text anywhere.
ATTACKS = [
    "<img src=x onerror='window.hit = 1'>",
    "<script>window.hit = 2</script>",
    "\"'><svg onload=window.hit=3>",
    "</p></div><iframe srcdoc='<script>parent.hit = 4</script>'></iframe>",
    "<style>* { display: none }</style>",
    "javascript:window.hit=5",
    "https://example.org/\"onmouseover=\"window.hit=6",
    "{{constructor.constructor('window.hit=7')()}} ${window.hit=8}",
    "&lt;b&gt;entities&lt;/b&gt; &amp; <b>tags</b>",
]
FOREIGN = (
    "#main img, li img, iframe, #main script, #main style, #main b, #sidebar b, [onload], "
    "[onmouseover]")
INDEX = REPOSITORY / "Sources/Page/index.html"


class SafetyTests(BrowserTestCase):
    def assert_untouched(self, page):
        self.assertIsNone(page.page.evaluate("window.hit ?? null"))
        self.assertEqual(0, page.page.locator(FOREIGN).count())

    def test_what_a_person_writes_is_shown_as_they_wrote_it(self):
        alice, bob = self.open_room("alice", "bob")
        for attack in ATTACKS:
            alice.say(attack)
        for page in (alice, bob):
            page.expect_messages(ATTACKS)
            page.message("onmouseover").hover()
            self.assert_untouched(page)
        self.picture(bob, "attacks")

    def test_titles_names_and_identifiers_are_shown_as_they_are(self):
        for number, attack in enumerate(ATTACKS[:3]):
            conversation = f"{number} {attack}"
            self.gateway.converse(conversation, "mallory", attack, title=attack)
            self.gateway.say(conversation, attack, "Hello")
            with self.subTest(attack):
                page = self.open(attack, conversation)
                expect(page.title).to_have_text(attack)
                expect(page.page.locator(".who")).to_have_text(attack)
                expect(page.messages.locator(".author")).to_have_text([attack])
                expect(page.entry(attack)).to_contain_text("You: Hello")
                page.box.press_sequentially("…")
                self.assert_untouched(page)
                page.page.context.close()
                self.pages.remove(page)

    def test_only_web_addresses_become_links_and_tell_the_target_nothing(self):
        alice, = self.open_room("alice")
        alice.say("See https://example.org/a?b=c. Not ftp://example.org javascript:alert(1) data:x")
        link = alice.messages.locator(".body a")
        expect(link).to_have_count(1)
        expect(link).to_have_attribute("href", "https://example.org/a?b=c")
        expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
        expect(link).to_have_attribute("target", "_blank")

    def test_the_policy_of_the_gateway_is_that_of_the_page_and_forbids_framing(self):
        page = re.search(r'Content-Security-Policy" content="([^"]*)"', INDEX.read_text())[1]
        for file in ("/", "/page.js", "/page.css"):
            headers = self.gateway.headers(file)
            self.assertEqual(f"{page}; frame-ancestors 'none'", headers["content-security-policy"])
            self.assertEqual("nosniff", headers["x-content-type-options"])
            self.assertEqual("no-referrer", headers["referrer-policy"])

    def test_the_policy_refuses_what_an_injection_would_need(self):
        alice, = self.open_room("alice")
        self.expected = ("Content Security Policy", "TrustedHTML", "TrustedScript")
        refused = alice.page.evaluate("""async () => {
          const seen = [];
          addEventListener('securitypolicyviolation', (event) => {
            seen.push(event.effectiveDirective);
          });
          const attempts = [
            () => { document.body.innerHTML += '<b>x</b>'; },
            () => { eval('window.hit = 1'); },
            () => { document.body.setAttribute('onclick', 'window.hit = 2'); },
            () => { document.body.setAttribute('style', 'display: none'); },
            () => {
              const image = document.createElement('img');
              image.src = 'https://example.org/x.png';
              document.body.append(image);
            },
            () => fetch('https://example.org/').catch(() => {}),
          ];
          // What a debugger evaluates itself may do more than a page.
          await new Promise((resolve) => { setTimeout(resolve); });
          for (const attempt of attempts) {
            try { await attempt(); } catch { /* some of them throw as well */ }
          }
          await new Promise((resolve) => { setTimeout(resolve, 100); });
          return seen;
        }""")
        self.assertLessEqual(
            {"require-trusted-types-for", "style-src-attr", "img-src", "connect-src"}, set(refused))
        alice.title.click()
        self.assertIsNone(alice.page.evaluate("window.hit ?? null"))
        self.assertTrue(alice.box.is_visible())


class TokenTests(BrowserTestCase):
    """The page in front of a gateway that asks for tokens."""

    SECRET = "a secret of the browser tests, long enough"

    @classmethod
    def setUpClass(cls):
        file = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()), "secret")
        file.write_text(cls.SECRET)
        cls.settings = {
            "auth__mode": "jwt", "auth__jwt__secret_file": str(file), "auth__jwt__leeway": "0s"}
        super().setUpClass()

    def token(self, user, lifetime=3600):
        """A token for a user, as a backend would sign it."""
        claims = {"sub": user, "exp": int(time.time()) + lifetime}
        parts = [_base64(json.dumps(part).encode()) for part in ({"alg": "HS256"}, claims)]
        signed = ".".join(parts)
        code = hmac.digest(self.SECRET.encode(), signed.encode(), hashlib.sha256)
        return f"{signed}.{_base64(code)}"

    def test_a_token_in_the_address_is_used_and_taken_out_of_it(self):
        self.gateway.call("PUT", path("room"), {"title": "Room", "participants": ["alice"]})
        token = self.token("alice")
        page = self.open(None)
        page.page.goto(f"http://{self.gateway.address}/?token={token}&conversation=room")
        page.expect_live()
        expect(page.page.locator(".who")).to_have_text("alice")
        self.assertNotIn("token", page.page.url)
        self.assertIn("conversation=room", page.page.url)
        stored = page.page.evaluate("JSON.stringify({...localStorage}) + document.cookie")
        self.assertNotIn(token, stored)
        page.say("By token")
        page.expect_messages(["By token"])
        page.page.reload()
        page.expect_messages(["By token"])
        self.assertNotIn(token, self.gateway.log.read_text())

    def test_a_link_with_the_token_of_somebody_else_asks_before_it_signs_in(self):
        address = f"http://{self.gateway.address}/?token="
        page = self.open(None)
        page.page.goto(address + self.token("alice"))
        page.expect_live()
        # A tab of its own, as a link from elsewhere opens it: it knows no token.
        tab = page.page.context.new_page()
        tab.goto(address + self.token("bob"))
        dialog = tab.locator("dialog")
        expect(dialog).to_contain_text("You are alice here. This link signs you in as bob.")
        self.assertNotIn("token", tab.url)
        dialog.get_by_role("button", name="Stay alice").click()
        expect(dialog).to_contain_text("Who are you?")
        page.page.goto(address + self.token("bob"))
        page.dialog.get_by_role("button", name="Stay alice").click()
        expect(page.page.locator(".who")).to_have_text("alice")
        page.expect_live()
        page.page.goto(address + self.token("alice", 1800))
        page.expect_live()
        page.page.goto(address + self.token("bob"))
        page.dialog.get_by_role("button", name="Sign in").click()
        expect(page.page.locator(".who")).to_have_text("bob")
        page.expect_live()

    def test_what_one_user_wrote_never_goes_out_under_the_name_of_another(self):
        people = ["alice", "bob"]
        self.gateway.call("PUT", path(self.room), {"title": "Room", "participants": people})
        self.expected = (UNREACHABLE, "Failed to load resource")
        page = self.open(None)
        token = self.token("alice", 6)
        page.page.goto(f"http://{self.gateway.address}/?token={token}&conversation={self.room}")
        page.expect_live()
        page.lose_network()
        page.say("Written by alice")
        expect(page.messages).to_have_attribute("data-state", "sending")
        # Until the token has run out.
        page.page.wait_for_timeout(7_000)
        page.regain_network()
        page.dialog.get_by_label("Token").fill(self.token("bob"))
        page.dialog.get_by_label("Token").press("Enter")
        expect(page.page.locator(".who")).to_have_text("bob", timeout=RETURN)
        page.expect_live()
        page.say("Written by bob")
        page.expect_messages(["Written by bob"])
        self.assertEqual(["Written by bob"], self.gateway.said(self.room))

    def test_a_name_opens_nothing_that_a_token_brought(self):
        self.gateway.converse(self.room, "alice")
        self.gateway.say(self.room, "alice", "For alice alone")
        page = self.open(None)
        page.page.goto(
            f"http://{self.gateway.address}/?token={self.token('alice')}&conversation={self.room}")
        page.expect_live()
        # Whose token it is is known from the second time on, and what it brings is kept.
        page.page.reload()
        page.expect_messages(["For alice alone"])
        page.page.wait_for_function("""async (room) => {
          const { MessageStore } = await import('/message-store.js');
          const store = await MessageStore.open('alice');
          const kept = await store.load(room);
          store.close();
          return kept !== null;
        }""", arg=self.room)
        tab = page.page.context.new_page()
        tab.add_init_script("""
          window.shown = false;
          new MutationObserver(() => {
            window.shown ||= document.body?.innerText.includes('For alice alone') ?? false;
          }).observe(document, { subtree: true, childList: true, characterData: true });
        """)
        tab.goto(f"http://{self.gateway.address}/?user=alice&conversation={self.room}")
        expect(tab.locator("dialog")).to_contain_text("The gateway says")
        self.assertFalse(tab.evaluate("window.shown"))
        page.page.reload()
        page.expect_messages(["For alice alone"])

    def test_a_refused_token_is_asked_for_again(self):
        page = self.open(None)
        page.page.goto(f"http://{self.gateway.address}/?token={self.token('alice', -3600)}")
        expect(page.dialog).to_contain_text("the token expired")
        page.dialog.get_by_label("Token").fill("nonsense")
        page.dialog.get_by_label("Token").press("Enter")
        expect(page.dialog).to_contain_text("the token was refused")
        self.picture(page, "token")
        page.dialog.get_by_label("Token").fill(self.token("bob"))
        page.dialog.get_by_label("Token").press("Enter")
        page.expect_live()
        expect(page.page.locator(".who")).to_have_text("bob")


def _base64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


if __name__ == "__main__":
    unittest.main()
