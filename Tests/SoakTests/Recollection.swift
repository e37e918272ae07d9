import Foundation
import TestSupport

/// What one connection of a guest was told of its conversations, in the order in which it heard it:
/// the client's own log, from which follows what it holds of each message, and when.
struct Recollection {
    /// What a client can know of a message. `shown` is what it got by an event, however late.
    enum State: String {
        case watching, below, held, shown, filled, resumed, fetched, coalesced, owed, trimmed, left
        case leftOut = "left_out"
        case readRefused = "read_refused"
        case notWatching = "not_watching"
        /// Its journal begins later.
        case earlier

        /// Whether it was sent the message, or holds it.
        var isShown: Bool {
            switch self {
            case .held, .shown, .filled, .resumed, .fetched: true
            case .watching, .below, .coalesced, .owed, .trimmed, .left, .leftOut, .readRefused,
                .notWatching, .earlier:
                false
            }
        }
    }

    struct Act {
        enum Kind {
            case subscribed(held: Intervals, shown: Set<Int>, gaps: [Gap], newest: Int)
            case told(Set<Int>, asOf: Int)
            case gaps([Gap])
            case paged(Set<Int>)
            case refused
            case left
        }

        let kind: Kind
        /// The gateway did it between these two, in milliseconds of the clock of the day.
        let notBefore: Double
        let until: Double
    }

    struct Gap {
        let places: ClosedRange<Int>
        let cause: String
    }

    let user: String
    /// As `connect` named it.
    let session: String
    /// The process that it spoke with.
    let process: Int32
    let began: Double
    var ended: Double?
    private(set) var acts: [String: [Act]] = [:]
    /// The conversations of requests that it got no answer to.
    var unanswered: Set<String> = []

    init(user: String, session: String, process: Int32, began: Double) {
        self.user = user
        self.session = session
        self.process = process
        self.began = began
    }

    /// - Parameter from: when it was asked for: what was sent is noted a little later.
    mutating func note(_ kind: Act.Kind, of conversation: String, from: Double, until: Double) {
        acts[conversation, default: []].append(
            Act(kind: kind, notBefore: from - 300, until: until))
    }

    func count(_ conversation: String) -> Int { acts[conversation]?.count ?? 0 }

    // MARK: - Judgement

    /// What may be said of the message by somebody who knows the acts from number `from` on, up to
    /// each number in `upTo`: the states that it went through, in order.
    func states(
        of seq: Int, in conversation: String, from: Int, upTo: ClosedRange<Int>
    ) -> [State] {
        let acts = acts[conversation] ?? []
        var state = State.notWatching
        // The subscription that is open where the knowledge begins.
        for act in acts[..<from] {
            switch act.kind {
            case .subscribed: state = .earlier
            case .left: state = .notWatching
            case .told, .gaps, .paged, .refused: break
            }
        }
        var states: [State] = []
        if upTo.contains(from) { states.append(state) }
        for (index, act) in acts.enumerated().dropFirst(from) where index < upTo.upperBound {
            Self.follow(act, seq, &state)
            if index + 1 >= upTo.lowerBound { states.append(state) }
        }
        return states
    }

    private static func follow(_ act: Act, _ seq: Int, _ state: inout State) {
        switch act.kind {
        case .subscribed(let held, let shown, let gaps, let newest):
            state = held.contains(seq) ? .held : seq > newest ? .watching : .below
            if shown.contains(seq) { state = .resumed }
            if let gap = gaps.first(where: { $0.places.contains(seq) }) { take(gap, &state) }
        case .told(let places, _):
            if places.contains(seq) { state = state == .owed ? .filled : .shown }
        case .gaps(let gaps):
            if let gap = gaps.first(where: { $0.places.contains(seq) }) { take(gap, &state) }
        case .paged(let places):
            if places.contains(seq), !state.isShown { state = .fetched }
        // A reader to whom it is owed will still be sent it.
        case .refused: if !state.isShown, state != .owed { state = .readRefused }
        case .left: if state == .watching || state == .owed { state = .left }
        }
    }

    private static func take(_ gap: Gap, _ state: inout State) {
        switch gap.cause {
        case "upstream", "cache": state = .owed
        case "trimmed": state = .trimmed
        case "slow": state = .coalesced
        default: state = .leftOut
        }
    }

    /// The numbers of acts with which a journal may begin that holds all since `begins`.
    func starts(_ conversation: String, since begins: Double) -> ClosedRange<Int> {
        let acts = acts[conversation] ?? []
        let first = acts.firstIndex { $0.until >= begins } ?? acts.count
        let last = acts.firstIndex { $0.notBefore >= begins } ?? acts.count
        return first...max(first, last)
    }

    /// Whether a message that a later act of the conversation stands behind never came.
    func hasPassed(_ rev: Int, in conversation: String) -> Bool {
        (acts[conversation] ?? []).contains {
            if case .told(_, let asOf) = $0.kind { asOf >= rev } else { false }
        }
    }

    /// How much later than the gateway a guest who rests may notice the end of a connection.
    private static let lag: Double = 15_000

    /// Whether it ever watched, or asked for, the conversation while the journal was kept.
    func concerns(_ conversation: String, since begins: Double) -> Bool {
        let acts = acts[conversation] ?? []
        var isOpen = false
        for act in acts where act.notBefore < begins {
            switch act.kind {
            case .subscribed: isOpen = true
            case .left: isOpen = false
            case .told, .gaps, .paged, .refused: break
            }
        }
        return isOpen && ended.map { $0 - Self.lag >= begins } ?? true
            || acts.contains { act in
                switch act.kind {
                case .subscribed, .paged, .refused: act.notBefore >= begins
                // A reader that unsubscribes may not have been subscribed.
                case .told, .gaps, .left: false
                }
            }
    }
}

/// Which process made which session: a session's name begins with its process's own. What a guest
/// reads late may be of a process that has ended since.
struct Instances {
    private var processes: [Substring: Int32] = [:]

    /// - Parameter process: the one that is believed to have made it.
    mutating func process(of session: String, _ process: Int32) -> Int32 {
        let instance = session.prefix { $0 != "-" }
        if let known = processes[instance] { return known }
        processes[instance] = process
        return process
    }
}

/// The frames of one guest, as they become what its connections were told.
struct Listener {
    private(set) var past: [Recollection] = []
    private(set) var now: Recollection?
    /// Connections whose `connect` was never answered.
    private(set) var unnamed = 0
    private let user: String
    private var session = ClientSession()
    private struct Question {
        let method: String
        let conversation: String
        let at: Double
    }
    private var asked: [Int: Question] = [:]

    init(user: String) { self.user = user }

    var all: [Recollection] { now.map { past + [$0] } ?? past }

    /// Drops what ended before.
    mutating func forget(before: Double) {
        past.removeAll { $0.ended ?? .infinity < before }
    }

    mutating func hear(
        _ steps: [ChatTestClient.Step], from process: Int32, _ instances: inout Instances
    ) throws {
        let moment = Moment.now
        for step in steps {
            switch step {
            case .sent(let id, let method, let params):
                session.sent(id: id, method: method, params: params)
                asked[id] = Question(
                    method: method, conversation: params["conversation"].string ?? "", at: moment)
            case .disconnected:
                end(at: moment)
                session.disconnected()
            case .received(let frame):
                try take(frame, moment) { instances.process(of: $0, process) }
            }
        }
    }

    private mutating func end(at moment: Double) {
        if var last = now {
            last.ended = moment
            last.unanswered = Set(asked.values.map(\.conversation))
            past.append(last)
        } else if asked.values.contains(where: { $0.method == "connect" }) {
            unnamed += 1
        }
        (now, asked) = (nil, [:])
    }

    /// - Parameter process: which process made a session.
    private mutating func take(
        _ frame: JSONValue, _ moment: Double, process: (String) -> Int32
    ) throws {
        let subject = try session.received(frame)
        if let id = frame["id"].int, let question = asked[id] {
            if frame["cached"].bool == true {
                return notePage(frame["result"], question, moment)
            }
            asked[id] = nil
            return took(frame, question, moment, process: process)
        }
        guard let subject else { return }
        switch frame["event"].string {
        case "messages":
            let messages = (frame["deltas"].array ?? []).map { $0["message"] }
            now?.note(
                .told(Set(messages.compactMap(\.["seq"].int)), asOf: frame["asOf"].int ?? 0),
                of: subject, from: messages.compactMap(Self.time).max() ?? 0, until: moment)
        case "gap":
            now?.note(.gaps(Self.gaps(frame)), of: subject, from: 0, until: moment)
        case "reset", "unsubscribed": now?.note(.left, of: subject, from: 0, until: moment)
        default: break
        }
    }

    private mutating func took(
        _ frame: JSONValue, _ question: Question, _ moment: Double,
        process: (String) -> Int32
    ) {
        let result = frame["result"]
        let id = question.conversation
        guard frame["error"].isNull else {
            if ["subscribeMessages", "fetchMessages"].contains(question.method) {
                now?.note(.refused, of: id, from: question.at, until: moment)
            }
            return
        }
        switch question.method {
        case "connect":
            let name = result["session"].string ?? ""
            now = Recollection(
                user: user, session: name, process: process(name), began: question.at)
        case "subscribeMessages":
            let shown = (result["deltas"].array ?? []).compactMap { $0["message"]["seq"].int }
            now?.note(
                .subscribed(
                    held: session.holders[id]?.runs ?? Intervals(), shown: Set(shown),
                    gaps: Self.gaps(result), newest: result["head"]["seq"].int ?? 0),
                of: id, from: question.at, until: moment)
        case "fetchMessages": notePage(result, question, moment)
        case "unsubscribeMessages": now?.note(.left, of: id, from: question.at, until: moment)
        default: break
        }
    }

    private mutating func notePage(_ result: JSONValue, _ question: Question, _ moment: Double) {
        let places = (result["messages"].array ?? []).compactMap(\.["seq"].int)
        guard question.method == "fetchMessages", !places.isEmpty else { return }
        now?.note(
            .paged(Set(places)), of: question.conversation, from: question.at, until: moment)
    }

    private static func gaps(_ frame: JSONValue) -> [Recollection.Gap] {
        (frame["gaps"].array ?? []).compactMap {
            guard let after = $0["after"].int, let before = $0["before"].int, after + 1 < before
            else { return nil }
            return .init(places: (after + 1)...(before - 1), cause: $0["cause"].string ?? "")
        }
    }

    /// When the value was made at the earliest.
    private static func time(of message: JSONValue) -> Double? {
        message["createdAt"].string.flatMap(Moment.milliseconds)
    }
}

/// Times as the gateway writes them: `2026-11-20T10:00:00.000Z`.
enum Moment {
    static var now: Double { Date().timeIntervalSince1970 * 1000 }

    static func milliseconds(_ text: String) -> Double? {
        let parts = text.split { !$0.isNumber }.compactMap { Int($0) }
        guard parts.count == 7, text.utf8.count == 24 else { return nil }
        // Days by the rule of the civil calendar, with years that begin in March.
        let year = parts[1] > 2 ? parts[0] : parts[0] - 1
        let month = (parts[1] + 9) % 12
        let day = (153 * month + 2) / 5 + parts[2] - 1
        let days = 365 * year + year / 4 - year / 100 + year / 400 + day - 719_468
        let seconds = ((days * 24 + parts[3]) * 60 + parts[4]) * 60 + parts[5]
        return Double(seconds * 1000 + parts[6])
    }
}
