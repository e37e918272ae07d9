import Chat
import Ports
import Wire

/// Encoded answers to subscriptions of one conversation, shared by all clients that ask the same
/// while the stream does not move. Between a few kilobytes and half a megabyte for a conversation
/// in a storm, nothing at rest: the first change invalidates it.
struct EncodedResumes {
    /// The parameters of a subscription.
    struct Question: Hashable {
        let have: Have?
        let limit: Int
    }

    /// The encoded result, and what the subscriber is owed beyond it.
    struct Answer {
        let json: [UInt8]
        let owed: Coverage
        let isReset: Bool
        /// How many deltas it has.
        let rows: Int
        /// For the journal: what the holder then holds, which of it the answer brings, and its
        /// gaps. Empty if no journal is kept.
        var held = Coverage()
        var shown = Coverage()
        var gaps: [Gap] = []

        /// Sets the fields for the journal.
        mutating func note(_ resume: Resume) {
            held = resume.held
            shown = Coverage(places: resume.deltas.map(\.message.seq))
            gaps = resume.gaps
        }
    }

    /// Bytes kept per conversation: a hundred usual answers to different holders.
    private static let limit = 512 << 10

    private var position = -1
    private var head: Head?
    private var answers: [Question: Answer] = [:]
    private var bytes = 0

    /// The answer, if the stream has not moved since it was kept.
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

    /// Frees the memory.
    mutating func drop() { if !answers.isEmpty { self = EncodedResumes() } }

    private func isCurrent(_ state: Stream.State) -> Bool {
        position == state.position.rev && head == state.head
    }
}
