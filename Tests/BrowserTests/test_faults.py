"""The client library under faults, against the truth: what it claims to hold, it holds."""

import os
import random
import unittest

from following import STATE, FollowingTestCase

STEPS = 40
SEED = int(os.environ.get("TEST_SEED", "1"))


class FaultTests(FollowingTestCase):
    def setUp(self):
        super().setUp()
        self.follow(self.gateway.address)

    def change(self, choice, names):
        """One thing that happens; `names` are the ids of the messages so far."""
        kind = choice.choice(["say", "say", "burst", "edit", "delete", "kill", "offline", "stall"])
        if kind in ("edit", "delete") and not names:
            kind = "say"
        if kind in ("say", "burst"):
            count = 1 if kind == "say" else choice.randint(50, 400)
            said = self.gateway.call("POST", self.messages, [
                {"author": "bob", "body": f"{len(names) + at}"} for at in range(count)])
            names.extend(message["id"] for message in said["messages"])
        elif kind == "edit":
            self.gateway.call(
                "PATCH", f"{self.messages}/{choice.choice(names)}", {"body": f"{choice.random()}"})
        elif kind == "delete":
            name = names.pop(choice.randrange(len(names)))
            self.gateway.call("DELETE", f"{self.messages}/{name}")
        elif kind == "kill":
            self.gateway.kill()
            self.gateway.start()
        elif kind == "offline":
            self.page.context.set_offline(True)
            self.change(random.Random(choice.random()), names)
            self.page.context.set_offline(False)
        else:
            self.gateway.suspend()
            self.gateway.resume()

    def test_what_is_held_is_true_after_each_fault_and_whole_in_the_end(self):
        choice, names = random.Random(SEED), []
        for step in range(STEPS):
            with self.subTest(seed=SEED, step=step):
                self.change(choice, names)
                self.assert_true(self.page.evaluate(STATE), *self.truth())
        state, head, values = self.settle()
        self.assert_true(state, head, values)
        self.assertEqual(head["seq"], state["have"]["runs"][-1][1])
        self.assertFalse(state["isOpen"])
        self.assertGreater(head["seq"], 100)


if __name__ == "__main__":
    unittest.main()
