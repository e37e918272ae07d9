import Chat
import Ports
import Wire

/// Answers to subscriptions of one conversation, encoded once for all who ask the same while the
/// stream stands where it stood. A few kilobytes to half a megabyte for a conversation in a storm,
/// nothing at rest: the first change empties it.
struct EncodedResumes {
    /// What a subscription asks.
    struct Question: Hashable {
        let have: Have?
        let limit: Int
    }

    /// A whole result object, and what the subscriber is owed beside it.
    struct Answer {
        let json: [UInt8]
        let owed: Coverage
        let isReset: Bool
        /// How many deltas it has.
        let rows: Int
        /// What the journal is told of it: what the holder then holds, which of it the answer
        /// brings, and what it lacks. Empty where there is no journal.
        var held = Coverage()
        var shown = Coverage()
        var gaps: [Gap] = []

        /// Keeps what the journal is told of it.
        mutating func note(_ resume: Resume) {
            held = resume.held
            shown = Coverage(places: resume.deltas.map(\.message.seq))
            gaps = resume.gaps
        }
    }

    /// Bytes kept for one conversation: a hundred usual answers of different holders.
    private static let limit = 512 << 10

    private var position = -1
    private var head: Head?
    private var answers: [Question: Answer] = [:]
    private var bytes = 0

    /// The answer, if the stream has not moved since.
    func answer(_ question: Question, at state: Stream.State) -> Answer? {
        guard isCurrent(state) else { return nil }
        return answers[question]
    }

    mutating func keep(_ answer: Answer, to question: Question, at state: Stream.State) {
        if !isCurrent(state) {
            self = EncodedResumes()
            position = state.position.rev
            head = state.head
        }
        guard bytes + answer.json.count <= Self.limit else { return }
        bytes += answer.json.count
        answers[question] = answer
    }

    /// Gives the memory back.
    mutating func drop() { if !answers.isEmpty { self = EncodedResumes() } }

    private func isCurrent(_ state: Stream.State) -> Bool {
        position == state.position.rev && head == state.head
    }
}
