import Cache
import Chat
import Glibc
import Ports
import Rules
import SQLite
import Synchronization
import Wire

/// The embedded upstream: the origin's log in the gateway's own file, feed and history in process.
/// Numbering is dense; nothing is lost while the process lives, and a write is on the disk before
/// anybody hears of it. Any thread may call it. The log and all its output live on the writer's
/// queue, so that events, results and answers have one order.
package final class Embedded: Upstream {
    /// The value of `upstream.kind`; a store is opened for it by this name.
    package static let kind = "embedded"
    package var kind: String { Self.kind }

    /// A read of a log looks through half as many rows on average, at 100 to 200 ns each; a fold
    /// writes some six pages.
    package static let tail = 32

    /// The only generation: this feed can't break.
    static let generation = 1

    private let writer: Writer<MessageLog>
    private let outlet: Outlet
    private let limits: PresentLimits
    package let answersWithinCall: Bool

    /// Opens the log in `store`.
    /// - Parameters:
    ///   - bytes: the most that the messages of one answer may take; `limits.reply`.
    ///   - limits: the limits of the log's values.
    ///   - tail: the messages at which a log's tail is folded.
    ///   - pace: how its writer goes about its jobs.
    ///   - clock: the time of day.
    ///   - onWritable: called on the writer's queue with the error when the file can no longer be
    ///     written, and with nil when it can be written again.
    /// - Throws: `CacheError`, if the file can't be opened.
    package init(
        _ store: Store, bytes: Int = .max, limits: LogLimits = LogLimits(),
        tail: Int = Embedded.tail,
        pace: WriterPace = WriterPace(),
        clock: @escaping @Sendable () -> Timestamp = { Embedded.systemTime() },
        onWritable: @escaping @Sendable (CacheError?) -> Void = { _ in }
    ) throws(CacheError) {
        let outlet = Outlet()
        self.outlet = outlet
        let limits = PresentLimits(limits)
        self.limits = limits
        let reader = try Reader(store, bytes: bytes)
        answersWithinCall = pace.isOnOneCore
        writer = try Writer(store, pace: pace, onWritable: onWritable) {
            connection throws(CacheError) in
            try MessageLog(
                connection, reader, limits, tailLimit: tail, clock: clock, outlet: outlet,
                witness: store.witness)
        }
    }

    package func start(deliver: @escaping @Sendable ([UpstreamOutput]) -> Void) {
        outlet.open(deliver)
        writer.start()
    }

    package func submit(_ calls: [UpstreamCall]) {
        let jobs = calls.allSatisfy(\.isJob) ? calls : calls.filter(\.isJob)
        if jobs.count < calls.count { outlet.deliver(calls.compactMap(\.told)) }
        guard !jobs.isEmpty, case .full(let refused) = writer.submit(jobs) else { return }
        outlet.deliver(refused.compactMap { jobs[$0].refused(with: Self.busy) })
    }

    private static let busy = RequestError(
        .originOverloaded, "the origin has too many requests waiting")

    package func adopt(_ limits: LogLimits) { self.limits.value = limits }

    package func stop() {
        writer.stop()
        outlet.close()
    }

    /// Whether the last write succeeded.
    package var isWritable: Bool { writer.isWritable }

    /// The writer's counters since the start.
    package var figures: WriterFigures { writer.figures }

    /// The system's clock.
    package static func systemTime() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}

extension UpstreamCall {
    /// Whether it is for the writer. A feed that covers every conversation and can't break has
    /// nothing to do for the others.
    fileprivate var isJob: Bool {
        switch self {
        case .perform, .ask, .presence: true
        case .forkEpoch, .subscribe, .unsubscribe, .subscribeList, .unsubscribeList, .publish,
            .disconnect:
            false
        }
    }

    /// What such a feed says at once.
    fileprivate var told: UpstreamOutput? {
        if case .publish(let event) = self { return .feed(event) }
        guard case .subscribe(let conversation) = self else { return nil }
        return .subscribed(conversation: conversation, generation: Embedded.generation)
    }

    /// The output that answers a call that the queue did not accept.
    fileprivate func refused(with error: RequestError) -> UpstreamOutput? {
        if case .perform(_, _, let token) = self {
            return .performed(token: token, .failure(error))
        }
        if case .presence(_, let token) = self {
            return .presence(token: token, .failure(error))
        }
        guard case .ask(_, let token) = self else { return nil }
        return .answered(token: token, generation: Embedded.generation, .failure(error))
    }
}
