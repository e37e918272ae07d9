import Chat
import Engine
import JSON

/// Figures of the last hour, a point every ten seconds, for the plots of the operator's page. The
/// cost of a point does not depend on the number of connections.
struct LastHour {
    /// Counters since the start.
    struct Counts {
        var requests: Int
        var changes: Int
        var written: Int
        var coalesced: Int
        var failedFetches: Int
        var turn: Histogram
        var fanout: Histogram
        var fetch: Histogram
        var operation: Histogram
    }

    /// The median and the 99th percentile, in seconds.
    typealias Times = (half: Double, most: Double)

    struct Point {
        var at: Timestamp
        var connections: Int
        /// Per second, as are the rates below.
        var requests: Double
        var changes: Double
        var written: Double
        var coalesced: Double
        var failedFetches: Double
        /// Nil if nothing was measured, as for those below.
        var turn: Times?
        var fanout: Times?
        var fetch: Times?
        var operation: Times?
    }

    /// Seconds from one point to the next.
    static let step = 10
    private static let limit = 3600 / step

    private(set) var points: [Point] = []
    private var last: (counts: Counts, at: Timestamp)?

    /// - Returns: the new point; nil for the first call, which has nothing to compare with.
    mutating func take(_ counts: Counts, connections: Int, at now: Timestamp) -> Point? {
        defer { last = (counts, now) }
        guard let last, now > last.at else { return nil }
        let seconds = Double(now.milliseconds - last.at.milliseconds) / 1000
        func rate(_ path: KeyPath<Counts, Int>) -> Double {
            Double(max(0, counts[keyPath: path] - last.counts[keyPath: path])) / seconds
        }
        let point = Point(
            at: now, connections: connections, requests: rate(\.requests), changes: rate(\.changes),
            written: rate(\.written), coalesced: rate(\.coalesced),
            failedFetches: rate(\.failedFetches),
            turn: counts.turn.quantiles(since: last.counts.turn),
            fanout: counts.fanout.quantiles(since: last.counts.fanout),
            fetch: counts.fetch.quantiles(since: last.counts.fetch),
            operation: counts.operation.quantiles(since: last.counts.operation))
        if points.count == Self.limit { points.removeFirst() }
        points.append(point)
        return point
    }
}

extension Histogram {
    /// The median and the 99th percentile since `earlier`, in seconds: upper bounds of their
    /// buckets, at most the last bound.
    func quantiles(since earlier: Histogram) -> LastHour.Times? {
        let news = zip(counts, earlier.counts).map { $0 - $1 }
        let all = news.reduce(0, +)
        guard all > 0 else { return nil }
        func bound(_ share: Double) -> Double {
            var left = Int((Double(all) * share).rounded(.up))
            for (bucket, count) in news.enumerated() {
                left -= count
                guard left <= 0 else { continue }
                return Double(Self.bounds[min(bucket, Self.bounds.count - 1)].nanoseconds) / 1e9
            }
            return 0
        }
        return (bound(0.5), bound(0.99))
    }
}

extension JSONWriter {
    mutating func point(_ point: LastHour.Point) {
        beginObject()
        member("at", string: point.at.description)
        member("connections", int: point.connections)
        let rates = [
            ("requests", point.requests), ("changes", point.changes), ("written", point.written),
            ("coalesced", point.coalesced), ("failedFetches", point.failedFetches),
        ]
        for (name, rate) in rates {
            key(name)
            double(rate)
        }
        member("turn", times: point.turn)
        member("fanout", times: point.fanout)
        member("fetch", times: point.fetch)
        member("operation", times: point.operation)
        endObject()
    }

    mutating func member(_ name: String, times: LastHour.Times?) {
        key(name)
        guard let times else { return null() }
        beginArray()
        double(times.half)
        double(times.most)
        endArray()
    }
}
