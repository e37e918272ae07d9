import Engine
import Wire

/// What happens to the origin itself. The logs that are lost by it stay known here: they are what
/// holders have values of.
extension Origin {
    /// Another master takes over that has not the newest `count` changes, and goes on from there
    /// with changes of its own.
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

    /// The log keeps no marks any more but those of the newest `count` changes.
    package mutating func forgetMarks(butFor count: Int, of conversation: String) {
        guard var log = log(conversation) else { return }
        log.base = max(log.base, log.rev - count)
        put(log)
    }

    /// Everything is gone, and nobody is told.
    package mutating func empty() {
        beginCommit()
        for id in conversations {
            guard var log = log(id) else { continue }
            log.ended = commit
            put(log)
        }
    }

    /// Somebody took values from `head`: if the log has lost them, it gets another epoch.
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
