import Testing

/// Each rule is shown a bad sample, which it must refuse, and a good one, which it must not: a test
/// of the house that can't fail would be none.
@Suite struct RuleTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let rule: @Sendable (Repository.File) -> [String]
        var path = "Sources/Engine/Sample.swift"
        let bad: String
        let good: String
    }

    static let samples: [Sample] = [
        Sample(
            testDescription: "an upward import", rule: ImportRules.check,
            bad: "import Cache\n", good: "import Wire\n// import Cache\n"),
        Sample(
            testDescription: "an import within the row", rule: ImportRules.check,
            path: "Sources/Crypto/A.swift", bad: "import WebSockets\n", good: "import JSON\n"),
        Sample(
            testDescription: "an upward import of one type", rule: ImportRules.check,
            bad: "package import struct Gateway.Page\n", good: "import struct Chat.Coverage\n"),
        Sample(
            testDescription: "a system module in the core", rule: ImportRules.check,
            bad: "import Glibc\n", good: "let text = \"\"\"\nimport Glibc\n\"\"\"\n"),
        Sample(
            testDescription: "Foundation in the shell", rule: ImportRules.check,
            path: "Sources/Cache/A.swift", bad: "@preconcurrency import Foundation\n",
            good: "import Glibc\nimport Synchronization\n"),
        Sample(
            testDescription: "a second door to a C library", rule: ImportRules.check,
            path: "Sources/Commands/A.swift", bad: "import CSQLite\n", good: "import CCurl\n"),
        Sample(
            testDescription: "a target that is not in the table", rule: ImportRules.check,
            path: "Sources/Attic/A.swift", bad: "", good: ""),
        Sample(
            testDescription: "an unsafe pointer", rule: SafetyRules.pointers,
            bad: "func f(_ p: UnsafeRawBufferPointer) {}\n",
            good: "/// Not an UnsafeRawBufferPointer.\nlet a = \"OpaquePointer\"\n"),
        Sample(
            testDescription: "a call that hands out a pointer", rule: SafetyRules.pointers,
            bad: "bytes.withUnsafeBytes { send($0) }\n", good: "bytes.span.count\n"),
        Sample(
            testDescription: "unchecked without a reason", rule: SafetyRules.unchecked,
            path: "Sources/SocketLoop/ServiceLoop.swift",
            bad: "// It is fine.\nfinal class A: @unchecked Sendable {}\n",
            good:
                "// Safety: owns it,\n// as said.\nfinal class A: @unchecked Sendable {}\n"),
        Sample(
            testDescription: "unchecked elsewhere", rule: SafetyRules.unchecked,
            bad: "// Safety: says so.\nnonisolated(unsafe) var a = 1\n",
            good: "// @unchecked Sendable\nlet a = 1\n"),
        Sample(
            testDescription: "a closure in a mutex", rule: SafetyRules.lockedClosures,
            bad: "let a = Mutex<(@Sendable (Int) -> Void)?>(nil)\n",
            good: "let a = Mutex<Taker?>(nil)\nlet b: (Int) -> Void\n"),
        Sample(
            testDescription: "a stored closure that is called under a lock",
            rule: SafetyRules.callsUnderLock,
            bad: "let tell: @Sendable (Int) -> Void\nfunc f() { a.withLock {\n tell($0) } }\n",
            good: "let tell: @Sendable (Int) -> Void\nfunc f() { tell(a.withLock { $0 }) }\n"),
        Sample(
            testDescription: "an escaping closure that is called under a lock",
            rule: SafetyRules.callsUnderLock,
            bad: "func f(then: @escaping () -> Void) { a.withLock { if $0 { then() } } }\n",
            good: "func f(then: (inout Int) -> Void) { a.withLock { then(&$0) } }\n"),
        Sample(
            testDescription: "try!", rule: SafetyRules.traps, bad: "try! f()\n",
            good: "try f()\nlet a = !b\n"),
        Sample(
            testDescription: "a force unwrap", rule: SafetyRules.traps,
            bad: "let a = list.first!\n", good: "if a != b, !c { print(\"first!\") }\n"),
        Sample(
            testDescription: "a force unwrap inside an expression", rule: SafetyRules.traps,
            bad: "f(a[0]!, b)\n", good: "guard a !== b else { return }\n"),
        Sample(
            testDescription: "an implicitly unwrapped optional", rule: SafetyRules.traps,
            bad: "var a: Int!\n", good: "var a: Int?\n"),
        Sample(
            testDescription: "a default over the protocol's own enum",
            rule: { SwitchRules.defaults($0, ["Answer": ["page", "view"]]) },
            bad: "switch a {\ncase .page(let page):\n    f(page)\ndefault: g()\n}\n",
            good: "switch a {\ncase .page: 1\ncase .other: 2\ndefault: 3\n}\n"),
        Sample(
            testDescription: "fatalError", rule: SafetyRules.traps,
            bad: "fatalError(\"never\")\n", good: "preconditionFailure(\"never\")\n"),
        Sample(
            testDescription: "a wide line", rule: TextRules.columns,
            bad: String(repeating: "a", count: 101), good: String(repeating: "ü", count: 100)),
        Sample(
            testDescription: "a file that does not say what it is", rule: TextRules.opening,
            bad: "import Chat\n\nstruct A {}\n/// Late.\n",
            good: "import Chat\n\n/// One A.\nstruct A {}\n"),
        Sample(
            testDescription: "something left for later", rule: TextRules.unfinished,
            bad: "// TODO: more\n", good: "let todo = 1\n"),
        Sample(
            testDescription: "a name that says nothing", rule: TextRules.names,
            bad: "final class CacheManager {}\n", good: "final class ManagedMessageList {}\n"),
        Sample(
            testDescription: "a word of our own", rule: TextRules.retiredWords,
            bad: "final class Mirror {}\n", good: "final class ReplicaCache {}\n"),
        Sample(
            testDescription: "an emoji", rule: TextRules.emoji, bad: "// \u{1F680}\n",
            good: "// → ① …\n"),
        Sample(
            testDescription: "a path of some machine", rule: TextRules.machinePaths,
            bad: "let file = \"/home/me/a\"\n", good: "let file = \"/health/live\"\n"),
        Sample(
            testDescription: "a sentence without its subject", rule: TextRules.phrases,
            bad: "/// Whoever reads.\n",
            good: "/// The client that reads; many more do, and they are all the same.\n"),
        Sample(
            testDescription: "a phrase that a line's end cuts", rule: TextRules.phrases,
            bad: "/// Nobody reads all\n/// the same.\n",
            good: "let total = \"gapless_awaits_in_vain_total\"\n"),
        Sample(
            testDescription: "a phrase of a page", rule: TextRules.phrases,
            path: "deploy/reference/a.md", bad: "Nobody reads any more, in vain.\n",
            good: "Nobody reads now: no more than that.\n"),
        Sample(
            testDescription: "a phrase in one word", rule: TextRules.phrases,
            path: "Sources/Browser/a.js", bad: "// It does not read anymore.\n",
            good: "// It no longer reads.\n"),
    ]

    @Test(arguments: samples) func aBadSampleIsRefused(_ sample: Sample) {
        #expect(!sample.rule(Repository.File(path: sample.path, text: sample.bad)).isEmpty)
        guard !sample.good.isEmpty else { return }
        #expect(sample.rule(Repository.File(path: sample.path, text: sample.good)) == [])
    }

    @Test func anUpwardArrowInTheManifestIsRefused() {
        #expect(!ImportRules.check(manifest: #"core("Chat", ["Wire", "JSON"]),"#).isEmpty)
        #expect(!ImportRules.check(manifest: "").isEmpty)
        #expect(ImportRules.check(manifest: #"core("Wire", ["Chat", "JSON"]),"#) == [])
    }

    @Test func anUndeclaredImportIsRefused() {
        let file = Repository.File(path: "Sources/Wire/A.swift", text: "import Chat\nimport JSON\n")
        #expect(
            ImportRules.undeclared([file], manifest: #"core("Wire", ["JSON"])"#).count == 1)
    }

    @Test func codeIsToldFromText() {
        let text = """
            let a = "b // \\(f("c")) d" // e
            /* one /* two */ still */ let g = #"h "i" \\#(j)"#
            """
        let lines = SwiftCode(text).lines
        #expect(lines.count == 2)
        #expect(!lines.joined().contains { "bcdhj".contains($0) })
        #expect(lines[0].contains("let a =") && lines[1].contains("let g ="))
    }
}
