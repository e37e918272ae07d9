import TestSupport

/// Whether one answer of `explain` says what the guests heard.
struct Verdict {
    private(set) var faults: [String] = []
    private(set) var judged = 0
    private(set) var underWay = 0
    private let answer: Inquest.Answer
    private let conversation: String
    private let seq: Int?
    private let begins: Double
    /// The connections of the process that was asked, by their names.
    private var known: [String: Recollection] = [:]
    private let unnamed: [String: Int]
    /// When a connection that is now gone was there for the last time, if it is a guest's.
    private let guests: Set<String>

    init(_ answer: Inquest.Answer, _ listeners: [String: Listener]) {
        self.answer = answer
        conversation = answer.question.conversation
        seq = answer.json["seq"].int
        begins = answer.json["journal"]["begins"].string.flatMap(Moment.milliseconds) ?? 0
        unnamed = listeners.mapValues(\.unnamed)
        guests = Set(listeners.keys)
        for recollection in listeners.values.flatMap(\.all)
        where recollection.process == answer.process {
            known[recollection.session] = recollection
        }
    }

    private var fate: String { answer.json["fate"].string ?? "" }

    mutating func judge() {
        judgeMessage()
        guard let seq else { return }
        var named: Set<String> = []
        for reader in answer.json["readers"].array ?? [] {
            named.insert(reader["session"].string ?? "")
            judge(reader, seq)
        }
        for recollection in known.values where !named.contains(recollection.session) {
            guard answer.question.user == nil || answer.question.user == recollection.user,
                answer.heard[recollection.session] ?? 0 > 0,
                recollection.concerns(conversation, since: begins + 50),
                // Who asked for other pages alone does not watch it, and is named to who asks.
                !states(of: seq, recollection).contains(.notWatching)
                    || answer.question.user != nil
            else { continue }
            judged += 1
            faults.append("\(recollection.user) \(recollection.session) is not named")
        }
    }

    // MARK: - The message

    private mutating func judgeMessage() {
        // Of what came by another gateway it hears while it has its origin.
        let isAway = answer.json["origin"]["state"] == "away"
        let isUntold = fate == "unknown" && isAway
        if let expected = answer.question.expected, !expected.contains(fate), !isUntold {
            faults.append("it is \(fate), not one of \(expected.sorted())")
        }
        if let expected = answer.question.expectedReader {
            judged += 1
            let reader = answer.json["readers"][0]["fate"].string ?? "none"
            if !expected.contains(reader) {
                faults.append("the reader is \(reader), not one of \(expected.sorted())")
            }
        }
        let isThere = answer.json["origin"]["state"] == "present"
        if isThere, ["unknown", "refused", "waiting"].contains(fate) {
            faults.append("it is \(fate), and the origin has it")
        }
        guard answer.question.expected == nil else { return }
        if let seq, wasTold(seq), fate != "told" {
            faults.append("it is \(fate), and somebody was told of it")
        }
        if answer.question.id == nil {
            if ["refused", "waiting"].contains(fate) || fate == "unknown" && !isAway {
                faults.append("it is \(fate), and was acknowledged")
            }
        } else {
            judgeSent()
        }
    }

    /// What the sender knew, of a message that may not be in the log.
    private mutating func judgeSent() {
        let tries = answer.attempts
        let isOpen = tries.contains { !$0.isAnswered }
        let isRefused = tries.contains(where: \.isRefused)
        let isAllowed =
            switch fate {
            case "waiting": isOpen || answer.wasSentSince
            case "refused": isRefused || isOpen || answer.wasSentSince
            case "unknown": tries.allSatisfy { !$0.isAnswered }
            default: true
            }
        if !isAllowed { faults.append("it is \(fate), after \(tries)") }
    }

    /// Whether somebody heard an event with it that the journal must have.
    private func wasTold(_ seq: Int) -> Bool {
        known.values.contains { recollection in
            let heard = answer.heard[recollection.session] ?? 0
            return (recollection.acts[conversation] ?? []).prefix(heard).contains { act in
                guard act.notBefore > begins, case .told(let places, _) = act.kind else {
                    return false
                }
                return places.contains(seq)
            }
        }
    }

    // MARK: - One reader

    private mutating func judge(_ reader: JSONValue, _ seq: Int) {
        let user = reader["user"].string ?? ""
        // Who is no guest is spoken of by the question.
        guard guests.contains(user), answer.question.expectedReader == nil else { return }
        judged += 1
        let fate = reader["fate"].string ?? ""
        guard let session = reader["session"].string else {
            return judgeAbsent(user, fate)
        }
        guard let recollection = known[session] else {
            if fate != "not_watching" || unnamed[user] ?? 0 == 0 {
                faults.append("\(user) \(session), which it never had, is \(fate)")
            }
            return
        }
        let from = answer.heard[session] ?? 0
        let until = recollection.count(conversation)
        let states = states(of: seq, recollection)
        if agrees(fate, states, recollection, from < until) { return }
        if wasOnItsWay(fate, reader, recollection, seq) {
            underWay += 1
            return
        }
        faults.append(
            "\(user) \(session) is \(fate) at \(reader["at"].string ?? "?"), its log says "
                + "\(states.map(\.rawValue)) (\(from) of \(until) heard"
                + "\(recollection.ended == nil ? "" : ", ended")); \(reader["steps"])")
    }

    /// The states in which the gateway may have known it: from what had been heard when it was
    /// asked to what was heard since.
    private func states(of seq: Int, _ recollection: Recollection) -> [Recollection.State] {
        let from = answer.heard[recollection.session] ?? 0
        let until = recollection.count(conversation)
        return recollection.starts(conversation, since: begins).flatMap { start in
            recollection.states(
                of: seq, in: conversation, from: start,
                upTo: max(start, min(from, until))...max(start, until))
        }
    }

    /// A user without a connection.
    private mutating func judgeAbsent(_ user: String, _ fate: String) {
        let isThere = known.values.contains {
            $0.user == user && $0.began > begins && answer.heard[$0.session] != nil
        }
        if fate != "not_connected" || isThere { faults.append("\(user) is \(fate)") }
    }

    private func agrees(
        _ fate: String, _ states: [Recollection.State], _ recollection: Recollection,
        _ heardMore: Bool
    ) -> Bool {
        let hasEnded = recollection.ended != nil
        let endedLongAgo = recollection.ended.map { $0 < answer.at - 3000 } ?? false
        switch fate {
        case "written", "written_late": return states.contains(.shown)
        case "queued": return heardMore || hasEnded
        case "watching": return states.contains(.watching) && !endedLongAgo
        case "owed":
            // A gap that waits in the queue becomes part of a gap of a slow reader, or ends with
            // the connection.
            let isShed = states.first != .coalesced && states.contains(.coalesced)
            let isLost = hasEnded && states.contains(.watching)
            return (states.contains(.owed) || isShed || isLost) && !endedLongAgo
        case "left":
            let isLeft = states.contains(.left)
            return isLeft || hasEnded && (states.contains(.watching) || states.contains(.owed))
        default: return states.contains { $0.rawValue == fate }
        }
    }

    /// Whether it was told, or answered, and the connection ended before it arrived.
    private func wasOnItsWay(
        _ fate: String, _ reader: JSONValue, _ recollection: Recollection, _ seq: Int
    ) -> Bool {
        guard recollection.ended != nil else { return false }
        switch fate {
        case "written", "written_late", "filled", "discarded":
            return !recollection.hasPassed(rev(of: reader), in: conversation)
        case "coalesced": return true
        case "resumed", "held", "below", "watching", "left", "left_out", "owed", "trimmed",
            "fetched", "read_refused":
            return recollection.unanswered.contains(conversation)
        default: return false
        }
    }

    /// The change that the event which told the reader last stands at.
    private func rev(of reader: JSONValue) -> Int {
        let events = (reader["steps"].array ?? []).compactMap(\.["event"].int)
        let steps = answer.json["steps"].array ?? []
        return steps.last { $0["event"].int == events.last }?["rev"].int ?? .max
    }
}
