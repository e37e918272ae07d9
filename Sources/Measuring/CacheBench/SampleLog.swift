import Bench
import Cache
import Chat
import JSON
import Ports
import SQLite
import Wire

/// A conversation of another origin as a feed delivers it: dense numbers, messages as clients send
/// them, unordered ids. The same number always gives the same message.
struct SampleLog {
    let id: String
    let body: String
    static let moment = Timestamp(milliseconds: 1_790_000_000_000)

    var record: Record {
        Record(
            id: id, title: "Samples", participants: ["alice", "bob", "carol"], admins: ["alice"],
            metadata: .emptyObject, createdAt: Self.moment, updatedAt: Self.moment, rev: 1,
            unknown: [])
    }

    /// The head with `count` messages in the log.
    func head(after count: Int) -> Head {
        Head(epoch: "e1", seq: count, rev: count + 1, mark: mark(of: count + 1))
    }

    func mark(of rev: Int) -> String { String(mixed(rev) & 0xFFFF_FFFF, radix: 16) }

    func message(_ seq: Int) -> EncodedMessage {
        let moment = Timestamp(milliseconds: Self.moment.milliseconds + Int64(seq))
        return EncodedMessage.encode(
            id: String(mixed(seq), radix: 16), conversation: id, seq: seq, rev: seq + 1,
            author: ["alice", "bob", "carol"][seq % 3], body: body, attachment: nil, metadata: nil,
            createdAt: moment, editedAt: nil, deleted: false, unknown: [])
    }

    /// The finalizer of SplitMix64: distinct numbers in no order.
    private func mixed(_ number: Int) -> UInt64 {
        var z = UInt64(bitPattern: Int64(number)) &* 0x9E37_79B9_7F4A_7C15
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// The engine's writes to the cache for live messages, in its order: the values, then the
    /// coverage and the position.
    func writes(_ seqs: ClosedRange<Int>) -> [StoreWrite] {
        seqs.map { .message(conversation: id, message($0), mark: mark(of: $0 + 1)) } + [
            .hold(conversation: id, Coverage(seqs.lowerBound, seqs.upperBound), asOf: 1),
            .stand(conversation: id, head: head(after: seqs.upperBound)),
        ]
    }
}

/// A cache's file, created and used as the gateway does.
enum SampleCache {
    /// - Throws: `BenchError.failure`
    static func store(_ path: String) throws(BenchError) -> Store {
        try cache { () throws(CacheError) in
            try Store(Store.Options(path: path, origin: "redis", isChecked: true, wait: .zero))
        }
    }

    /// - Throws: `BenchError.failure`
    static func replica(_ store: Store, of logs: [SampleLog]) throws(BenchError) -> ReplicaCache {
        try cache { () throws(CacheError) in
            let replica = try ReplicaCache(store, retention: Retention())
            try replica.perform(
                logs.map { .begin($0.record, head: $0.head(after: 0)) }, at: SampleLog.moment)
            return replica
        }
    }

    /// Converts the cache's errors into errors of a measurement.
    static func cache<Value>(
        _ work: () throws(CacheError) -> Value
    ) throws(BenchError) -> Value {
        do throws(CacheError) {
            return try work()
        } catch {
            throw .failure("\(error)")
        }
    }
}
