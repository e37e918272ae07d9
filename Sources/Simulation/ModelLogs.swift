import Ports
import Wire

/// Every log that an origin ever had, and the number of its newest commit: the truth for the
/// oracle, which knows the state after each commit.
package struct ModelLogs {
    /// The newest commit.
    package private(set) var commit = 0
    /// All logs that had the id, oldest first.
    private(set) var all: [String: [ModelLog]] = [:]
    /// Whether another primary has replaced the origin.
    var isOld = false

    /// The log of this id and epoch.
    package func log(_ conversation: String, epoch: String) -> ModelLog? {
        all[conversation]?.last { $0.epoch == epoch }
    }

    /// Every log that ever had this change: branches of one log share the changes before they
    /// diverged.
    package func logs(_ conversation: String, having head: Head) -> [ModelLog] {
        (all[conversation] ?? []).filter { $0.has(head) }
    }

    /// The log that existed after the commit.
    package func log(_ conversation: String, atCommit commit: Int? = nil) -> ModelLog? {
        all[conversation]?.last { $0.isThere(atCommit: commit ?? self.commit) }
    }

    package var conversations: [String] { all.keys.sorted() }

    mutating func beginCommit() { commit += 1 }

    /// Both number their commits together.
    mutating func follow(_ other: ModelLogs) { commit = max(commit, other.commit) }

    /// Writes to the old primary never reached this one, but holders may have their values.
    mutating func remember(_ old: ModelLogs) {
        commit = max(commit, old.commit)
        for log in old.all.values.joined() {
            var known = all[log.conversation] ?? []
            let at = known.lastIndex { $0.isSame(as: log) }
            if let at, known[at].rev >= log.rev {
                // A read marker is no change.
                guard known[at].rev == log.rev, known[at].ended != nil else { continue }
                known[at].markers = log.markers
                all[log.conversation] = known
                continue
            }
            var lost = log
            lost.ended = at.flatMap { known[$0].ended } ?? log.began
            if let at { known[at] = lost } else { known.insert(lost, at: 0) }
            all[log.conversation] = known
        }
    }

    mutating func put(_ log: ModelLog) {
        var known = all[log.conversation] ?? []
        if let at = known.lastIndex(where: { $0.isSame(as: log) }) {
            known[at] = log
        } else {
            known.append(log)
        }
        all[log.conversation] = known
    }
}
