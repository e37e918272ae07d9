import JSON
import Ports
import Postgres
import Rules
import Wire

/// Asks the functions of the schema about conversations, and reads what they answer: what is
/// refused or damaged is noted here, once for all of them.
final class PostgresAnswers: Sendable {
    let pool: PostgresPool
    private let damage: PostgresDamage
    private let troubles: Troubles
    private let notice: @Sendable (UpstreamNotice) -> Void

    init(
        _ pool: PostgresPool, _ damage: PostgresDamage, _ troubles: Troubles,
        notice: @escaping @Sendable (UpstreamNotice) -> Void
    ) {
        self.pool = pool
        self.damage = damage
        self.troubles = troubles
        self.notice = notice
    }

    /// Asks one question about one conversation.
    func read(
        _ question: String, _ conversation: String, _ members: (inout JSONWriter) -> Void,
        then: @escaping @Sendable (Result<PostgresAnswer, RequestError>) -> Void
    ) {
        var json = JSONWriter()
        json.beginObject()
        json.member("q", string: question)
        json.member("c", string: conversation)
        members(&json)
        json.endObject()
        pool.read(json.bytes) { [self] result in then(checked(result, conversation)) }
    }

    /// A conversation with the read marker of the reader, who takes part in it.
    func view(
        _ id: String, with reader: String?, naming named: [String]?, mends: Bool,
        having proof: Head? = nil,
        then: @escaping @Sendable (Result<StoredConversation, RequestError>) -> Void
    ) {
        read("view", id) { json in
            json.member("reader", string: reader)
            json.member("mends", bool: mends)
            if let named { json.member("named", strings: named) }
            json.proof(proof)
        } then: { result in
            then(
                result.flatMap { answer in
                    let isLost = answer["lost"]?.bool == true
                    return answer["view"].flatMap {
                        StoredConversation(postgres: $0, of: id, isMemberless: isLost)
                    }.map { .success($0) } ?? .failure(.unreadable)
                })
        }
    }

    /// Checks an answer for the errors that all functions share.
    func checked(
        _ result: Result<PostgresAnswer, RequestError>, _ conversation: String
    ) -> Result<PostgresAnswer, RequestError> {
        guard case .success(let answer) = result else { return result }
        switch answer.word {
        case "absent": return .failure(.noConversation)
        case "lost": return .failure(.logLost)
        case "locked": return .failure(.conversationLocked)
        case "damaged":
            return .failure(noteDamage(answer["part"]?.string ?? "log", of: conversation))
        case "unstorable":
            let field = answer["field"]?.string ?? "value"
            return .failure(
                RequestError(
                    .valueUnstorable,
                    "\(field): Postgres can't keep it (accepted: no U+0000, no half of a surrogate"
                        + " pair, numbers within the range of numeric)"))
        case "error":
            // The functions of an earlier schema take the server's state for that of one write.
            let isReadOnly = answer["state"]?.string?.hasPrefix("25") == true
            return .failure(isReadOnly ? .refusedForNow : .unreadable)
        default: return result
        }
    }

    /// Records that a part of a log contradicts the rest.
    func noteDamage(_ part: String, of conversation: String) -> RequestError {
        damage.found(part, of: conversation)
        return .damaged(part)
    }

    /// Records that this gateway gave a log a new epoch.
    func noteNewEpoch(of conversation: String, _ reason: NewEpochReason) {
        troubles.gave(reason)
        let text = "gave the log of conversation \(conversation) a new epoch: \(reason.rawValue)"
        notice(UpstreamNotice(.logForked, text))
    }
}

extension JSONWriter {
    /// The change that the log must have in the moment of the answer.
    mutating func proof(_ head: Head?) {
        guard let head else { return }
        member("hasRev", int: head.rev)
        member("hasMark", string: head.mark)
    }
}
