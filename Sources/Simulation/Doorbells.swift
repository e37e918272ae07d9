import Engine
import Ports
import Wire

/// The adapter's state for a feed that only notifies, as that of Postgres: an event says that a
/// conversation changed, and the changes are read from the position that an answer beside this feed
/// gave. A value, owned by the link.
struct Doorbells {
    /// The changes above a position must be read.
    struct Question {
        let conversation: String
        let entry: Int
        let position: Head
        let generation: Int
    }

    /// The result of the read.
    enum Answer {
        case part([FeedEvent], Head, more: Bool)
        /// There is no such conversation.
        case ended
        /// Another log, or changes that can't be sent one by one.
        case broken
    }

    /// The consequences of an answer.
    struct Taken {
        var events: [FeedEvent] = []
        /// Whether the engine must compare heads, as if the feed had just been joined.
        var isBroken = false
        var next: Question?
    }

    private struct Entry {
        let number: Int
        /// Nil until an answer beside this feed gave one.
        var position: Head?
        var isRung = false
        var isAsking = false
    }

    private var entries: [String: Entry] = [:]
    private var count = 0

    mutating func begin(_ conversation: String) {
        count += 1
        entries[conversation] = Entry(number: count)
    }

    mutating func end(_ conversation: String) { entries[conversation] = nil }

    mutating func endAll() { entries = [:] }

    /// Whether it was notified of changes that it has not passed on.
    func isBehind(_ conversation: String) -> Bool {
        entries[conversation].map { $0.isRung || $0.isAsking } ?? false
    }

    mutating func ring(_ conversation: String, in generation: Int) -> Question? {
        entries[conversation]?.isRung = true
        return question(conversation, generation)
    }

    /// An answer beside this feed gave the head. The stream may be at an older one than the first
    /// answer's: answers overtake each other.
    mutating func learn(_ head: Head, of conversation: String, in generation: Int) -> Taken {
        guard let entry = entries[conversation] else { return Taken() }
        var taken = Taken()
        if let position = entry.position {
            guard head.epoch == position.epoch else {
                begin(conversation)
                taken.isBroken = true
                return taken
            }
            guard head.rev < position.rev else { return taken }
            entries[conversation]?.isRung = true
        }
        entries[conversation]?.position = head
        taken.next = question(conversation, generation)
        return taken
    }

    private mutating func question(_ conversation: String, _ generation: Int) -> Question? {
        guard let entry = entries[conversation], entry.isRung, !entry.isAsking,
            let position = entry.position
        else { return nil }
        entries[conversation]?.isRung = false
        entries[conversation]?.isAsking = true
        return Question(
            conversation: conversation, entry: entry.number, position: position,
            generation: generation)
    }

    mutating func take(_ answer: Answer, to question: Question, in generation: Int) -> Taken {
        let conversation = question.conversation
        guard entries[conversation]?.number == question.entry else { return Taken() }
        entries[conversation]?.isAsking = false
        var taken = Taken()
        guard entries[conversation]?.position == question.position else {
            // The position went back meanwhile.
            entries[conversation]?.isRung = true
            taken.next = self.question(conversation, generation)
            return taken
        }
        switch answer {
        case .part(let events, let head, let more):
            entries[conversation]?.position = head
            if more { entries[conversation]?.isRung = true }
            taken.events = events
        case .ended:
            entries[conversation]?.position = nil
            taken.events = [
                .deleted(
                    conversation: conversation, epoch: question.position.epoch, participants: [])
            ]
        case .broken:
            begin(conversation)
            taken.isBroken = true
        }
        taken.next = self.question(conversation, generation)
        return taken
    }
}

extension Origin {
    /// The changes above a position, as the log is now.
    /// - Parameter limit: how many changes are read at most.
    func chain(above position: Head, of conversation: String, limit: Int) -> Doorbells.Answer {
        guard let log = log(conversation) else { return .ended }
        guard log.has(position), position.rev == 0 || position.rev > log.base else {
            return .broken
        }
        let revs = (position.rev + 1..<log.rev + 1).prefix(limit)
        var steps = ChangeChain(head: log.head, more: revs.last ?? log.rev < log.rev)
        for rev in revs {
            let seq = log.changes[rev - 1].slot
            steps.steps.append(ChangeChain.Step(rev: rev, seq: seq, mark: log.mark(at: rev)))
            if seq == 0 {
                steps.record = log.record()
            } else if seq >= log.floor {
                steps.messages[seq] = log.message(seq)
            }
        }
        guard case .part(let events, let head) = steps.told(of: conversation, after: position)
        else { return .broken }
        return .part(events, head, more: steps.more)
    }
}
