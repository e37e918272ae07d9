import Cache
import Ports
import SQLite
import Wire

/// State that many jobs of a batch change is written once for all of them: the list's position, at
/// the end of the batch; and, for consecutive messages to one conversation, its head and the
/// authors' read markers, when another job comes. Readers of the file see nothing before the
/// commit; within the batch every job but another send to the same conversation finds it written.
struct BatchState {
    /// The list as it will be after the batch.
    struct List {
        var rev: Int
        var mark: String
        /// New messages in the batch.
        var messages = 0
    }

    /// A read marker.
    struct Marker {
        var user: String
        var seq: Int
    }

    /// The conversation that the last jobs sent to.
    struct Sending {
        var log: LogRow
        /// Users known to be members, by the checks so far.
        var members: Set<ID> = []
        /// The authors' read markers, by user id.
        var markers: [ID: Marker] = [:]
        var isChanged = false
    }

    var list: List?
    var sending: Sending?
    /// The number of changes of the list so far.
    var touches = 0

    /// The batch was rolled back: nothing of it was written.
    mutating func drop() {
        sending = nil
        list = nil
    }
}
