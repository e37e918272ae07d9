import Chat
import Engine
import JSON
import Ports
import Wire

/// The answer to `GET /v1/conversations/{id}/boundaries`: the cache's coverage of a log, and the
/// gaps that it has never fetched.
enum BoundariesReport {
    /// - Parameter ids: ids of the messages at the ends of the runs.
    static func json(
        _ head: Head, held: Coverage, ids: [Int: String], at now: Timestamp
    ) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.key("boundaries")
        json.boundaries(held, ids)
        json.key("gaps")
        json.gaps(
            head.places.subtracting(held).runs.map {
                Gap(
                    after: $0.low - 1, before: $0.high + 1, missing: $0.count, cause: .cold,
                    since: now)
            })
        json.member("head", head: head)
        json.endObject()
        return json.bytes
    }
}

extension Head {
    /// The places of the messages that the log still has.
    var places: Coverage {
        let oldest = max(1, floor)
        return oldest <= seq ? Coverage(oldest, seq) : Coverage()
    }
}
