import Wire

/// Changes of one log right behind a position, all read at one moment: each rev once, and of each
/// slot that they name the value that it has then. A feed that only rings reads such parts, and
/// makes events of them: the values that lie between are nowhere any more.
package struct ChangeChain {
    /// One change of the log.
    package struct Step {
        let rev: Int
        /// 0 of the record.
        let seq: Int
        let mark: String

        package init(rev: Int, seq: Int, mark: String) {
            self.rev = rev
            self.seq = seq
            self.mark = mark
        }
    }

    /// What the changes come to.
    package enum Events {
        /// Events, and where they end.
        case part([FeedEvent], Head)
        /// The changes can't be told one after the other, and are to be read as a whole: one is of
        /// a message that was trimmed meanwhile; or a message was written before a change of the
        /// record, or before the end of the part, and has its value from behind that. Who was taken
        /// out in between must not see it.
        case outOfOrder
        /// There is more, and the part is empty.
        case stuck
        /// The changes are not complete, or a value is missing: which part of the log that is.
        case damaged(String)
    }

    package var steps: [Step] = []
    /// By seq.
    package var messages: [Int: EncodedMessage] = [:]
    package var record: Record?
    /// Of the log, at the moment of reading.
    package let head: Head
    /// The steps do not reach that head.
    package let more: Bool

    package init(head: Head, more: Bool) {
        self.head = head
        self.more = more
    }

    /// Makes events of the changes.
    /// - Parameter position: the change that they follow.
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
                // What was trimmed meanwhile has no value to tell, and who watches must not be left
                // at the change before it.
                return step.seq < head.floor ? .outOfOrder : .damaged("messages")
            }
        }
        guard more || end.rev == head.rev else { return .damaged("changes") }
        guard !more || end.rev > position.rev else { return .stuck }
        return .part(events, end)
    }

    private var isInOrder: Bool {
        // Below it nothing may have its value from it or from behind it.
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
