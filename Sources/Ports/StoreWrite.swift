import Chat
import Wire

/// What the cache of another origin is told to keep. Performed in order; those of one action are
/// one transaction, so that what is claimed and what is held are never apart.
package enum StoreWrite: Sendable, Hashable {
    /// The conversation begins in the cache, standing at `head`, with no message held and complete
    /// for changes from `head.rev` on. What was held under this id before is dropped.
    case begin(Record, head: Head)
    /// The value of a message, with the mark of its rev where that is known. The higher rev wins.
    case message(conversation: String, EncodedMessage, mark: String?)
    /// The value of slot 0. The higher rev wins. `step`: how it came out of the one before it,
    /// where that is known.
    case record(Record, mark: String?, step: RecordStep? = nil)
    /// The stream has moved to `head`: every slot that changed up to `head.rev`, and above
    /// `changesFrom`, is held with that value. Places below `head.floor` are dropped. `seen`: up to
    /// where values that lie above a hole were taken from the log; nil if there are none.
    case stand(conversation: String, head: Head, seen: Head? = nil)
    /// These places are held with each change up to `asOf`, whatever was known of them before. Each
    /// has its message, written before it. A run that stands at the stream's place (`asOf` at or
    /// above `changesFrom`) becomes one with those that touch it and stand there too, as of the
    /// earliest of them: so that live messages, each as of its own rev, are no runs of their own.
    case hold(conversation: String, Coverage, asOf: Int)
    /// Every slot that changed above `rev` is held with its value, or will be by what follows. No
    /// run is lifted: one that stood at the stream's place, as of less than `rev`, is outdated now.
    case changesFrom(conversation: String, rev: Int)
    /// The stream jumps to `head`: what changed in between is not held. Runs that stood at the
    /// stream's place until now are as of that place, and are outdated by it. What was read at
    /// `head` is held after it, not before: it would become one with what is outdated.
    case jump(conversation: String, Record, head: Head)
    /// Throws away what `cache.retain_*` does not keep, and the coverage with it; `changesFrom`
    /// rises past every row that went. A thousand at most: the rest goes when there is time.
    case trim(conversation: String)
    /// The log is gone or another one. Like `trim`, it may be said of what is not held.
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

/// How the participants of a record came out of those of the one before it: first these left, then
/// these joined.
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

/// What a cache of another origin claims of a conversation.
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

    /// Ascending, not overlapping, those of one `asOf` not touching. A run whose `asOf` is at or
    /// above `changesFrom` stands at the stream's place: all that changed since is in the cache.
    package var runs: [Run]
    /// The change above which every slot that changed is held with that value.
    package var changesFrom: Int
    /// The newest change that values were taken from, if the stream does not stand there.
    package var seen: Head?

    package init(runs: [Run], changesFrom: Int, seen: Head? = nil) {
        self.runs = runs
        self.changesFrom = changesFrom
        self.seen = seen
    }

    /// The places that stand at the stream's place.
    package var standing: Coverage {
        Coverage(runs.filter { $0.asOf >= changesFrom }.map(\.run))
    }
}
