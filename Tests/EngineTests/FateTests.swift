import Engine
import Foundation
import JSON
import Ports
import Rules
import Testing
import Wire

/// What a reader holds after something else happened to it, and the table of all fates.
@Suite struct FateTests {
    private static func rig(outbox: Int? = nil) -> (rig: Rig, ben: SessionID) {
        var limits = Limits()
        limits.journal.bytes = 1 << 20
        limits.journal.age = 3_600_000
        if let outbox { limits.outboxSoft = outbox }
        let rig = Rig(limits)
        rig.create()
        let ben = rig.connect("ben")
        rig.send(ben, 100, "subscribeMessages", #""conversation":"c1""#)
        return (rig, ben)
    }

    /// More places than a gap has intervals: it takes away what lies between them too.
    @Test func whatAGapJoinsIsCoalescedThoughItWasWritten() throws {
        let (rig, ben) = Self.rig(outbox: 2000)
        for at in 1...80 { rig.say("\(at)") }
        #expect(rig.fate(of: ben, 40) == .written)
        _ = rig.take(ben)
        rig.blocked = [ben]
        let ann = rig.connect("ann")
        let long = String(repeating: "x", count: 200)
        for seq in stride(from: 1, through: 79, by: 2) {
            let id = try #require(rig.explain(seq: seq).id)
            rig.send(
                ann, 100 + seq, "editMessage",
                #""conversation":"c1","id":"\#(id)","body":"\#(long)""#)
        }
        while rig.engine.hasMore { rig.turn() }
        rig.blocked = []
        rig.engine.sockets.progressed(ben, unsent: 0, at: rig.now)
        rig.turn()
        let gaps = rig.take(ben).flatMap { $0["gaps"]?.array ?? [] }.compactMap(\.object)
        let joined = gaps.map { gap -> Range<Int> in
            let after = gap["after"]?.int ?? 0
            return (after + 1)..<max(after + 1, gap["before"]?.int ?? 0)
        }
        let between = (1...40).map { $0 * 2 }.filter { seq in
            joined.contains { $0.contains(seq) }
        }
        #expect(!between.isEmpty && between.count < 40)
        for seq in 1...40 {
            let fate = rig.fate(of: ben, seq * 2)
            #expect(fate == (between.contains(seq * 2) ? .coalesced : .written), "\(seq * 2)")
        }
    }

    @Test func whoHasItAndIsRefusedLaterStillHasIt() {
        let (rig, ben) = Self.rig()
        rig.say("1")
        rig.write(.removeParticipants(conversation: "c1", ["ben"]))
        rig.send(ben, 101, "fetchMessages", #""conversation":"c1""#)
        let reader = rig.explain(seq: 1).readers.first { $0.session == ben }
        #expect(reader?.fate == .written)
        #expect(reader?.steps.last?.what == "read_refused")
    }

    @Test func whatWasRefusedHereAndIsInTheLogIsNotRefused() {
        var limits = Limits()
        limits.journal.bytes = 1 << 20
        limits.clients.sends = false
        let rig = Rig(limits)
        rig.create()
        let ben = rig.connect("ben")
        rig.send(ben, 2, "sendMessage", #""conversation":"c1","id":"m1","body":"x""#)
        #expect(rig.explain(id: "m1").fate == .refused)
        let message = EncodedMessage(
            seq: 1, rev: 1, id: "m1", author: "ben", isDeleted: false, createdAt: rig.now, json: [])
        #expect(rig.explain(id: "m1", origin: .message(message)).fate == .unwatched)
    }

    /// Each fate has its row in the table of `Tests/README.md`, and the test that it names there
    /// comes to it.
    @Test func everyFateHasATest() throws {
        let tests = "/" + #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
        let page = try String(contentsOfFile: tests + "/README.md", encoding: .utf8)
        var sources: [String: Substring] = [:]
        for file in ["JournalTests", "FateTests"] {
            let path = "\(tests)/EngineTests/\(file).swift"
            let text = try String(contentsOfFile: path, encoding: .utf8)
            for body in text.components(separatedBy: "@Test func ").dropFirst() {
                let name = body.prefix { $0.isLetter || $0.isNumber }
                sources[String(name)] = body[...]
            }
        }
        for fate in Fate.allCases {
            let row = page.split(separator: "\n").first { $0.hasPrefix("| `\(fate.rawValue)` |") }
            let name = row?.split(separator: "`").last(where: { $0.first?.isLetter == true })
            let body = name.flatMap { sources[String($0)] }
            #expect(body?.contains(".\(fate)") == true, "\(fate.rawValue): \(row ?? "no row")")
        }
    }
}
