import Engine
import Wire

/// Faults of the origin itself. The logs lost by them stay known here, since holders have their
/// values.
extension Origin {
    /// Failover: another master takes over without the newest `count` changes, and continues with
    /// its own.
    package mutating func lose(_ count: Int, of conversation: String) {
        guard var log = log(conversation) else { return }
        beginCommit()
        log.ended = commit
        put(log)
        branches += 1
        put(
            ModelLog(
                log, upTo: max(1, log.rev - count), epoch: log.epoch, branch: branches,
                commit: commit))
    }

    /// The log keeps only the marks of the newest `count` changes.
    package mutating func forgetMarks(butFor count: Int, of conversation: String) {
        guard var log = log(conversation) else { return }
        log.base = max(log.base, log.rev - count)
        put(log)
    }

    /// Everything is gone, without notice.
    package mutating func empty() {
        beginCommit()
        for id in conversations {
            guard var log = log(id) else { continue }
            log.ended = commit
            put(log)
        }
    }

    /// Values were taken from `head`: if the log has lost them, it gets another epoch.
    package mutating func forkEpoch(_ head: Head, _ conversation: String) -> [String: Head] {
        guard var log = log(conversation) else { return [:] }
        if log.epoch == head.epoch, head.rev > log.base, !log.has(head) {
            beginCommit()
            log.ended = commit
            put(log)
            epochs += 1
            let next = ModelLog(
                log, upTo: log.rev, epoch: "e\(epochs)", branch: 0, commit: commit)
            put(next)
            return [conversation: next.head]
        }
        return [conversation: log.head]
    }
}
