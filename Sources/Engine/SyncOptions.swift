/// How holes are found and filled: `sync.*` of the configuration, in milliseconds and numbers.
package struct SyncOptions: Sendable {
    /// How many messages or changes one fetch asks for.
    package var page = 100
    /// A conversation that is further behind than so many pages gets its latest page first; a
    /// holder that is further behind than that is told which of its runs are outdated.
    package var pages = 10
    /// How many fetches are under way at once.
    package var concurrency = 16
    package var backoffBase: Int64 = 100
    package var backoffMax: Int64 = 30_000
    /// How long a hole in the feed may close by itself.
    package var gapGrace: Int64 = 250
    /// How long a conversation stays subscribed after the last one who watched it.
    package var linger: Int64 = 30_000
    /// How long a subscription waits for what is missing before it is answered without.
    package var wait: Int64 = 2_000
    /// How often the heads of watched conversations are compared with the origin's.
    package var verifyInterval: Int64 = 30_000

    /// How many messages come to a conversation between two times that its cache is asked to drop
    /// what it need not keep; nil where it keeps everything.
    package var trimAfter: Int?

    package init() {}

    /// How many changes behind is far behind.
    var farBehind: Int { page * pages }
}
