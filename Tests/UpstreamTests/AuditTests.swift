import Cache
import Ports
import SQLite
import Testing
import Wire

@testable import Upstream

/// The audit of a log finds what a fold should have written, and what a tail must not have.
@Suite struct AuditTests {
    @Test(arguments: [
        ("UPDATE member SET last_read = 3 WHERE user = 'alice'", "what its author has read"),
        ("UPDATE member SET sent = NULL WHERE user = 'alice'", "what its author has read"),
        ("DELETE FROM member WHERE user = 'eve'", "what its author has read"),
        ("INSERT INTO incarnation SELECT cid, rev, 'other' FROM tail", "under another mark"),
        ("UPDATE conversation SET mark = 'other'", "under another mark"),
        ("DELETE FROM incarnation WHERE cid > 0", "under another mark"),
    ])
    func eachDamageOfATailIsFound(_ damage: String, _ finding: String) throws {
        let log = try DrivenLog(tail: 8)
        try log.perform([
            (.put(id: "c1", ConversationFields(participants: ["alice", "bob"])), .server)
        ])
        // Eight are folded, three are the tail; Eve writes without taking part.
        for number in 1...11 {
            let author = number == 5 ? "eve" : "alice"
            let content = MessageContent(id: "m\(number)", body: "hello")
            try log.perform([
                (.send(conversation: "c1", [NewMessage(author: author, content: content)]), .server)
            ])
        }
        #expect(try log.store.audit() == [])
        try Connection(path: log.store.options.path, access: .readWrite).execute(damage)
        let findings = try log.store.audit()
        #expect(findings.contains { $0.contains(finding) }, "\(findings)")
    }
}
