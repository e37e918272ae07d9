"""The property test of all faces, from its own generator, against the real gateway.

TEST_LIVE_SEED says which is the first seed and TEST_LIVE_SEEDS how many there are."""

import os
import pathlib
import re
import subprocess
import unittest

from gateway import API_KEY, Gateway

PROGRAM = pathlib.Path(__file__).parent / "live-faces.mjs"
FIRST = os.environ.get("TEST_LIVE_SEED", "1")
COUNT = os.environ.get("TEST_LIVE_SEEDS", "12")
#: Seconds that only a program that hangs takes.
PATIENCE = 300 + 20 * int(COUNT)


class LiveFaceTests(unittest.TestCase):
    def test_every_face_is_whole_after_what_the_generator_does(self):
        with Gateway() as gateway:
            played = subprocess.run(
                ["node", str(PROGRAM), gateway.address, API_KEY, FIRST, COUNT],
                capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(played.returncode, 0, played.stdout[-4000:] + played.stderr[-4000:])
        faces = re.search(r"(\d+) faces", played.stdout)
        self.assertGreaterEqual(int(faces[1]), int(COUNT))


if __name__ == "__main__":
    unittest.main()
