"""The public surface is what the repository says it is, and the change log names what came and
went since the version before. Quick: these need no program and nothing from PyPI."""

import difflib
import pathlib
import re
import subprocess
import tempfile
import types
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = REPOSITORY / "deploy/surface"
KEPT = REPOSITORY / "deploy/reference/surface"
#: What an operator or a client writes down by its name.
NAMED = {"method", "event", "error", "close", "key", "metric"}

surface = types.ModuleType("surface")
surface.__file__ = str(SCRIPT)
exec(compile(SCRIPT.read_text(), SCRIPT, "exec"), surface.__dict__)


def names(text):
    """`key listen.public`, `metric gapless_ready`, … of a text of the surface."""
    words = [line.replace(":", "").split() for line in text.splitlines()]
    return {" ".join(line[:2]) for line in words if line and line[0] in NAMED}


def newest_section():
    text = (REPOSITORY / "deploy/reference/CHANGELOG.md").read_text()
    return text.split("\n## ")[1]


def named_in(section):
    """What stands between backticks, with `a.{b,c}` as `a.b` and `a.c`."""
    found = set()
    for quoted in re.findall(r"`([^`]+)`", section):
        group = re.fullmatch(r"([^{}]*)\{([^{}]*)\}([^{}]*)", quoted)
        parts = group[2].split(",") if group else [""]
        before, after = (group[1], group[3]) if group else (quoted, "")
        found |= {before + part.strip() + after for part in parts}
    return found


class Surface(unittest.TestCase):
    maxDiff = None

    def test_the_surface_is_what_is_kept(self):
        with tempfile.TemporaryDirectory(prefix="gapless-surface-") as folder:
            subprocess.run([SCRIPT, folder], check=True)
            changes = []
            for made in sorted(pathlib.Path(folder).iterdir()):
                kept = KEPT / made.name
                changes += difflib.unified_diff(
                    kept.read_text().splitlines() if kept.exists() else [],
                    made.read_text().splitlines(), f"kept/{made.name}", f"sources/{made.name}",
                    lineterm="", n=0)
        if changes:
            self.fail("the public surface is another one; run deploy/surface, and add a line to "
                      "deploy/reference/CHANGELOG.md:\n" + "\n".join(changes))

    def test_what_came_and_went_stands_in_the_change_log(self):
        versions = sorted(KEPT.glob("[0-9]*.txt"), key=lambda file: [
            int(part) for part in file.stem.split(".")])
        before = names(versions[-1].read_text())
        now = names((KEPT / "gateway.txt").read_text())
        for kind in NAMED:
            self.assertGreater(len([name for name in before if name.startswith(kind)]), 9, kind)
        said = named_in(newest_section())
        missing = [f"{kind} {name}" for kind, name in map(str.split, sorted(before ^ now))
                   if name not in said]
        self.assertEqual([], missing, "name them in the newest section of CHANGELOG.md")

    def test_names_in_braces_are_names(self):
        said = named_in("- `a.{b,c.d}` and `e`: f, `g_*`")
        self.assertEqual({"a.b", "a.c.d", "e", "g_*"}, said)

    def test_a_declaration_is_a_line(self):
        source = surface.Source('''
            /// A. public var none: Int
            @MainActor
            public final class A<T>: B, @unchecked Sendable
            where T: C {
                public private(set) var a = "\\(b("}")) {"
                public var c: Int { didSet { d() } }
                public var e: Int { get async { 1 } }
                public var f: [Int] {
                    get { [] }
                    set { }
                }
                @inlinable public func g(
                    _ h: Int = 1,
                    then: () -> Void
                ) throws(E) -> Int
                { 1 }
                func i() {}
                public enum J: String { case k, l(m: Int, n: Int); func o() {} }
                struct P { public let q: Int }
                public static let text = """
                    public var no: Int
                    """
                #if os(Linux)
                    public subscript(r: Int) -> Int { 1 }
                #endif
            }
            public protocol S { var t: Int { get set }; func u() async }
            extension A where T == Int { public init?(v: Int) { nil } }
            extension A: W {}
            package protocol X {}
            extension A: X {}
            ''')
        self.assertEqual(surface.declarations([source]), [
            "A  @MainActor final class A<T>: B, @unchecked Sendable where T: C",
            "A  extension A: W",
            "A  func g(_ h: Int = 1, then: () -> Void) throws(E) -> Int",
            "A  static let text = \"\"\" public var no: Int \"\"\"",
            "A  subscript(r: Int) -> Int { get }  #if os(Linux)",
            "A  var a = \"\\(b(\"}\")) {\" { get }",
            "A  var c: Int",
            "A  var e: Int { get async }",
            "A  var f: [Int]",
            "A where T == Int  init?(v: Int)",
            "A.J  enum J: String",
            "A.J  case k",
            "A.J  case l(m: Int, n: Int)",
            "S  protocol S",
            "S  func u() async",
            "S  var t: Int",
        ])


if __name__ == "__main__":
    unittest.main()
