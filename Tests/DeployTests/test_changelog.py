"""The change log is short lines in five groups, and the links of the reference lead somewhere.
Quick: these need no program and nothing from PyPI."""

import pathlib
import re
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
REFERENCE = REPOSITORY / "deploy/reference"
GROUPS = ["Upgrading", "Breaking", "Added", "Changed", "Fixed"]
MOST_WORDS = 30


def words(line):
    """How many words somebody reads: a link counts as its text."""
    text = re.sub(r"\]\([^)]*\)", "]", line.removeprefix("- "))
    return len([word for word in text.split() if word != "|"])


def sections():
    """The version and the text of each."""
    text = (REFERENCE / "CHANGELOG.md").read_text()
    return [part.split("\n", 1) for part in text.split("\n## ")[1:]]


def anchors(page):
    """What a link into the page may name: its headings, as GitHub spells them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    found = set()
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        words = re.sub(r"\]\([^)]*\)", "", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return found


class ChangeLog(unittest.TestCase):
    def test_each_version_has_the_groups_in_their_order(self):
        self.assertGreater(len(sections()), 0)
        for version, text in sections():
            self.assertRegex(version, r"^\d+\.\d+\.\d+ \(\d+ \w+ \d{4}\)$")
            found = re.findall(r"^### (.+)$", text, re.MULTILINE)
            self.assertEqual([group for group in GROUPS if group in found], found, version)
            self.assertNotIn("**", text, "a group says what kind of change a line is")

    def test_the_newest_version_is_the_one_that_is_built(self):
        release = (REPOSITORY / "Sources/CRelease/release.c").read_text()
        version = re.search(r'BUILD_VERSION "(.+)"', release)[1]
        self.assertEqual(version, sections()[0][0].split()[0])

    def test_a_line_is_short(self):
        long = [f"{words(line)} words: {line}" for _, text in sections()
                for line in text.splitlines() if words(line) > MOST_WORDS]
        self.assertEqual([], long, f"a line has at most {MOST_WORDS} words")

    def test_what_breaks_is_one_table_and_all_else_are_lines(self):
        for version, text in sections():
            for part in text.split("\n### ")[1:]:
                group, *lines = [line for line in part.splitlines() if line]
                if group == "Breaking":
                    self.assertEqual(["| what changed | what to do |", "|---|---|"], lines[:2])
                    for line in lines[2:]:
                        self.assertRegex(line, r"^\| [^|]+\. \| [^|]+\. \|$", version)
                else:
                    for line in lines:
                        self.assertRegex(line, r"^- .+\.$", version)

    def test_words_are_counted(self):
        self.assertEqual(4, words("- a [b c](d.md) `e`"))
        self.assertEqual(3, words("| a b | c |"))


class Links(unittest.TestCase):
    def test_each_leads_to_a_file_and_to_its_heading(self):
        pages = [REPOSITORY / "README.md", *REFERENCE.rglob("*.md")]
        broken, count = [], 0
        for page in pages:
            for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
                if re.match(r"\w+:", link):
                    continue
                count += 1
                path, _, anchor = link.partition("#")
                target = (page.parent / path).resolve() if path else page
                if not target.exists() or anchor and anchor not in anchors(target):
                    broken.append(f"{page.relative_to(REPOSITORY)}: {link}")
        self.assertGreater(count, 100)
        self.assertEqual([], broken)


if __name__ == "__main__":
    unittest.main()
