import Cache
import Ports
import SQLite
import Wire

/// What the log knows of the file without asking it, from one batch to the next: the list's
/// position, which is written once at the end of a batch, and the conversations that were sent to
/// last, with some of their members and the ids in their tails.
///
/// What this process wrote last is what is there: until a batch is rolled back, which drops all of
/// it, or a conversation changes in another way, which drops that one. Nobody else can write the
/// file (`FilePlace`).
struct KnownFile {
    /// The list as it will be after the batch.
    struct List {
        var rev: Int
        var mark: String
        /// New messages in the batch.
        var messages = 0
        /// Whether the file has an older one.
        var isChanged = false
    }

    /// A conversation that messages were sent to.
    final class Conversation {
        var log: LogRow
        /// Users known to be members, by the checks so far.
        private(set) var members: Set<ID> = []
        /// The ids in the log's tail; nil if it was not read yet.
        var tail: IDMarks?

        init(_ log: LogRow) {
            self.log = log
            tail = log.tail == nil ? IDMarks() : nil
        }

        func note(member: ID) {
            if members.count >= KnownFile.memberLimit { members.removeAll() }
            members.insert(member)
        }
    }

    /// The most conversations that are known, and the most members of each: some megabytes at most.
    private static let limit = 512
    private static let memberLimit = 64

    private var conversations: [ID: Conversation] = [:]
    var list: List?
    /// The number of changes of the list so far.
    var touches = 0
    /// Whether messages from before the eighth version of the file are there; nil if that was not
    /// looked up yet.
    var hasOldMessages: Bool?

    func conversation(_ id: String) -> Conversation? { conversations[id.id] }

    /// The conversation is about to be sent to.
    mutating func note(_ log: LogRow) -> Conversation {
        if conversations.count >= Self.limit { conversations.removeAll(keepingCapacity: true) }
        let conversation = Conversation(log)
        conversations[log.id.id] = conversation
        return conversation
    }

    /// The conversation changes otherwise than by a message that is sent.
    mutating func forget(_ conversation: String) { conversations[conversation.id] = nil }

    /// Whatever was known may be otherwise.
    mutating func drop() {
        conversations = [:]
        list = nil
        hasOldMessages = nil
    }
}

/// The ids of a tail, as far as it takes to say that one is not among them: eight bytes of each. A
/// tail is short, so they stand in a row.
struct IDMarks {
    private var marks: [UInt64] = []

    mutating func insert(_ id: String) { marks.append(Self.mark(id)) }

    /// Whether the id may be there. An id that is not there passes by a rare collision, which an
    /// attacker can find.
    func mayHave(_ id: String) -> Bool { marks.contains(Self.mark(id)) }

    private static func mark(_ id: String) -> UInt64 { id.utf8.fnv1a() }
}
