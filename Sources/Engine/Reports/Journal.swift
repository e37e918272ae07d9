import Chat
import Wire

/// What became of the latest messages: a ring of entries in memory, bounded in bytes and age, that
/// `explain` reads. It holds ids, numbers and times, never what a message says. Owned by the
/// engine, touched on the loop only; there is none where `journal.bytes` is 0.
///
/// An event that goes to thousands is one entry. Who got it follows from when each subscription
/// began and ended, and what its socket was given follows from the exceptions, which are entries:
/// events that waited, were joined into a gap, or were dropped with a connection. So a delivery
/// writes nothing.
package final class Journal {
    /// The number of an entry, from 1 up.
    typealias Serial = UInt64

    /// Where an event stands in the journal, and when it was told. It travels with the event.
    struct Place {
        let serial: Serial
        let at: Timestamp
        /// Of an event that is not in it.
        static let none = Place(serial: 0, at: Timestamp(milliseconds: 0))
    }

    /// What happened.
    enum Kind: UInt8 {
        // Of a write; `number` is its token.
        /// `low`: the verb, `text`: the message's id, if it has one, `by`: the author.
        case asked
        /// `text`: its `traceparent`.
        case traced
        /// `low`: the seq, `rev`, `text`: the id; `high`: 0 where it had been done before.
        case answered
        /// `text`: the error's message, `by`: its code.
        case refused
        // Of a message that came from the log.
        /// `low`: the seq, `rev`, `text`: the id, `by`: what happened to it.
        case arrived
        /// The same, fetched after the feed was broken.
        case fetched
        // Of an event.
        /// To all subscribers: `places`, `rev`: the position, `number`: how many they are.
        case told
        /// To all subscribers, as a gap: `places`, `text`: the cause, `number`: how many.
        case gapTold
        /// To those who were owed `places`: `sessions`.
        case paid
        // Of a session; `by`: its user.
        /// `text`: the `traceparent` that it came with.
        case connected
        /// `text`: the close code; empty if the client went.
        case closed
        /// `places`: what it holds with the answer, `text`: new, resumed or reset, `high`: the
        /// newest seq, `rev`: the position.
        case subscribed
        /// With the answer before it: `places`.
        case shown
        /// With the answer before it: `places`, `text`: the cause of the gap.
        case leftOut
        /// The subscription ended: `text` says why, `number` is the serial at which it began.
        case left
        /// A page brought `places`.
        case paged
        /// A request to read was refused: `text`: method and message, `by` the user.
        case readRefused
        /// Events from serial `low` up to, without, `high` were written long after they were told.
        case wroteLate
        /// Of the events from serial `low` on, `places` became a gap; `number`: bytes that waited.
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

        /// What it takes beside its place in the ring. Strings of up to 15 bytes take nothing, and
        /// an id is mostly shared with what else is in memory.
        var bytes: Int {
            places.runs.count * MemoryLayout<Coverage.Run>.stride + sessions.count * 8
                + (text.utf8.count > 15 ? text.utf8.count + 32 : 0)
        }
    }

    /// Stands for the conversation of what is about none.
    static let nowhere = "".id
    /// A write of the socket later than this after the telling is an entry of its own, in
    /// milliseconds: pacing and other loops' sockets take less.
    static let late: Int64 = 100

    let limit: Int
    let age: Int64
    private let capacity: Int
    private var entries: [Entry] = []
    private var start = 0
    private var count = 0
    private var heap = 0
    /// The serial of the oldest entry.
    private(set) var first: Serial = 1
    /// From when on it holds all that happened.
    private(set) var begins: Timestamp

    /// - Parameters:
    ///   - bytes: what it may take.
    ///   - age: what is older is dropped, in milliseconds; 0: by bytes alone.
    init(bytes: Int, age: Int64, at now: Timestamp) {
        limit = bytes
        self.age = age
        capacity = max(16, bytes / MemoryLayout<Entry>.stride)
        entries.reserveCapacity(capacity)
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
        if entries.count < capacity {
            entries.append(entry)
            count += 1
        } else {
            if count == capacity { dropOldest() }
            entries[(start + count) % capacity] = entry
            count += 1
        }
        if bytes > limit || age > 0 { drop(at: entry.at) }
        return serial
    }

    /// Drops what is too old, or too much.
    func drop(at now: Timestamp) {
        let oldest = now.milliseconds - age
        while count > 1, bytes > limit || age > 0 && entries[start].at.milliseconds < oldest {
            dropOldest()
        }
    }

    private func dropOldest() {
        let entry = entries[start]
        begins = entry.at
        heap -= entry.bytes
        entries[start] = Entry()
        start = (start + 1) % capacity
        count -= 1
        first += 1
    }

    /// Every entry, oldest first.
    func forEach(_ body: (Serial, Entry) -> Void) {
        for offset in 0..<count {
            body(first + Serial(offset), entries[(start + offset) % capacity])
        }
    }
}
