import Ports
import Wire

/// The room for calls that wait for an origin, in jobs and in bytes. A user may take as much of it
/// as is left besides, whatever the limits of requests say, so that some is always left for others.
/// The gateway's own work may use all of it. A value of its queue.
struct SharedRoom {
    private struct Share {
        var count = 0
        var bytes = 0
    }

    /// The most jobs, and the most of their bytes.
    let jobLimit: Int
    let byteLimit: Int
    private var all = Share()
    private var shares: [ID: Share] = [:]

    init(jobs: Int, bytes: Int) { (jobLimit, byteLimit) = (jobs, bytes) }

    /// The jobs in it.
    var count: Int { all.count }
    /// Their bytes.
    var bytes: Int { all.bytes }

    /// Whether there is room for one more job of this payer.
    func hasRoom(for payer: Payer) -> Bool {
        guard all.count < jobLimit, all.bytes < byteLimit else { return false }
        guard payer != .gateway, let own = shares[payer.user] else { return true }
        return own.count < jobLimit - all.count && own.bytes < byteLimit - all.bytes
    }

    mutating func enter(_ payer: Payer, bytes: Int) { change(payer, 1, bytes) }

    mutating func leave(_ payer: Payer, bytes: Int) { change(payer, -1, -bytes) }

    private mutating func change(_ payer: Payer, _ count: Int, _ bytes: Int) {
        all.count += count
        all.bytes += bytes
        var own = shares[payer.user] ?? Share()
        own.count += count
        own.bytes += bytes
        shares[payer.user] = own.count > 0 ? own : nil
    }
}
