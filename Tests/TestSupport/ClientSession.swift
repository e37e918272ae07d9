/// Which frame of a connection means what for which holder: the pairing of replies with requests.
/// A value, so that a recorded run can be gone through again.
package struct ClientSession: Sendable {
    private struct Pending: Sendable {
        var method: String
        var params: JSONValue
    }

    /// By conversation.
    package private(set) var holders: [String: Holder] = [:]
    private var pending: [Int: Pending] = [:]

    package init() {}

    package mutating func sent(id: Int, method: String, params: JSONValue) {
        pending[id] = Pending(method: method, params: params)
    }

    package mutating func hold(_ holder: Holder, of conversation: String) {
        holders[conversation] = holder
    }

    package mutating func disconnected() {
        pending = [:]
        for conversation in holders.keys { holders[conversation]?.disconnected() }
    }

    /// - Returns: The conversation whose holder took the frame, if one did.
    /// - Throws: `TestFailure` where the frame is not allowed at this place.
    @discardableResult
    package mutating func received(_ frame: JSONValue) throws -> String? {
        guard let id = frame["id"].int else { return try receivedEvent(frame) }
        // Id 0 answers a frame without a usable id, and pairs with no request.
        guard id != 0 else { return nil }
        guard let request = pending[id] else { throw TestFailure("a reply to no request: \(id)") }
        if frame["cached"].bool == true { return nil }
        pending[id] = nil
        guard frame["error"].isNull, let conversation = request.params["conversation"].string else {
            return nil
        }
        let result = frame["result"]
        switch request.method {
        case "subscribeMessages":
            let withHave = !request.params["have"].isNull
            if withHave {
                // What came since the request was sent is not what the answer speaks of.
                holders[conversation]?.keep(only: try Intervals(request.params["have"]["runs"]))
            }
            try holders[conversation, default: Holder()].apply(
                .subscribed(result, withHave: withHave))
        case "fetchMessages": try holders[conversation, default: Holder()].apply(.fetched(result))
        case "unsubscribeMessages": holders[conversation]?.unsubscribed()
        default: return nil
        }
        return conversation
    }

    private mutating func receivedEvent(_ frame: JSONValue) throws -> String? {
        switch frame["event"].string {
        case "messages", "gap", "conversation", "reset", "unsubscribed":
            guard
                let conversation = frame["conversation"].string
                    ?? frame["conversation"]["id"].string
            else { throw TestFailure("an event of a log names no conversation") }
            try holders[conversation, default: Holder()].apply(.event(frame))
            return conversation
        case nil: throw TestFailure("a frame is neither a reply nor an event")
        default: return nil
        }
    }
}

extension ClientSession {
    /// Goes through what one client recorded.
    ///
    /// - Parameters:
    ///   - earlier: what the client held of the conversation when the recording began.
    ///   - judge: called after every frame that the holder of the conversation took, and after
    ///     every one that tells the state of the upstream; with what it was before, and with that
    ///     state.
    /// - Returns: The faults, each with the number of its frame; at most 10.
    static func replay(
        _ recording: [ChatTestClient.Step], _ conversation: String, from earlier: Holder,
        judge: (_ before: Oracle.Before, _ holder: Holder, _ state: String) -> [String]
    ) -> (faults: [String], end: Holder) {
        var session = ClientSession()
        session.hold(earlier, of: conversation)
        var faults: [String] = []
        var state = ""
        for (index, step) in recording.enumerated() where faults.count < 10 {
            switch step {
            case .sent(let id, let method, let params):
                session.sent(id: id, method: method, params: params)
            case .disconnected: session.disconnected()
            case .received(let frame):
                let before = Oracle.Before(session.holders[conversation] ?? Holder())
                do {
                    let told = frame["state"].string ?? frame["result"]["upstream"]["state"].string
                    let isOfUpstream = frame["event"] != "typing" && told != nil
                    if isOfUpstream { state = told ?? "" }
                    guard try session.received(frame) == conversation || isOfUpstream else {
                        continue
                    }
                } catch {
                    return (faults + ["frame \(index): \(error)"], Holder())
                }
                let holder = session.holders[conversation] ?? Holder()
                faults += judge(before, holder, state).map { "frame \(index): \($0)" }
            }
        }
        return (faults, session.holders[conversation] ?? Holder())
    }
}

extension Oracle {
    /// Judges a client's holder of the conversation after every frame that it recorded.
    ///
    /// - Parameter earlier: what the client held when the recording began.
    /// - Returns: The faults, each with the number of its frame; at most 20.
    package func judge(
        _ recording: [ChatTestClient.Step], _ conversation: String, from earlier: Holder = Holder()
    ) -> [String] {
        let (faults, end) = ClientSession.replay(recording, conversation, from: earlier) {
            before, holder, _ in checkStep(from: before, to: holder)
        }
        // Once more the whole of it, in case the steps missed anything.
        return faults.isEmpty ? Array(check(end).prefix(10)) : faults
    }
}
