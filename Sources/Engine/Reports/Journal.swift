import Chat
import Wire

/// What became of the latest messages: entries in memory, bounded in bytes and age, which
/// `explain` reads. It holds ids, numbers and times, never contents of messages. Owned by the
/// engine, touched on the loop only; absent if `journal.bytes` is 0.
///
/// An event that goes to thousands is one entry. Its receivers follow from when each subscription
/// began and ended, and what was written follows from the exceptions, which have entries: events
/// that waited, became part of a gap, or were dropped with a connection. So a delivery records
/// nothing.
package final class Journal {
    /// The number of an entry, from 1 up.
    typealias Serial = UInt64

    /// The place of an event in the journal, and when it was sent. Carried by the event.
    struct Place {
        let serial: Serial
        let at: Timestamp
        /// For an event that is not in the journal.
        static let none = Place(serial: 0, at: Timestamp(milliseconds: 0))
    }

    /// The kind of an entry.
    enum Kind: UInt8 {
        // About a write; `number` is its token.
        /// `low`: the verb, `text`: the message's id, if it has one, `by`: the author.
        case asked
        /// `text`: its `traceparent`.
        case traced
        /// `low`: the seq, `rev`, `text`: the id; `high`: 0 if it was a repetition.
        case answered
        /// `text`: the error's message, `by`: its code.
        case refused
        // About a message that came from the log.
        /// `low`: the seq, `rev`, `text`: the id, `by`: the type of the change.
        case arrived
        /// The same, but fetched after the feed broke.
        case fetched
        // About an event.
        /// To all subscribers: `places`, `rev`: the position, `number`: how many subscribers.
        case told
        /// To all subscribers, as a gap: `places`, `text`: the cause, `number`: how many
        /// subscribers.
        case gapTold
        /// To the subscribers that were owed `places`: `sessions`.
        case paid
        // About a session; `by`: its user.
        /// `text`: the `traceparent` of `connect`.
        case connected
        /// `text`: the close code; empty if the client closed the connection.
        case closed
        /// `places`: what it holds with the answer, `text`: new, resumed or reset, `high`: the
        /// newest seq, `rev`: the position.
        case subscribed
        /// With the answer before it: `places`.
        case shown
        /// With the answer before it: `places`, `text`: the cause of the gap.
        case leftOut
        /// The subscription ended: `text`: why, `number`: the serial when it began.
        case left
        /// A page brought `places`.
        case paged
        /// A request to read was refused: `text`: method and message, `by` the user.
        case readRefused
        /// Events of serials `low..<high` were written late.
        case wroteLate
        /// Of the events from serial `low` on, `places` became a gap; `number`: waiting bytes.
        case shed
        /// Events from serial `low` on were dropped with the connection.
        case discarded
    }

    struct Entry {
        var at = Timestamp(milliseconds: 0)
        var kind = Kind.closed
        var conversation = Journal.nowhere
        var session: SessionID = 0
        var low = 0
        var high = 0
        var rev = 0
        var number: UInt64 = 0
        var text = ""
        var by = ""
        var places = Coverage()
        var sessions: [SessionID] = []

        /// Its bytes beyond its slot in a block. Strings of up to 15 bytes are stored in place,
        /// and ids are mostly shared with other objects.
        var bytes: Int {
            places.runs.count * MemoryLayout<Coverage.Run>.stride + sessions.count * 8
                + (text.utf8.count > 15 ? text.utf8.count + 32 : 0)
        }
    }

    /// The conversation of entries that are about none.
    static let nowhere = "".id
    /// In milliseconds: a later write gets an entry of its own. Pacing and sockets of other loops
    /// take less.
    static let late: Int64 = 100

    let limit: Int
    let age: Int64
    /// The entries in blocks of `block`, oldest first: memory is taken by what there is, however
    /// much there may be.
    @exclusivity(unchecked) private var blocks: [[Entry]] = []
    private static let block = 1024
    /// How many entries of the first block were dropped.
    @exclusivity(unchecked) private var start = 0
    @exclusivity(unchecked) private var count = 0
    @exclusivity(unchecked) private var heap = 0
    /// The serial of the oldest entry.
    private(set) var first: Serial = 1
    /// From when on the journal is complete.
    private(set) var begins: Timestamp

    /// - Parameters:
    ///   - bytes: what it may take.
    ///   - age: what is older is dropped, in milliseconds; 0: by bytes alone.
    init(bytes: Int, age: Int64, at now: Timestamp) {
        limit = bytes
        self.age = age
        begins = now
    }

    /// The serial of the next entry.
    var next: Serial { first + Serial(count) }
    var isEmpty: Bool { count == 0 }
    /// Bytes in use.
    package var bytes: Int { count * MemoryLayout<Entry>.stride + heap }
    /// How many entries there are.
    package var length: Int { count }

    @discardableResult
    func add(_ entry: Entry) -> Serial {
        let serial = next
        heap += entry.bytes
        if blocks.last.map({ $0.count == Self.block }) ?? true {
            blocks.append([])
            blocks[blocks.count - 1].reserveCapacity(Self.block)
        }
        blocks[blocks.count - 1].append(entry)
        count += 1
        if bytes > limit || age > 0 { drop(at: entry.at) }
        return serial
    }

    /// Drops entries above the limits.
    func drop(at now: Timestamp) {
        let oldest = now.milliseconds - age
        while count > 1, bytes > limit || age > 0 && blocks[0][start].at.milliseconds < oldest {
            dropOldest()
        }
    }

    private func dropOldest() {
        begins = blocks[0][start].at
        heap -= blocks[0][start].bytes
        blocks[0][start] = Entry()
        start += 1
        if start == Self.block {
            blocks.removeFirst()
            start = 0
        }
        count -= 1
        first += 1
    }

    /// Every entry, oldest first.
    func forEach(_ body: (Serial, Entry) -> Void) {
        var serial = first
        for (number, block) in blocks.enumerated() {
            for entry in number == 0 ? block[start...] : block[...] {
                body(serial, entry)
                serial += 1
            }
        }
    }
}
