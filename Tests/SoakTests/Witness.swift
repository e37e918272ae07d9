import TestSupport

/// Judges what one client holds after each frame, in order, as soon as the chronicle knows all that
/// the frame may speak of: a client may hear of a change before its writer does. What was judged is
/// dropped.
final class Witness {
    /// How long a change may be known to a client and to nobody who wrote: writers ask again until
    /// they are answered, so the longest outage with a restart is well below this.
    private static let patience = Duration.seconds(60)

    private(set) var judged = 0
    private(set) var faults: [String] = []
    private let user: String
    private var session = ClientSession()
    private var waiting: [ChatTestClient.Step] = []
    private var waitsSince: ContinuousClock.Instant?
    /// The conversations that requests under way are about.
    private var asked: [Int: String] = [:]

    init(user: String) { self.user = user }

    var isDone: Bool { waiting.isEmpty }

    /// Goes on as far as the chronicle knows.
    ///
    /// - Parameter steps: what happened since the last call.
    func judge(_ steps: [ChatTestClient.Step], by chronicle: Chronicle) {
        waiting += steps
        var done = 0
        for step in waiting {
            guard follow(step, chronicle) else { break }
            waitsSince = nil
            done += 1
        }
        waiting.removeFirst(done)
    }

    /// - Returns: Whether it could be judged.
    private func follow(_ step: ChatTestClient.Step, _ chronicle: Chronicle) -> Bool {
        switch step {
        case .sent(let id, let method, let params):
            asked[id] = params["conversation"].string
            session.sent(id: id, method: method, params: params)
        case .disconnected:
            asked = [:]
            session.disconnected()
        case .received(let frame):
            let subject = frame["id"].int.map { asked[$0] } ?? Self.conversation(of: frame)
            guard let subject, frame["cached"].bool != true else {
                take(frame)
                return true
            }
            guard mayLook(subject, upTo: Self.newest(frame), chronicle) else { return false }
            frame["id"].int.map { asked[$0] = nil }
            let before = Oracle.Before(session.holders[subject] ?? Holder())
            guard take(frame) == subject else { return true }
            judged += 1
            let holder = session.holders[subject] ?? Holder()
            for fault in chronicle.judge(subject, by: { $0.checkStep(from: before, to: holder) }) {
                accuse("\(subject), frame \(judged): \(fault)")
            }
        }
        return true
    }

    @discardableResult
    private func take(_ frame: JSONValue) -> String? {
        do {
            return try session.received(frame)
        } catch {
            accuse("\(error)")
            return nil
        }
    }

    private func mayLook(_ conversation: String, upTo rev: Int, _ chronicle: Chronicle) -> Bool {
        if chronicle.knows(conversation, upTo: rev) { return true }
        let since = waitsSince ?? .now
        waitsSince = since
        guard ContinuousClock.now - since > Self.patience else { return false }
        accuse("\(conversation): change \(rev) was told, and nobody made it")
        return true
    }

    private func accuse(_ fault: String) {
        if faults.count < 5 { faults.append("\(user): \(fault)") }
    }

    private static func conversation(of event: JSONValue) -> String? {
        event["conversation"].string ?? event["conversation"]["id"].string
    }

    /// The newest change that the frame speaks of.
    private static func newest(_ frame: JSONValue) -> Int {
        let body = frame["result"].isNull ? frame : frame["result"]
        let messages =
            (body["messages"].array ?? []) + (body["deltas"].array ?? []).map { $0["message"] }
        let revs =
            messages.map { $0["rev"] } + [
                body["head"]["rev"], body["asOf"], body["conversation"]["rev"],
            ]
        return revs.compactMap(\.int).max() ?? 0
    }
}
