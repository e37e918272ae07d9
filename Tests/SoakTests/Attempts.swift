import TestSupport

/// What a guest knows of the messages that it sent: which process was asked, and what it answered.
struct Attempts {
    struct Attempt {
        let process: Int32
        let conversation: String
        let request: Int
        var isAnswered = false
        var isRefused = false
    }

    private var byID: [String: [Attempt]] = [:]
    private var order: [String] = []

    func of(_ id: String, in conversation: String, at process: Int32) -> [Attempt] {
        (byID[id] ?? []).filter { $0.process == process && $0.conversation == conversation }
    }

    mutating func hear(_ steps: [ChatTestClient.Step], from process: Int32) {
        for step in steps {
            switch step {
            case .sent(let request, "sendMessage", let params):
                guard let id = params["id"].string else { continue }
                if byID[id] == nil { order.append(id) }
                byID[id, default: []].append(
                    Attempt(
                        process: process, conversation: params["conversation"].string ?? "",
                        request: request))
                if order.count > 200 { byID[order.removeFirst()] = nil }
            case .received(let frame):
                guard let request = frame["id"].int, let id = order.last else { continue }
                guard let at = byID[id]?.lastIndex(where: { $0.request == request }) else {
                    continue
                }
                byID[id]?[at].isAnswered = true
                byID[id]?[at].isRefused = !frame["error"].isNull
            case .sent, .disconnected: break
            }
        }
    }
}
