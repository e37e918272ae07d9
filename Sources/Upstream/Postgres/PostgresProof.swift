import Crypto
import JSON
import Synchronization

/// A notification by which the listener shows that it hears others: a worker sends it while the
/// listener is idle. A pooler in transaction mode takes the server's connection away, and our
/// `LISTEN` with it.
///
/// Where it can't be committed (another commit hangs, the notification queue is full), nobody
/// else's can: Postgres commits them one after another. Then there is nothing to miss, and the feed
/// begins without proof.
final class PostgresProof: Sendable {
    private enum State {
        case underWay
        /// It was committed, and has to arrive.
        case sent(ContinuousClock.Instant)
        /// It was not sent, or nobody knows.
        case failed(ContinuousClock.Instant)
    }

    let nonce = "probe " + Random.hex(8)
    private let state = Mutex(State.underWay)

    /// - Parameter then: called when it was sent, or could not be.
    init(_ pool: PostgresPool, then: @escaping @Sendable () -> Void) {
        var json = JSONWriter()
        json.beginObject()
        json.member("s", string: "ring")
        json.member("payload", string: nonce)
        json.endObject()
        pool.signal(json.bytes, isDurable: false) { [weak self] result in
            self?.state.withLock {
                if case .success = result { $0 = .sent(.now) } else { $0 = .failed(.now) }
            }
            then()
        }
    }

    /// When it could not be sent; nil otherwise.
    var failedAt: ContinuousClock.Instant? {
        state.withLock { if case .failed(let at) = $0 { at } else { nil } }
    }

    /// When it was sent; nil otherwise.
    var sentAt: ContinuousClock.Instant? {
        state.withLock { if case .sent(let at) = $0 { at } else { nil } }
    }
}
