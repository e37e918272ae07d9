import Chat
import JSON
import Ports
import Wire

@testable import Engine

/// Values that tests of single machines are made of.
enum MachineSamples {
    static let start = Timestamp(milliseconds: 1_700_000_000_000)

    static func head(_ rev: Int, seq: Int? = nil, epoch: String = "e1", mark: String? = nil) -> Head
    {
        Head(epoch: epoch, seq: seq ?? rev, rev: rev, mark: mark ?? "m\(rev)")
    }

    static func message(_ seq: Int, rev: Int? = nil) -> EncodedMessage {
        EncodedMessage(
            seq: seq, rev: rev ?? seq, id: "i\(seq)", author: "ann", isDeleted: false,
            createdAt: start, json: [])
    }

    static func record(_ rev: Int = 1) -> Record {
        Record(
            id: "c1", title: nil, participants: ["ann"], admins: [],
            metadata: RawJSON(string: ""), createdAt: start, updatedAt: start, rev: rev,
            unknown: [])
    }

    /// A replica whose log is at this change.
    static func replica(_ id: String = "c1", at rev: Int = 10, generation: Int? = 1) -> Stream {
        let stream = Stream(id: id, at: start)
        stream.replica = Replica(at: start)
        if let generation { stream.replica?.acknowledged(generation: generation, isKnown: true) }
        stream.state = Stream.State(
            head: head(rev), position: head(rev), record: record(), members: [], last: nil,
            firstToken: 0)
        return stream
    }
}
