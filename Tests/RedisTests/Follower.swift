import Chat
import Ports
import TestSupport
import Testing
import Wire

@testable import Upstream

/// A coordinator in small: it subscribes, waits for the acknowledgement, reads what changed since
/// the change up to which it knows the log without a break, and lays live events on top, which
/// raise that change only one by one. After a lapse it begins at the same change again.
final class Follower {
    private let subject: Subject
    private let conversation: String
    private var slots: [Int: EncodedMessage] = [:]
    /// Up to which change the log is known without a break.
    private var position = 0
    /// The newest head that was told with it: the log of each later answer has to have it.
    private var seen: Head?
    /// How many outputs were looked at.
    private var looked = 0
    /// The generation in which the origin acknowledged the subscription; 0 after a lapse.
    private var acknowledged = 0
    /// The generation in which everything was read since; 0 until then.
    private(set) var generation = 0

    init(_ subject: Subject, _ conversation: String) throws {
        self.subject = subject
        self.conversation = conversation
        subject.upstream.submit([.subscribe(conversation)])
        try catchUp()
    }

    /// Looks at all that was delivered until it stands, in a live generation, at the present head.
    func catchUp() throws {
        let isDone = try Deadline.standard.poll {
            for output in subject.outputs.all.dropFirst(looked) {
                looked += 1
                try take(output)
            }
            // The way of the questions may come back later than the feed: ask again.
            if acknowledged > 0, generation == 0 { try fetch(in: acknowledged) }
            guard generation > 0 else { return false }
            let asked = try? subject.askProven(.heads([conversation]))
            guard case .heads(let heads, _) = asked?.answer, let head = heads[conversation.id]
            else {
                return false
            }
            return asked?.generation == generation && head.rev == position && head == seen
        }
        if !isDone {
            throw TestFailure("generation \(generation), change \(position): did not catch up")
        }
    }

    private func take(_ output: UpstreamOutput) throws {
        switch output {
        case .subscribed(conversation, let generation): acknowledged = generation
        case .lapsed(acknowledged):
            acknowledged = 0
            generation = 0
        case .feed(let event): apply(event)
        default: break
        }
    }

    /// The chain of changes from the position; live events that came meanwhile are behind it.
    private func fetch(in generation: Int) throws {
        while true {
            let changes = HistoryQuery.changes(
                conversation: conversation, since: position, mark: nil, limit: 7)
            let query = seen.map { .provided($0, changes) } ?? changes
            guard let asked = try? subject.askProven(query), case .changes(let read) = asked.answer,
                asked.generation == generation
            else { return }
            for message in read.messages { hold(message) }
            position = read.upTo
            seen = read.head
            guard read.more else {
                self.generation = generation
                return
            }
        }
    }

    private func apply(_ event: FeedEvent) {
        switch event {
        case .message(conversation, _, let message, let head, _):
            hold(message)
            raise(to: head)
        case .record(let record, let head, _, _, _, _) where record.id == conversation:
            raise(to: head)
        default: break
        }
    }

    private func raise(to head: Head) {
        guard generation > 0, head.rev == position + 1 else { return }
        position = head.rev
        seen = head
    }

    private func hold(_ message: EncodedMessage) {
        guard slots[message.seq].map({ $0.rev < message.rev }) ?? true else { return }
        slots[message.seq] = message
    }

    /// Holds what the origin has, every slot of it.
    func expectWhole(as origin: Subject) throws {
        var all: [EncodedMessage] = []
        var seq = 0
        repeat {
            let request = PageRequest(after: .seq(all.count), limit: 1000, order: .asc)
            let page = try origin.page(request, of: conversation)
            all += page.messages
            seq = page.hasMoreAfter ? .max : page.head.seq
        } while seq == .max
        #expect(slots.values.sorted { $0.seq < $1.seq } == all)
        #expect(all.count == seq)
    }
}
