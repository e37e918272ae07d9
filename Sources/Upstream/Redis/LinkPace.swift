/// How many commands a piece of a long job has. Pieces must keep the link busy, but a new command
/// waits for those before it: so a piece is half a millisecond of the server's work, and on a link
/// with slow answers half a round trip more, which adds little to a wait as long as that.
///
/// As in LEDBAT (RFC 6817), what an answer takes beyond the shortest round trip was spent behind
/// the commands in flight; the piece's share of it makes the next one larger or smaller. From time
/// to time pieces are short until a round trip with little before it has shown how long the way
/// itself is. The same round trip says how many bytes may be in flight (`window`). A value that is
/// told the times.
struct LinkPace {
    /// The bounds of a piece. Even the smallest makes progress with each round trip.
    static let least = 8
    static let most = 400

    /// The bounds of `window`.
    static let leastWindow = 128 << 10
    static let mostWindow = 512 << 10
    /// With more bytes in flight, what an answer takes tells of them and not of the way: a window
    /// that followed it would follow itself.
    static let clearBytes = 8 << 10

    /// The server's work on a piece, beside half a round trip.
    static let grain = Duration.microseconds(500)

    /// How often the way is measured again, and in how many answers at most.
    static let period = Duration.seconds(2)
    static let probeLimit = 8

    /// A piece of a job on its way.
    struct Trip: Sendable {
        let sentAt: ContinuousClock.Instant
        /// The commands in flight when it was sent, its own included.
        let ahead: Int
        /// Their bytes.
        let bytes: Int
        /// Whether it shows what pieces of long jobs cost.
        let isTypical: Bool
    }

    /// The shortest round trip of late; nil before the first one.
    private(set) var base: Duration?
    private var size = Double(Self.least)
    private var periodBegan: ContinuousClock.Instant?
    /// For how many more answers it waits for one with little before it; 0: it has had one.
    private var probes = 0

    /// The most commands of the next piece. Of the way no more than a half: the shortest round trip
    /// has some of its own commands in it, and with all of it a piece would grow by its own size.
    var pieceCount: Int { probes > 0 ? Self.least : Int(size) }

    /// The bytes in flight from which on nothing more is sent. The rest stays in the queue, where
    /// it can still be refused, and where small commands pass large ones: behind 512 KiB a small
    /// one waits for 4 ms of the server's work. A way of 2 ms needs as much to carry 256 MB/s, a
    /// short one does not. What a server takes to flush lengthens no way: with `appendfsync always`
    /// and a disk that needs 5 ms, 26 MB/s go through this.
    var window: Int {
        let way = (base ?? .zero) / .milliseconds(2)
        return max(Self.leastWindow, Int(min(1, way) * Double(Self.mostWindow)))
    }

    mutating func answered(_ trip: Trip, at now: ContinuousClock.Instant) {
        let took = now - trip.sentAt
        if let began = periodBegan, now - began < Self.period {
            if probes > 0, trip.sentAt >= began {
                // A way that has become longer shows only in an answer with little before it.
                let isClear = trip.ahead <= 2 * Self.least && trip.bytes <= Self.clearBytes
                if isClear { base = took }
                probes = isClear ? 0 : probes - 1
            }
        } else {
            probes = periodBegan == nil ? 0 : Self.probeLimit
            periodBegan = now
        }
        let least = min(base ?? took, took)
        base = least
        guard trip.isTypical, probes == 0 else { return }
        let cost = max((took - least) / max(trip.ahead, 1), .nanoseconds(1))
        let fitting = (Self.grain + least / 2) / cost
        // In part, since what delays one answer need not delay the next.
        size += (min(max(fitting, size / 2), size * 2) - size) / 2
        size = min(max(size, Double(Self.least)), Double(Self.most))
    }
}
