import Chat
import JSON
import Wire

/// What a frame says about one conversation: the common part of the answers to `subscribeMessages`
/// and `fetchMessages` and of the events `messages`, `gap` and `conversation`. Decoded with the
/// JSON target from the bytes that a client received; a field that is missing or of another type is
/// a violation.
struct FrameContent {
    /// The kind of frame.
    enum Source { case subscription, page, messages, gap, record }

    /// The new value of a slot, as its bytes.
    struct Value {
        var slot: Int
        var rev: Int
        var type: DeltaType?
        var via: Via?
        var json: RawJSON
    }

    var source: Source
    var isReset = false
    /// Messages, newest first or in order of change.
    var values: [Value] = []
    var record: Value?
    var covers = Coverage()
    var gaps: [Gap] = []
    var prev: Int?
    var asOf: Int
    var head: Head
    var isOpen: Bool
    /// In answers: the runs that they name, with the ids at the ends.
    var boundaries: [Boundary] = []

    init(_ source: Source, _ json: JSONObject) throws(Violation) {
        self.source = source
        asOf = try json.required("asOf").integer("asOf")
        head = try Head(json.required("head").members("head"))
        isOpen = json["open"]?.bool ?? false
        isReset = json["reset"]?.bool ?? false
        switch source {
        case .subscription:
            record = try Value(record: json.required("conversation"))
            try readDeltas(json)
            try readGaps(json)
            boundaries = try Self.boundaries(json)
        case .page:
            for message in try json.required("messages").elements("messages") {
                values.append(try Value(message: message))
            }
            covers = try Coverage(told: json.required("covers"))
            try readGaps(json)
            boundaries = try Self.boundaries(json)
        case .messages:
            try readDeltas(json)
        case .gap:
            try readGaps(json)
        case .record:
            record = try Value(record: json.required("conversation"))
        }
        if let prev = json["prev"] { self.prev = try prev.integer("prev") }
    }

    private mutating func readDeltas(_ json: JSONObject) throws(Violation) {
        covers = try Coverage(told: json.required("covers"))
        for delta in try json.required("deltas").elements("deltas") {
            let delta = try delta.members("delta")
            var value = try Value(message: delta.required("message"))
            value.type = delta["type"]?.string.flatMap(DeltaType.init)
            value.via = delta["via"]?.string.flatMap(Via.init)
            try require(value.type != nil && value.via != nil, "a delta without type or via")
            values.append(value)
        }
    }

    private mutating func readGaps(_ json: JSONObject) throws(Violation) {
        for gap in try json.required("gaps").elements("gaps") {
            gaps.append(try Gap(told: gap.members("gap")))
        }
    }

    static func boundaries(_ json: JSONObject) throws(Violation) -> [Boundary] {
        var boundaries: [Boundary] = []
        for boundary in try json.required("boundaries").elements("boundaries") {
            do {
                boundaries.append(try Boundary(boundary.members("boundary")))
            } catch {
                throw Violation("a boundary that is none: \(error)")
            }
        }
        return boundaries
    }

    /// The seqs inside the gaps.
    var missing: Coverage {
        Coverage(
            gaps.filter { $0.after + 1 < $0.before }.map { .init($0.after + 1, $0.before - 1) })
    }
}

extension FrameContent.Value {
    init(message json: RawJSON) throws(Violation) {
        let object = try json.members("message")
        slot = try object.required("seq").integer("seq")
        rev = try object.required("rev").integer("rev")
        self.json = json
    }

    init(record json: RawJSON) throws(Violation) {
        slot = 0
        rev = try json.members("conversation").required("rev").integer("rev")
        self.json = json
    }
}

extension Head {
    init(_ json: JSONObject) throws(Violation) {
        let epoch = json["epoch"]?.string
        let mark = json["mark"]?.string
        try require(epoch != nil && mark != nil, "a head without epoch or mark")
        self.init(
            epoch: epoch ?? "", seq: try json.required("seq").integer("seq"),
            rev: try json.required("rev").integer("rev"), mark: mark ?? "",
            floor: try json.required("floor").integer("floor"))
    }
}

extension Gap {
    init(told json: JSONObject) throws(Violation) {
        let cause = json["cause"]?.string.flatMap(GapCause.init)
        try require(cause != nil, "a gap without a cause")
        self.init(
            after: try json.required("after").integer("after"),
            before: try json.required("before").integer("before"), missing: json["missing"]?.int,
            cause: cause ?? .cold, since: Timestamp(milliseconds: 0))
    }
}

extension Coverage {
    /// - Throws: `Violation` unless in normal form: disjoint, ascending, never touching.
    init(told json: RawJSON) throws(Violation) {
        var runs: [Run] = []
        for pair in try json.elements("covers") {
            let ends = try pair.elements("covers[]")
            try require(ends.count == 2, "a run of \(ends.count) ends")
            let (low, high) = (try ends[0].integer("low"), try ends[1].integer("high"))
            try require(low <= high && low > (runs.last?.high ?? -1) + 1, "runs that touch")
            runs.append(Run(low, high))
        }
        self.init(runs)
    }
}

extension JSONObject {
    func required(_ name: String) throws(Violation) -> RawJSON {
        guard let value = self[name] else { throw Violation("a frame without \(name)") }
        return value
    }
}

extension RawJSON {
    func integer(_ name: String) throws(Violation) -> Int {
        guard let int else { throw Violation("\(name) is no integer") }
        return int
    }

    func elements(_ name: String) throws(Violation) -> [RawJSON] {
        guard let array else { throw Violation("\(name) is no array") }
        return array
    }

    func members(_ name: String) throws(Violation) -> JSONObject {
        guard let object else { throw Violation("\(name) is no object") }
        return object
    }
}
