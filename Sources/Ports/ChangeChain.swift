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
        /// Of the record: who joined with it, and who is out, or joined anew, if that is known.
        package var members: (joined: [String], gone: [String])?

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
        guard isInOrder, let members = membersTold else { return .outOfOrder }
        var events: [FeedEvent] = []
        var isRecordTold = false
        var end = position
        end.floor = head.floor
        for step in steps {
            guard step.rev == end.rev + 1 else { return .damaged("changes") }
            let after = end.mark
            (end.rev, end.mark) = (step.rev, step.mark)
            let isNew = step.seq > end.seq
            end.seq = max(end.seq, step.seq)
            if step.seq == 0 {
                guard let record else { return .damaged("record") }
                // The first brings the newest record, and so all that came to pass until then.
                let (joined, gone) = isRecordTold ? ([], []) : members
                isRecordTold = true
                events.append(
                    .record(
                        record, head: end, removed: gone, joined: joined, isNew: step.rev == 1,
                        after: after))
            } else if let message = messages[step.seq] {
                let type: DeltaType =
                    isNew ? .inserted : message.isDeleted ? .deleted : .updated
                events.append(
                    .message(conversation: conversation, type, message, head: end, after: after))
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

    /// Who joined and who is out with these changes of the record, for one that does not say who
    /// takes part; nobody where it does. nil: that is not known, since it is of a change behind
    /// these.
    private var membersTold: (joined: [String], gone: [String])? {
        guard let record, !record.namesEverybody else { return ([], []) }
        let changes = steps.filter { $0.seq == 0 }
        guard changes.last?.rev == record.rev else { return nil }
        var gone: [String] = []
        // In their order, with the change by which each is in.
        var joined: [String] = []
        var changeOfJoining: [ID: Int] = [:]
        for change in changes {
            guard let members = change.members else { return nil }
            for user in members.gone where changeOfJoining.removeValue(forKey: user.id) == nil {
                gone.append(user)
            }
            for user in members.joined { changeOfJoining[user.id] = change.rev }
        }
        for change in changes {
            joined += (change.members?.joined ?? []).filter {
                changeOfJoining[$0.id] == change.rev
            }
        }
        return (joined, gone)
    }

    private var isInOrder: Bool {
        // No earlier change may have a value from this rev or a later one, and none one from behind
        // this part: the log may be put back before the next part is read.
        var bound = (steps.last?.rev ?? 0) + 1
        if let record, record.rev >= bound { return false }
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
