import Chat
import Wire

/// A write to the cache of another origin. The writes of one effect are performed in order and in
/// one transaction, so that claims and rows always agree.
package enum StoreWrite: Sendable, Hashable {
    /// The conversation begins in the cache, as of `head`, with no message held and complete for
    /// changes from `head.rev` on. What was held under this id before is dropped.
    case begin(Record, head: Head)
    /// A message's value, with the mark of its rev if known. The higher rev wins.
    case message(conversation: String, EncodedMessage, mark: String?)
    /// The value of slot 0. The higher rev wins. `step`: the change from the record before it, if
    /// known.
    case record(Record, mark: String?, step: RecordStep? = nil)
    /// The stream's position is now `head`: the current value of every slot that changed up to
    /// `head.rev` and above `changesFrom` is held. Rows below `head.floor` are dropped. `seen`: the
    /// newest head that values above a hole were taken from; nil if there are none.
    case stand(conversation: String, head: Head, seen: Head? = nil)
    /// These seqs are held with each change up to `asOf`, whatever was known of them before. Their
    /// messages were written before. A run at the stream's position (`asOf` at or above
    /// `changesFrom`) merges with the runs that touch it and are there too, as of the earliest of
    /// them: otherwise each live message, as of its own rev, would be a run of its own.
    case hold(conversation: String, Coverage, asOf: Int)
    /// The value of every slot that changed above `rev` is held, or will be after the next writes.
    /// No run is raised: one that was at the stream's position, as of less than `rev`, is now
    /// outdated.
    case changesFrom(conversation: String, rev: Int)
    /// The stream jumps to `head`: the changes between are not held. Runs at the stream's position
    /// until now stay as of that position, and are outdated. Hold what was read at `head` after
    /// this write: before it, it would merge with outdated runs.
    case jump(conversation: String, Record, head: Head)
    /// Trims rows that `cache.retain_*` does not keep, with their coverage; `changesFrom` rises
    /// past every trimmed row. At most a thousand at a time: the rest goes later.
    case trim(conversation: String)
    /// The log is gone or was replaced. Like `trim`, allowed for a conversation that is not held.
    case drop(conversation: String)

    /// The conversation that it is about.
    package var conversation: String {
        switch self {
        case .begin(let record, _), .record(let record, _, _): record.id
        case .message(let id, _, _), .stand(let id, _, _), .hold(let id, _, _),
            .changesFrom(let id, _), .jump(let id, _, _), .trim(let id), .drop(let id):
            id
        }
    }
}

/// The change of participants from one record to the next: first these left, then these joined.
package struct RecordStep: Sendable, Hashable {
    /// The rev of the record before it.
    package var since: Int
    package var removed: [String]
    package var joined: [String]

    package init(since: Int, removed: [String], joined: [String]) {
        self.since = since
        self.removed = removed
        self.joined = joined
    }
}

/// The claim of a cache of another origin about a conversation.
package struct Cached: Sendable, Hashable {
    /// A run that holds each change up to `asOf`.
    package struct Run: Sendable, Hashable {
        package var run: Coverage.Run
        package var asOf: Int

        package init(_ run: Coverage.Run, asOf: Int) {
            self.run = run
            self.asOf = asOf
        }
    }

    /// Ascending, without overlaps; runs of equal `asOf` don't touch. A run whose `asOf` is at or
    /// above `changesFrom` is at the stream's position: everything that changed since is in the
    /// cache.
    package var runs: [Run]
    /// The change above which the cache has the current value of every changed slot.
    package var changesFrom: Int
    /// The newest change that values were taken from, if above the stream's position.
    package var seen: Head?

    package init(runs: [Run], changesFrom: Int, seen: Head? = nil) {
        self.runs = runs
        self.changesFrom = changesFrom
        self.seen = seen
    }

    /// The seqs held at the stream's position.
    package var standing: Coverage {
        Coverage(runs.filter { $0.asOf >= changesFrom }.map(\.run))
    }

    /// The least `changesFrom` for a stream that begins at this position and reads on from there.
    /// The stored one may be higher: when it was stored, newer changes had been told that were not
    /// kept. They are read again, and if the log has lost them since, it never reaches the stored
    /// value: every page of it would count as too old.
    package func changesFrom(at position: Int) -> Int {
        let outdated = runs.filter { $0.asOf < changesFrom }.map(\.asOf).max() ?? -1
        return min(changesFrom, max(position, seen?.rev ?? 0, outdated + 1))
    }
}
