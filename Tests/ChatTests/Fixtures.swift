import Chat

/// Short forms for tests: one conversation `c`, one author, moments that follow the numbers.
extension Message {
    static func numbered(_ seq: Int, rev: Int? = nil, body: String? = nil) -> Message {
        Message(
            id: "m\(seq)", conversation: "c", seq: seq, rev: rev, author: "alice", body: body,
            createdAt: Timestamp(milliseconds: Int64(seq) * 1_000))
    }

    static func unnumbered(
        _ id: String, at second: Int, edited: Int? = nil, body: String? = nil
    ) -> Message {
        Message(
            id: id, conversation: "c", author: "alice", body: body,
            createdAt: Timestamp(milliseconds: Int64(second) * 1_000),
            editedAt: edited.map { Timestamp(milliseconds: Int64($0) * 1_000) })
    }
}

/// The message of each number.
func messages(_ places: some Sequence<Int>) -> [Message] { places.map { .numbered($0) } }
