import Engine
import JSON

/// The answer to `/books` of the internal listener: the accounting of all deltas, in total since
/// the start, and per conversation since it came into memory.
enum AccountingReport {
    static func json(
        _ total: Accounting, _ conversations: [(conversation: String, accounting: Accounting)]
    ) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.object("total") { $0.accounting(total) }
        json.key("conversations")
        json.beginArray()
        for entry in conversations {
            json.beginObject()
            json.member("conversation", string: entry.conversation)
            json.accounting(entry.accounting)
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return json.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func accounting(_ accounting: Accounting) {
        member("accepted", int: accounting.accepted)
        member("written", int: accounting.written)
        member("coalesced", int: accounting.coalesced)
        member("discarded", int: accounting.discarded)
        member("queued", int: accounting.queued)
        member("error", int: accounting.error)
    }
}
