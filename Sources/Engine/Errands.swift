import Chat
import Ports
import Wire

/// The fetch queue: what the origin of a mirrored log is asked, and in which order. The questions
/// of calls that wait first, then by the number of those who watch, then the rest. Owned by the
/// engine.
struct Errands {
    /// A question on its way, and what its answer is for.
    enum Ask {
        /// Of these streams, whether the logs stand where they do.
        case heads([Subject])
        case errand(Mirror.Errand, Subject)
        /// These places.
        case range(Subject, Coverage.Run)
        /// Whether the log has what a holder says.
        case claim(Subject, Mirror.Claim)
        /// Where the message with the call's anchor is.
        case message(Call, id: String)
        /// What place the moment of the call's anchor is.
        case moment(Call, Timestamp)
        /// The answer goes to the call as it is.
        case call(Call)
        /// Which message is the last that is not deleted.
        case last(Subject)
        /// The next part of a user's list.
        case list(user: ID, reading: Int)
    }

    /// A stream, as it was when something was asked about it.
    struct Subject {
        let stream: Stream
        private let era: Int

        init(_ stream: Stream) {
            self.stream = stream
            era = stream.mirror?.era ?? 0
        }

        /// The answer still counts.
        var isCurrent: Bool { stream.mirror?.era == era }
    }

    struct Entry {
        let ask: Ask
        let query: HistoryQuery
        /// Lower is earlier.
        let rank: Int
    }

    private var queue: [Entry] = []
    private(set) var underWay = 0

    var queued: Int { queue.count }

    /// - Complexity: O(log n) comparisons and a move of what stands behind.
    mutating func add(_ entry: Entry) {
        var low = 0
        var high = queue.count
        while low < high {
            let middle = low + (high - low) / 2
            // The queue is kept with the next one last.
            if queue[middle].rank > entry.rank { low = middle + 1 } else { high = middle }
        }
        queue.insert(entry, at: low)
    }

    mutating func next(within limit: Int) -> Entry? {
        while underWay < limit, let entry = queue.popLast() {
            guard entry.ask.isCurrent else { continue }
            underWay += 1
            return entry
        }
        return nil
    }

    mutating func finished() { underWay -= 1 }
}

extension Errands.Ask {
    /// Somebody still waits for the answer.
    var isCurrent: Bool {
        switch self {
        case .heads(let subjects): subjects.contains { $0.isCurrent }
        case .errand(_, let subject), .range(let subject, _), .claim(let subject, _),
            .last(let subject):
            subject.isCurrent
        case .message, .moment, .call, .list: true
        }
    }
}
