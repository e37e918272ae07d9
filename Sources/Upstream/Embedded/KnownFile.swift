import Cache
import Ports
import SQLite
import Wire

/// What the log knows of the file without asking it: the list's position, which is written once at
/// the end of a batch, and the conversations that were sent to last, as they are in the file. This
/// process alone writes the file, so what it wrote last is what is there: until a batch is rolled
/// back, which drops all of it, or a conversation changes in another way, which drops that one.
struct BatchState {
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
    struct Sending {
        var log: LogRow
        /// Users known to be members, by the checks so far.
        var members: Set<ID> = []
    }

    /// The most conversations that are known, and the most members of each: some megabytes at most.
    private static let limit = 512
    private static let memberLimit = 64

    private(set) var sending: [ID: Sending] = [:]
    var list: List?
    /// The number of changes of the list so far.
    var touches = 0

    /// The conversation was sent to, or opened for that by a member.
    mutating func note(_ log: LogRow, member: ID? = nil) {
        if sending.count >= Self.limit, sending[log.id.id] == nil {
            sending.removeAll(keepingCapacity: true)
        }
        var known = sending.removeValue(forKey: log.id.id) ?? Sending(log: log)
        known.log = log
        if let member {
            if known.members.count >= Self.memberLimit { known.members.removeAll() }
            known.members.insert(member)
        }
        sending[log.id.id] = known
    }

    /// The conversation changes otherwise than by a message that is sent.
    mutating func forget(_ conversation: String) { sending[conversation.id] = nil }

    /// The batch was rolled back: nothing of it was written.
    mutating func drop() {
        sending = [:]
        list = nil
    }
}
