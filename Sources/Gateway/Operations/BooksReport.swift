import Engine
import JSON

/// The answer to `/books` of the internal listener: what became of every delta, in total since the
/// start, and of each conversation since it came into memory.
enum BooksReport {
    static func json(
        _ total: Books, _ conversations: [(conversation: String, books: Books)]
    ) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.object("total") { $0.books(total) }
        json.key("conversations")
        json.beginArray()
        for entry in conversations {
            json.beginObject()
            json.member("conversation", string: entry.conversation)
            json.books(entry.books)
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return json.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func books(_ books: Books) {
        member("accepted", int: books.accepted)
        member("written", int: books.written)
        member("coalesced", int: books.coalesced)
        member("discarded", int: books.discarded)
        member("queued", int: books.queued)
        member("error", int: books.error)
    }
}
