/// What one client holds of one conversation, kept by the rules of `protocol.md` 1 ("What a client
/// does") and by nothing else: values that are only shown never enter. The oracle compares it with
/// the truth after every frame.
package struct Holder: Sendable {
    /// How a frame reached the client, which decides how its `asOf` is taken.
    package enum Frame: Sendable {
        /// The answer of `subscribeMessages`, and whether the request carried a `have`.
        case subscribed(JSONValue, withHave: Bool)
        /// The final answer of `fetchMessages`.
        case fetched(JSONValue)
        /// `messages`, `gap`, `conversation`, `reset` or `unsubscribed`.
        case event(JSONValue)
    }

    /// The newest head that was seen, as it came.
    package private(set) var head: JSONValue = .null
    package private(set) var asOf = 0
    package private(set) var runs = Intervals()
    /// The messages of the slots in `runs`.
    package private(set) var held: [Int: JSONValue] = [:]
    /// Slot 0, as far as the client was told of it.
    package private(set) var record: JSONValue?
    package private(set) var isSubscribed = false
    /// The gateway has said that there may be changes which nobody here knows.
    package private(set) var isOpen = false
    /// The slots that the last frame wrote.
    package private(set) var touched: [Int] = []

    package init() {}

    /// A holder as it may have been at some moment: `held` are the messages that it has, the runs
    /// follow from them. Whether that is true is the oracle's to say.
    package init(head: JSONValue, asOf: Int, held: [Int: JSONValue], record: JSONValue?) {
        self.head = head
        self.asOf = asOf
        self.held = held
        self.record = record
        for seq in held.keys.sorted() { runs.insert(seq...seq) }
    }

    package var epoch: String? { head["epoch"].string }

    /// The `have` to resume with, nil where nothing is held.
    package var have: JSONValue? {
        head.isNull ? nil : ["head": head, "asOf": .int(asOf), "runs": runs.json]
    }

    /// The held messages, oldest first.
    package var messages: [JSONValue] { held.sorted { $0.key < $1.key }.map(\.value) }

    /// Follows the frame.
    ///
    /// - Throws: `TestFailure` where the frame is not what the protocol allows at this place.
    package mutating func apply(_ frame: Frame) throws {
        touched = []
        switch frame {
        case .subscribed(let answer, let withHave):
            if !withHave || answer["reset"].bool == true { forget() }
            try take(answer)
            asOf = try answer.required("asOf")
            isSubscribed = true
            try take(record: answer["conversation"])
        case .fetched(let answer):
            // Without a subscription it may be of another branch of the log: it is only shown.
            guard isSubscribed else { return }
            let heldBefore = !head.isNull && epoch == answer["head"]["epoch"].string
            let before = asOf
            try take(answer)
            let answered: Int = try answer.required("asOf")
            asOf = heldBefore ? min(before, answered) : answered
        case .event(let event): try apply(event: event)
        }
    }

    private mutating func apply(event: JSONValue) throws {
        let name = event["event"].string ?? ""
        guard isSubscribed else {
            throw TestFailure("a \(name) event came for a conversation that is not subscribed")
        }
        switch name {
        case "reset", "unsubscribed":
            forget()
            isSubscribed = false
        case "messages", "gap", "conversation":
            try take(event)
            if name == "conversation" { try take(record: event["conversation"]) }
            let prev: Int = try event.required("prev")
            // Of another epoch everything was forgotten, and `asOf` is 0: it proves no more.
            if prev <= asOf { asOf = try event.required("asOf") }
        default: throw TestFailure("\(name) is not an event of a log")
        }
    }

    /// Lets go of what lies outside of `places`.
    package mutating func keep(only places: Intervals) {
        let rest = runs.subtracting(places)
        runs = runs.subtracting(rest)
        held = held.filter { !rest.contains($0.key) }
    }

    /// The client unsubscribed: it keeps what it holds, to resume with.
    package mutating func unsubscribed() { isSubscribed = false }

    /// The connection went away: likewise.
    package mutating func disconnected() { isSubscribed = false }

    package mutating func forget() {
        let wasSubscribed = isSubscribed
        self = Holder()
        isSubscribed = wasSubscribed
    }

    /// Rules 1 and 2.
    private mutating func take(_ frame: JSONValue) throws {
        let newHead = frame["head"]
        guard let newEpoch = newHead["epoch"].string else {
            throw TestFailure("no head in a frame")
        }
        if newEpoch != epoch || frame["reset"].bool == true { forget() }
        // A frame may carry a head that is older than the newest one seen.
        let isNewer = (newHead["rev"].int ?? 0) >= (head["rev"].int ?? 0)
        if head.isNull || isNewer { head = newHead }
        head["floor"] = .int(max(head["floor"].int ?? 1, newHead["floor"].int ?? 1))
        isOpen = frame["open"].bool == true

        let covers = try Intervals(frame["covers"])
        for delta in frame["deltas"].array ?? [] { try take(message: delta["message"], covers) }
        for message in frame["messages"].array ?? [] { try take(message: message, covers) }
        runs.formUnion(covers)
        let before = runs
        for gap in frame["gaps"].array ?? [] {
            let after: Int = try gap.required("after")
            let end: Int = try gap.required("before")
            guard after + 1 < end else { throw TestFailure("a gap is empty") }
            runs.remove((after + 1)...(end - 1))
        }
        let floor: Int = try newHead.required("floor")
        if floor > 1 { runs.remove(1...(floor - 1)) }
        for range in before.subtracting(runs).ranges {
            if range.count <= held.count {
                for seq in range { held[seq] = nil }
            } else {
                held = held.filter { !range.contains($0.key) }
            }
        }
    }

    private mutating func take(message: JSONValue, _ covers: Intervals) throws {
        let seq: Int = try message.required("seq")
        let rev: Int = try message.required("rev")
        guard covers.contains(seq) else { return }
        if let present = held[seq]?["rev"].int, present > rev { return }
        held[seq] = message
        touched.append(seq)
    }

    private mutating func take(record new: JSONValue) throws {
        let rev: Int = try new.required("rev")
        if let present = record?["rev"].int, present > rev { return }
        record = new
        touched.append(0)
    }
}

extension JSONValue {
    /// - Throws: `TestFailure` where the member is missing or no integer.
    package func required(_ key: String) throws -> Int {
        guard let value = self[key].int else { throw TestFailure("\(key) is no integer") }
        return value
    }
}
