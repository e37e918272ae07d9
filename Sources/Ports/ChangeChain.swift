import Wire

/// Contiguous changes of one log after a position, all read at one moment: each rev once, and for
/// each slot named its value at that moment. A feed that is only a notification ("something
/// changed") reads such parts and turns them into events; intermediate values no longer exist.
package struct ChangeChain {
    /// One change of the log.
    package struct Step {
        let rev: Int
        /// 0: the record.
        let seq: Int
        let mark: String

        package init(rev: Int, seq: Int, mark: String) {
            self.rev = rev
            self.seq = seq
            self.mark = mark
        }
    }

    /// The result of the conversion.
    package enum Events {
        /// The events, and the head at their end.
        case part([FeedEvent], Head)
        /// The changes can't be sent one by one and must be read as a whole: one is of a message
        /// that was trimmed meanwhile, or a message written before a change of the record, or
        /// before the end of the part, has a value from after that. A participant removed in
        /// between must not see it.
        case outOfOrder
        /// There is more, but the part is empty.
        case stuck
        /// Changes or a value are missing: the damaged part of the log.
        case damaged(String)
    }

    package var steps: [Step] = []
    /// By seq.
    package var messages: [Int: EncodedMessage] = [:]
    package var record: Record?
    /// The log's head at the moment of reading.
    package let head: Head
    /// The steps end below that head.
    package let more: Bool

    package init(head: Head, more: Bool) {
        self.head = head
        self.more = more
    }

    /// Turns the changes into events.
    /// - Parameter position: the head that they follow.
    package func told(of conversation: String, after position: Head) -> Events {
        guard isInOrder else { return .outOfOrder }
        var events: [FeedEvent] = []
        var end = position
        end.floor = head.floor
        for step in steps {
            guard step.rev == end.rev + 1 else { return .damaged("changes") }
            (end.rev, end.mark) = (step.rev, step.mark)
            let isNew = step.seq > end.seq
            end.seq = max(end.seq, step.seq)
            if step.seq == 0 {
                guard let record else { return .damaged("record") }
                events.append(.record(record, head: end, removed: [], isNew: step.rev == 1))
            } else if let message = messages[step.seq] {
                let type: DeltaType =
                    isNew ? .inserted : message.isDeleted ? .deleted : .updated
                events.append(.message(conversation: conversation, type, message, head: end))
            } else {
                // A message trimmed meanwhile has no value to send, and subscribers must not be
                // left at the change before it.
                return step.seq < head.floor ? .outOfOrder : .damaged("messages")
            }
        }
        guard more || end.rev == head.rev else { return .damaged("changes") }
        guard !more || end.rev > position.rev else { return .stuck }
        return .part(events, end)
    }

    private var isInOrder: Bool {
        // No earlier change may have a value from this rev or a later one.
        var bound = (steps.last?.rev ?? 0) + 1
        for step in steps.reversed() {
            if step.seq == 0 {
                bound = step.rev
            } else if let message = messages[step.seq], message.rev >= bound {
                return false
            }
        }
        return true
    }
}
