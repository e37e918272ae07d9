/// What a conversation's log really had, in every epoch: each change that the test wrote itself or
/// read through the server API. The oracle judges clients by it, after the run, because a client
/// may hear of a change before its writer does.
package struct Truth: Sendable {
    /// One epoch of the log.
    package struct Log: Sendable {
        /// The slot that each known change wrote, and its value.
        package private(set) var changes: [Int: (slot: Int, value: JSONValue)] = [:]
        /// The known changes of each slot, ascending.
        package private(set) var revs: [Int: [Int]] = [:]
        /// The mark of each rev that was seen as a head.
        package private(set) var marks: [Int: String] = [:]
        package private(set) var headRev = 0
        package private(set) var headSeq = 0

        package init() {}

        mutating func learn(slot: Int, rev: Int, _ value: JSONValue) throws {
            headRev = max(headRev, rev)
            headSeq = max(headSeq, slot)
            if let known = changes[rev] {
                guard known == (slot, value) else {
                    throw TestFailure(
                        "change \(rev) has two values: of slot \(slot), and of \(known.slot)")
                }
                return
            }
            changes[rev] = (slot, value)
            var slotRevs = revs[slot] ?? []
            slotRevs.insert(rev, at: slotRevs.firstIndex { $0 > rev } ?? slotRevs.count)
            revs[slot] = slotRevs
        }

        mutating func learn(head: JSONValue) throws {
            let rev: Int = try head.required("rev")
            headRev = max(headRev, rev)
            headSeq = max(headSeq, try head.required("seq"))
            guard let mark = head["mark"].string else { throw TestFailure("a head has no mark") }
            if let known = marks[rev], known != mark {
                throw TestFailure("rev \(rev) has two marks in one epoch")
            }
            marks[rev] = mark
        }

        /// Lets go of the values below `rev` that were written over, and of all values below it of
        /// the places below `floor`.
        mutating func forget(below rev: Int, floor: Int) {
            for (slot, all) in revs {
                var gone = all.prefix { $0 < rev }
                if slot == 0 || slot >= floor { gone = gone.dropLast() }
                guard !gone.isEmpty else { continue }
                for rev in gone { changes[rev] = nil }
                revs[slot] = gone.count == all.count ? nil : Array(all.dropFirst(gone.count))
            }
            marks = marks.filter { $0.key >= rev }
        }

        /// The newest change of the slot that is not above `rev`.
        package func lastChange(of slot: Int, atMost rev: Int) -> Int? {
            revs[slot]?.last { $0 <= rev }
        }

        /// The changes up to the head that the test never learned of, because something
        /// overwrote them first. An oracle is blind to them, so a test expects there are none.
        package var unknownChanges: [Int] {
            headRev == 0 ? [] : (1...headRev).filter { changes[$0] == nil }
        }

        /// The newest value of every message slot, oldest first.
        package var messages: [JSONValue] {
            revs.keys.filter { $0 > 0 }.sorted().compactMap { slot in
                revs[slot]?.last.flatMap { changes[$0]?.value }
            }
        }
    }

    package private(set) var logs: [String: Log] = [:]
    /// The epoch of the newest head learned.
    package private(set) var epoch: String?

    package init() {}

    package var log: Log? { epoch.flatMap { logs[$0] } }

    /// - Throws: `TestFailure` where the head contradicts what is known: two marks for one rev.
    package mutating func learn(head: JSONValue) throws {
        guard let name = head["epoch"].string else { throw TestFailure("a head has no epoch") }
        epoch = name
        try logs[name, default: Log()].learn(head: head)
    }

    /// - Throws: `TestFailure` where the same change is known with another value.
    package mutating func learn(message: JSONValue, epoch name: String) throws {
        let (seq, rev) = (try message.required("seq"), try message.required("rev"))
        try logs[name, default: Log()].learn(slot: seq, rev: rev, message)
    }

    /// - Throws: as above.
    package mutating func learn(record: JSONValue, epoch name: String) throws {
        let value = Self.slotZero(record)
        try logs[name, default: Log()].learn(slot: 0, rev: record.required("rev"), value)
    }

    /// Drops what no holder can still have, where the log stood at `rev` and at `floor`
    /// longer ago than any of them is behind.
    package mutating func forget(below rev: Int, floor: Int) {
        epoch.map { logs[$0]?.forget(below: rev, floor: floor) }
    }

    /// The part of a conversation object that is slot 0: neither per user nor derived from other
    /// slots, nor left out in some frames.
    package static func slotZero(_ record: JSONValue) -> JSONValue {
        var members = record.object ?? [:]
        for name in [
            "lastMessage", "head", "unreadCount", "unreadMentions", "lastReadSeq", "participants",
        ] {
            members[name] = nil
        }
        return .object(members)
    }
}
