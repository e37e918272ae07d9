"""The shop of deploy/reference/postgres.md: orders and their messages, in one transaction each."""

import asyncio
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

from browser import UNREACHABLE, BrowserTestCase, chromium
from gateway import PROGRAM, REPOSITORY, free_port
from playwright.sync_api import expect
from site_of_ours import project, serve

sys.path.insert(0, str(REPOSITORY / "deploy"))

from demonstration.postgres import Postgres, programs  # noqa: E402 (found by the line above)

PATIENCE = 60_000
#: So many orders come in one transaction while the page is away: more than one answer brings.
CROWD = 150


class ShopTests(BrowserTestCase):
    """A Postgres with the shop in it, a gateway on it, and a customer's page."""

    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(cls.enterClassContext(
            tempfile.TemporaryDirectory(prefix="gapless-shop-")))
        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, daemon=True).start()
        cls.server = Postgres(f"127.0.0.1:{free_port()}", folder / "postgres", PROGRAM, print)

        def wait(work):
            return asyncio.run_coroutine_threadsafe(work, loop).result(120)

        cls.addClassCleanup(lambda: wait(cls.server.stop()))
        if not wait(cls.server.start()):
            raise AssertionError((cls.server.folder / "postgres.log").read_text())
        cls.sql(f"\\i {REPOSITORY}/deploy/examples/shop.sql")
        cls.folder = project(cls)
        shutil.copy(REPOSITORY / "deploy/examples/shop.html", cls.folder)
        cls.site = serve(cls, cls.folder)
        cls.settings = {
            "listen__allowed_origins": cls.site, "upstream__kind": "postgres",
            "upstream__postgres__url_file": cls.server.url,
        }
        super().setUpClass()

    @classmethod
    def sql(cls, text, check=True):
        """What psql answers; with `check` an error is one of the test."""
        done = subprocess.run(
            [programs() / "psql", "--no-psqlrc", "--tuples-only", "--no-align", "--quiet",
             "--set=ON_ERROR_STOP=1", cls.server.url.read_text().strip()],
            input=text, text=True, capture_output=True, check=False)
        if check and done.returncode != 0:
            raise AssertionError(done.stderr)
        return done.stdout.strip() if check else done.stderr

    def test_an_order_and_its_message_are_written_together_or_not_at_all(self):
        self.expected = (UNREACHABLE,)
        self.assertEqual("1", self.sql("select shop.place('alice', 'a lamp')"))
        context = chromium().new_context()
        self.addCleanup(context.close)
        page = context.new_page()
        page.goto(f"{self.site}/shop.html?user=alice&url=ws://{self.gateway.address}/v1/ws")
        rows = page.locator("li")
        expect(rows).to_have_text(["Order 1: a lamp."], timeout=PATIENCE)

        # A transaction that is not committed is not seen; then all of it is, in its order.
        self.sql("begin; select shop.place('alice', 'a chair'); rollback;")
        self.sql("""
            begin;
            select shop.place('alice', 'a chair');
            select shop.ship(1);
            commit;
        """)
        expect(rows).to_have_text(
            ["Order 1: a lamp. It is on its way.", "Order 3: a chair."], timeout=PATIENCE)

        # There was one chair: the second order fails behind its message, which goes with it.
        self.assertIn("items_stock_check", self.sql("select shop.place('alice', 'a chair')", False))
        expect(rows).to_have_count(2)

        # What is ordered while the gateway is gone is there when it is back, a row for what is
        # missing in between until it is loaded.
        self.gateway.kill()
        expect(page.get_by_role("status")).to_have_text("waiting", timeout=PATIENCE)
        self.sql(f"select shop.place('alice', 'a lamp') from generate_series(1, {CROWD})")
        self.gateway.start()
        expect(rows.last).to_contain_text(f"Order {CROWD + 4}: a lamp.", timeout=PATIENCE)
        gap = page.get_by_role("button", name="orders are not here yet")
        while rows.count() < CROWD + 2 or gap.count() > 0:
            gap.click(timeout=PATIENCE)
            page.wait_for_timeout(100)
        expect(rows).to_have_count(CROWD + 2)

        # The database says the same: one message for each order, one order for each message.
        self.assertEqual(f"{CROWD + 2}|{CROWD + 2}", self.sql("""
            select count(*), count(message) from shop.orders
            full join gapless.messages('orders:alice', '{"limit": 1000}') message
              on (message ->> 'order')::bigint = orders.id
        """))


if __name__ == "__main__":
    import unittest
    unittest.main()
