import Ports
import Wire

/// Calls of users of whom this gateway does not know that they take part in the conversation, where
/// the log lives elsewhere. To such a user it does not exist, and neither the answer nor the way to
/// it may show that it does: so each of these calls costs one question to the origin, the same one,
/// whatever this gateway knows of the conversation.
///
/// One call is asked for at a time, and the others wait behind it: a crowd that comes to a
/// conversation which nobody here follows asks once, and then this gateway knows who takes part.
/// The machine keeps these lines; `RequestDesk` asks.
struct Entrances {
    private struct Line {
        var isAsking = false
        var waiting: ArraySlice<Call> = []
    }

    private var lines: [ID: Line] = [:]

    /// - Returns: whether to ask for the call now; otherwise it waits.
    mutating func enter(_ call: Call, _ conversation: ID) -> Bool {
        let isAsking = lines[conversation]?.isAsking ?? false
        if isAsking {
            lines[conversation]?.waiting.append(call)
        } else {
            lines[conversation, default: Line()].isAsking = true
        }
        return !isAsking
    }

    /// The call that was asked for was answered.
    mutating func answered(_ conversation: ID) {
        guard let line = lines[conversation] else { return }
        lines[conversation] = line.waiting.isEmpty ? nil : Line(waiting: line.waiting)
    }

    /// The next call, unless one is asked for.
    mutating func takeNext(_ conversation: ID) -> Call? {
        guard lines[conversation]?.isAsking == false else { return nil }
        let next = lines[conversation]?.waiting.popFirst()
        if lines[conversation]?.waiting.isEmpty == true { lines[conversation] = nil }
        return next
    }
}

/// Why a call may come to a conversation in which this gateway did not know its user.
enum Entry {
    /// The cache has the user among those who take part.
    case cached
    /// The origin does, as of this head.
    case told(Head)
}
