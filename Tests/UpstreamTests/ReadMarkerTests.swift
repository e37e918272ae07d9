import Ports
import TestSupport
import Testing
import Upstream
import Wire

/// Markers and unread counts, by example and against counting.
@Suite struct ReadMarkerTests {
    private let origin: Origin

    init() throws { origin = try Origin() }

    private func mark(_ seq: Int, by user: String) throws -> ReaderState {
        try origin.perform(.markRead(conversation: "c1", seq: seq), by: .user(user)).reader()
    }

    @Test func aMarkerMovesForwardOnlyAndIsToldWhenItMoves() throws {
        try origin.conversation(of: ["a", "b"])
        for _ in 0..<5 { try origin.send("x", by: "a") }
        _ = origin.events()
        #expect(try mark(3, by: "b") == ReaderState(lastReadSeq: 3, unreadCount: 2))
        #expect(origin.events() == [.read(conversation: "c1", user: "b", seq: 3)])
        #expect(try mark(2, by: "b") == ReaderState(lastReadSeq: 3, unreadCount: 2))
        #expect(try mark(3, by: "b").lastReadSeq == 3)
        #expect(origin.events().isEmpty)
        #expect(try origin.head().rev == 6, "a marker is no change of the log")
    }

    @Test func sendingReadsUpToOnesOwn() throws {
        try origin.conversation(of: ["a", "b"])
        for _ in 0..<3 { try origin.send("x", by: "a") }
        try origin.send("y", by: "b")
        #expect(try origin.view(user: "b").reader == ReaderState(lastReadSeq: 4, unreadCount: 0))
        #expect(try origin.view(user: "a").reader == ReaderState(lastReadSeq: 3, unreadCount: 1))
    }

    @Test func aUserWhoWroteBeforeJoiningHasReadTheirOwn() throws {
        try origin.conversation(of: ["a"])
        try origin.send("from outside", by: "bot", as: .server)
        try origin.send("x", by: "a")
        #expect(try origin.view(user: "bot").reader == nil)
        try origin.perform(.addParticipants(conversation: "c1", [NewParticipant(user: "bot")]))
        try origin.perform(.addParticipants(conversation: "c1", [NewParticipant(user: "new")]))
        #expect(try origin.view(user: "bot").reader == ReaderState(lastReadSeq: 1, unreadCount: 1))
        #expect(try origin.view(user: "new").reader == ReaderState(lastReadSeq: 0, unreadCount: 2))
    }

    /// Random traffic of four users, two of whom come and go; every count against a plain one.
    @Test func unreadCountsAreWhatCountingGives() throws {
        let users = ["a", "b", "c", "d"]
        for seed in UInt64(0)..<20 {
            var random = SplitMix64(seed: seed)
            let id = "c\(seed)"
            try origin.conversation(id, of: ["a", "b"])
            var messages: [(author: String, isDeleted: Bool)] = []
            var markers: [String: Int] = [:]
            var present: Set<String> = ["a", "b"]
            for step in 0..<60 {
                let user = users.randomElement(using: &random) ?? "a"
                switch Int.random(in: 0..<8, using: &random) {
                case 0...2:
                    try origin.send(
                        "x", id: "m\(messages.count + 1)", to: id, by: user, as: .server)
                    messages.append((user, false))
                    markers[user] = messages.count
                case 3...4 where !messages.isEmpty:
                    let seq = Int.random(in: 1...messages.count, using: &random)
                    try origin.perform(.delete(conversation: id, id: "m\(seq)"))
                    messages[seq - 1].isDeleted = true
                case 5 where present.contains(user):
                    let seq = Int.random(in: 0...messages.count, using: &random)
                    try origin.perform(.markRead(conversation: id, seq: seq), by: .user(user))
                    markers[user] = max(markers[user] ?? 0, seq)
                case 6 where user > "b":
                    try origin.perform(
                        .addParticipants(conversation: id, [NewParticipant(user: user)]))
                    if present.insert(user).inserted {
                        let own = messages.lastIndex { $0.author == user }
                        markers[user] = own.map { $0 + 1 } ?? 0
                    }
                case 7 where user > "b":
                    try origin.perform(.removeParticipants(conversation: id, [user]))
                    present.remove(user)
                default: break
                }
                for user in users {
                    let marker = markers[user] ?? 0
                    let unread = messages.dropFirst(marker).count {
                        !$0.isDeleted && $0.author != user
                    }
                    let expected =
                        present.contains(user)
                        ? ReaderState(lastReadSeq: marker, unreadCount: unread) : nil
                    #expect(
                        try origin.view(id, user: user).reader == expected,
                        "seed \(seed), step \(step), user \(user)")
                }
            }
        }
    }
}
