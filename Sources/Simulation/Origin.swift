import Chat
import Engine
import JSON
import Ports
import Rules
import Wire

/// The scripted backend: it decides about writes by `Rules`, keeps every log that ever existed, and
/// numbers its commits, so that a store can answer as of any of them. It is the truth for the
/// oracle. Owned by the world; no limits.
package struct Origin {
    /// Conversations whose log a gateway took for another one than it knew. It may have told that
    /// they ended.
    var doubted: Set<String> = []
    /// The result of a write.
    package struct Performed {
        package var result: Result<Outcome, RequestError>
        /// The feed's events of it, in order.
        package var events: [FeedEvent] = []
    }

    package private(set) var archive = ModelLogs()
    var epochs = 0
    var branches = 0
    var ids = 0
    /// Logs with a damaged part.
    var damages: [String: Damage] = [:]
    /// Whether answers are checked for damage first; without that a damaged log is served as it is.
    package var looks = true
    /// Limits of the values in logs.
    package var limits = LogLimits()
    /// How many messages of each conversation are kept; 0: all.
    package var retained = 0
    /// The clients that created conversations, by epoch; below, the epoch of the conversation that
    /// was created as distinct for some people last.
    var creators: [String: String] = [:]
    var distinct: [Set<String>: String] = [:]
    /// The events of the current commit.
    var events: [FeedEvent] = []
    var now = Timestamp(milliseconds: 0)

    package init() {}

    // MARK: - Reading

    /// The newest commit.
    package var commit: Int { archive.commit }
    package var conversations: [String] { archive.conversations }

    /// The log that existed after the commit.
    package func log(_ conversation: String, atCommit commit: Int? = nil) -> ModelLog? {
        archive.log(conversation, atCommit: commit)
    }

    // MARK: - Writing

    /// Performs a write or refuses it; its changes are one commit.
    package mutating func perform(_ operation: Operation, by caller: Caller) -> Performed {
        do throws(RequestError) {
            if let id = operation.written { try look(at: id) }
            beginCommit()
            return Performed(
                result: .success(try outcome(of: operation, by: caller)), events: events)
        } catch {
            return Performed(result: .failure(error))
        }
    }

    private mutating func outcome(
        of operation: Operation, by caller: Caller
    ) throws(RequestError) -> Outcome {
        switch try operation.write(by: caller) {
        case .send(let id, let messages):
            let log = try open(id, caller)
            if let refusal = messages.refusal(ofSendingBy: caller.userID) { throw refusal }
            return try send(messages, to: log, caller)
        case .message(let message, let id, let rule):
            return try change(message, by: rule, in: open(id, caller), caller)
        case .record(let id, let rule): return try change(id, by: rule, caller)
        case .create(let id, let fields, let isDistinct):
            return try create(id, fields, isDistinct: isDistinct, by: caller)
        case .findDistinct(let fields, let refusal):
            guard let log = distinct(fields, caller) else { throw refusal }
            return .conversation(archive.view(log, caller.name, atCommit: commit), isNew: false)
        case .deleteConversation(let id):
            return try end(open(id, caller), caller)
        case .markRead(let id, let seq):
            return try mark(open(id, caller), seq, caller)
        }
    }

    /// The log, if the caller takes part.
    private func open(_ id: String, _ caller: Caller) throws(RequestError) -> ModelLog {
        guard let log = log(id), caller == .server || log.has(caller.name) else {
            throw .noConversation
        }
        return log
    }

    // MARK: - A primary that was replaced

    /// From here on it writes beside its successor, with names that never collide with those of it
    /// or of another primary that was replaced.
    /// - Parameter number: of this replacement.
    mutating func goesOnAlone(_ number: Int) {
        epochs += 1_000_000 * number
        branches += 1_000_000 * number
        ids += 1_000_000 * number
        archive.isOld = true
    }

    /// Both number their commits together.
    mutating func follow(_ other: Origin) { archive.follow(other.archive) }

    /// Writes to the old primary never reached this one, but holders may have their values.
    mutating func remember(_ old: Origin) { archive.remember(old.archive) }

    /// Begins a commit; faults of the origin are commits as well.
    mutating func beginCommit() {
        events = []
        archive.beginCommit()
    }

    mutating func put(_ log: ModelLog) { archive.put(log) }
}

extension Caller {
    /// The user's id; empty for the server API.
    var name: String { userID ?? "" }
}
