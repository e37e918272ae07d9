/// How holes are found and filled: `sync.*` of the configuration, in milliseconds and counts, with
/// their defaults.
package struct SyncOptions: Sendable, Equatable {
    /// How many messages or changes one fetch asks for.
    package var page = 100
    /// A conversation further behind than this many pages fetches its latest page first. A holder
    /// further behind than that is told which of its runs are outdated.
    package var pages = 10
    /// How many fetches are in flight at once.
    package var concurrency = 16
    package var backoffBase: Int64 = 100
    package var backoffMax: Int64 = 30_000
    /// How long a hole in the feed may take to close by itself.
    package var gapGrace: Int64 = 250
    /// How long a conversation stays subscribed after its last watcher left.
    package var linger: Int64 = 30_000
    /// How long a subscription waits for missing data before it is answered without.
    package var wait: Int64 = 2_000
    /// How often the heads of watched conversations are compared with the origin's.
    package var verifyInterval: Int64 = 30_000
    /// How long a feed may be silent before its link counts as dead. A process that stood still for
    /// longer knows no more than one whose link broke.
    package var linkDeadline: Int64 = 2_000

    /// Messages that a conversation receives before its cache is asked to trim again; nil if the
    /// cache keeps everything.
    package var trimAfter: Int?

    package init() {}

    /// How many changes behind counts as far behind.
    var farBehind: Int { page * pages }
}
