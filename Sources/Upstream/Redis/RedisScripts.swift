import Chat
import Crypto
import Ports
import Wire

/// Runs the scripts of conversations on the servers, and reads what they answer: what is refused or
/// damaged is noted here, once for all scripts.
final class RedisScripts: Sendable {
    let options: RedisOptions
    let keys: RedisKeys
    let servers: any RedisServers
    private let troubles: Troubles
    private let outlet: Outlet
    private let notice: @Sendable (UpstreamNotice) -> Void

    init(
        _ options: RedisOptions, _ servers: any RedisServers, _ troubles: Troubles,
        _ outlet: Outlet, notice: @escaping @Sendable (UpstreamNotice) -> Void
    ) {
        self.options = options
        keys = RedisKeys(options)
        self.servers = servers
        self.troubles = troubles
        self.outlet = outlet
        self.notice = notice
    }

    /// A script's reply: a word, and what comes with it.
    struct Answer {
        let word: String
        let parts: [RedisReply]

        subscript(at: Int) -> RedisReply { at < parts.count ? parts[at] : .none }
    }

    /// Runs a script of one conversation; `then` is called on the link's thread.
    ///
    /// - Parameter head: a change that the log must have, for a script that `proves`; a log that
    ///   lacks it is a `conflict`.
    func run(
        _ script: RedisScript, of conversation: String, _ arguments: [[UInt8]],
        having head: Head? = nil, then: @escaping @Sendable (Result<Answer, RequestError>) -> Void
    ) {
        servers.send([command(script, of: conversation, arguments, having: head)]) { result in
            then(result.flatMap { self.read($0[0], script, conversation) })
        }
    }

    /// The arguments of a script that `proves`. A mark that is not hexadecimal is not ours.
    private static func proof(_ head: Head?) -> [[UInt8]] {
        guard let head else { return [[], []] }
        return [
            Array(String(head.rev).utf8), Hexadecimal.bytes(head.mark) ?? Array(head.mark.utf8),
        ]
    }

    func command(
        _ script: RedisScript, of conversation: String, _ arguments: [[UInt8]],
        having head: Head? = nil
    ) -> RedisCommand {
        var all = script.proves ? Self.proof(head) + arguments : arguments
        if script.tells {
            all = [options.publishing, keys.channel(of: conversation)] + arguments
        }
        let keys = keys.keys(of: conversation)
        return .script(script, keys: script.reacts ? keys : keys.dropLast(), arguments: all)
    }

    /// Reads a reply: handles errors, `absent` and `damaged`, which are the same for all scripts.
    func read(
        _ reply: RedisReply, _ script: RedisScript, _ conversation: String
    ) -> Result<Answer, RequestError> {
        if let code = reply.errorCode { return .failure(refused(reply, code, script)) }
        let answer = Answer(word: reply.elements.first?.string ?? "", parts: reply.elements)
        switch answer.word {
        case "absent": return .failure(.noConversation)
        case "lost": return .failure(.logLost)
        case "damaged":
            let part = answer[1].string?.split(separator: ":").last.map(String.init) ?? "key"
            if let line = troubles.damagedLogs.add(conversation, part) { notice(line) }
            outlet.deliver([.damaged(conversation: conversation, part: part)])
            return .failure(.damaged(part))
        default:
            if script.shows(answer), troubles.damagedLogs.remove(conversation) {
                let text = "the log of conversation \(conversation) is whole again"
                notice(UpstreamNotice(.logWhole, text))
                outlet.deliver([.damaged(conversation: conversation, part: nil)])
            }
            if script.isWrite { troubles.takesWrites() } else { troubles.takesReads() }
            return .success(answer)
        }
    }

    private func refused(
        _ reply: RedisReply, _ code: String, _ script: RedisScript
    ) -> RequestError {
        let told = UpstreamNotice(
            reply.event, "run \(script.rawValue) on Redis: \(reply.refusal ?? code)")
        if RedisReply.serverWide.contains(code) {
            say(told, of: "server")
        } else if script.isWrite {
            say(told, of: "writes")
        } else if let line = troubles.refusedRead(told) {
            notice(line)
        }
        if script.isWrite { troubles.refused(RefusedWrite(rawValue: code.lowercased()) ?? .other) }
        switch code {
        case "OOM", "MISCONF", "NOREPLICAS": return .writesRefused
        case "READONLY", "LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN":
            return .originUnavailable
        case "NOPERM", "NOAUTH": return .gatewayRefused
        // The types of all other keys are checked before they are used.
        case "WRONGTYPE": return .damagedKey
        default:
            return reply.isStumble ? .unreadable : .refusedForNow
        }
    }

    /// Logs a problem, without repeats.
    func say(_ told: UpstreamNotice, of what: String = "writes") {
        if let line = troubles.line(what, told) { notice(line) }
    }

    /// A conversation with the reader's read marker; the reader takes part in it.
    func view(
        _ id: String, with reader: String?, naming named: [String]?, mends: Bool = false,
        having head: Head? = nil,
        then: @escaping @Sendable (Result<StoredConversation, RequestError>) -> Void
    ) {
        var texts = [reader ?? "", mends ? "1" : "0"]
        if let named { texts += ["1"] + named }
        run(.view, of: id, texts.map { Array($0.utf8) }, having: head) { result in
            then(
                result.flatMap { answer in
                    StoredConversation(answer.parts, of: id).map { .success($0) }
                        ?? .failure(.unreadable)
                })
        }
    }

    /// Records that this gateway gave a log a new epoch.
    func noteNewEpoch(of conversation: String, _ reason: NewEpochReason) {
        troubles.gave(reason)
        let text = "gave the log of conversation \(conversation) a new epoch: \(reason.rawValue)"
        notice(UpstreamNotice(.logForked, text))
    }
}
