import Cache
import Ports
import SQLite
import Wire

/// What many jobs of a batch have in common: the list's position, written once at its end, and the
/// conversation that consecutive messages go to, read once for all of them. Readers of the file see
/// nothing before the commit.
struct BatchState {
    /// The list as it will be after the batch.
    struct List {
        var rev: Int
        var mark: String
        /// New messages in the batch.
        var messages = 0
    }

    /// The conversation that the last jobs sent to, as it is in the file.
    struct Sending {
        var log: LogRow
        /// Users known to be members, by the checks so far.
        var members: Set<ID> = []
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
