import TestSupport

/// What a failover lost: for each conversation the log that goes on beside the one that the old
/// master had, as its files and the writers tell it.
struct LostEnds {
    private(set) var truths: [String: Truth] = [:]
    private(set) var oracles: [String: ForkOracle] = [:]
    /// Changes that the old master had and that are lost.
    private(set) var changeCount = 0
    /// Of those, how many had been acknowledged to a writer.
    private(set) var acknowledgedCount = 0
    /// Conversations that got a new epoch, and those that lost something.
    private(set) var forked: Set<String> = []
    private(set) var cut: Set<String> = []

    /// What the old master had of one conversation.
    struct Left {
        let truth: Truth
        let marks: [ArraySlice<UInt8>]
    }

    /// - Parameters:
    ///   - kept: what the logs have now.
    ///   - left: what the old master had; nothing for conversations that lie elsewhere.
    ///   - marks: of the logs as they are now.
    /// - Throws: `TestFailure` where what is known contradicts itself.
    init(
        kept: [String: Truth], left: [String: Left], marks: [String: [ArraySlice<UInt8>]],
        _ ledger: Ledger
    ) throws {
        for (id, kept) in kept {
            let left = left[id]
            let (old, new) = (left?.marks ?? [], marks[id] ?? [])
            let common = left == nil ? .max : zip(old, new).prefix { $0 == $1 }.count
            if old.count > common { cut.insert(id) }
            changeCount += max(0, old.count - common)
            let epoch = left?.truth.epoch ?? kept.epoch ?? ""
            if kept.epoch != epoch { forked.insert(id) }
            try add(id, kept, left?.truth ?? Truth(), epoch, common, ledger.all(id))
        }
    }

    private mutating func add(
        _ id: String, _ present: Truth, _ old: Truth, _ epoch: String, _ common: Int,
        _ entries: [Ledger.Entry]
    ) throws {
        var (kept, lost) = (present, old)
        // The new master went on in the epoch that both have, until somebody found the fork.
        for (rev, change) in present.log?.changes ?? [:] {
            if change.slot > 0 {
                try kept.learn(message: change.value, epoch: epoch)
            } else if rev > 0 {
                try kept.learn(record: change.value, epoch: epoch)
            }
        }
        let messages = present.log?.messages ?? []
        let newest = Dictionary(messages.map { ($0["id"].string ?? "", $0) }) { $1 }
        for entry in entries {
            let isKept = Self.isIn(newest[entry.message["id"].string ?? ""], entry)
            for epoch in Set([kept.epoch ?? "", epoch]) where isKept {
                try kept.learn(message: entry.message, epoch: epoch)
            }
            if !isKept { acknowledgedCount += 1 }
            if !isKept || entry.rev <= common {
                try lost.learn(message: entry.message, epoch: epoch)
            }
        }
        truths[id] = kept
        oracles[id] = ForkOracle(kept: kept, lost: lost, epoch: epoch, common: common)
    }

    /// Whether what was acknowledged is in the log whose newest value of the message is given: a
    /// message is sent once by its id, and changes at most once.
    private static func isIn(_ newest: JSONValue?, _ entry: Ledger.Entry) -> Bool {
        guard let newest else { return false }
        return newest["seq"].int == entry.seq && entry.rev <= newest["rev"].int ?? 0
    }
}
