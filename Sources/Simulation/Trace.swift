import Engine
import JSON
import Ports
import Wire

/// Short descriptions of the engine's questions and inputs, for the trace of a run.
extension Query {
    /// The conversation, if the engine itself checks the head of the answer.
    var boundTo: String? {
        switch self {
        case .page(let id, _), .catchUp(let id, _, _, _): id
        case .load, .view, .ids, .conversations, .conversationsSince, .participants, .listed,
            .place, .confirm:
            nil
        }
    }

    var line: String {
        switch self {
        case .load(let id): "load \(id)"
        case .page(let id, _): "page of \(id)"
        case .catchUp(let id, _, _, _): "catch-up of \(id)"
        case .view(let id, _): "view of \(id)"
        case .ids(let id, _): "ids of \(id)"
        case .conversations(let user, _, _, _): "list of \(user)"
        case .conversationsSince(let user, let token, _, _):
            "list of \(user) since \(token ?? "ever")"
        case .participants(let id, _): "participants of \(id)"
        case .listed(let user): "heads of the list of \(user)"
        case .place(let id, _): "place in \(id)"
        case .confirm(let id, _): "confirmation of \(id)"
        }
    }
}

extension FeedEvent {
    var line: String {
        switch self {
        case .message(let id, let type, let message, let head, _):
            "\(type) \(message.seq) of \(id), \(head.epoch) rev \(head.rev)"
        case .record(let record, let head, let removed, let joined, let isNew, _):
            "record of \(record.id), \(head.epoch) rev \(head.rev), \(record.participants),"
                + " removed \(removed), joined \(joined)\(isNew ? ", new" : "")"
        case .deleted(let id, let epoch, _): "end of \(id), \(epoch)"
        case .read(let id, let user, let seq): "\(user) has read \(id) to \(seq)"
        case .listed(let user, let id, let isIn): "\(id) \(isIn ? "into" : "out of") \(user)"
        case .typing(let id, let user, _, _): "\(user) types in \(id)"
        }
    }
}

extension Operation {
    var line: String {
        switch self {
        case .send(let id, let messages): "send \(messages.count) to \(id)"
        case .edit(let id, let message, _): "edit \(message) in \(id)"
        case .react(let id, let message, let call):
            "react to \(message) in \(id) with \(call.key), \(call.isOn)"
        case .delete(let id, let message, _): "delete \(message) in \(id)"
        case .create(let id, _, _): "create \(id ?? "one")"
        case .findDistinct: "find the distinct one"
        case .put(let id, _): "put \(id)"
        case .update(let id, _): "update \(id)"
        case .addParticipants(let id, let users): "add \(users.map(\.user)) to \(id)"
        case .removeParticipants(let id, let users): "remove \(users) from \(id)"
        case .addAdmins(let id, _): "add admins to \(id)"
        case .removeAdmins(let id, _): "remove admins from \(id)"
        case .deleteConversation(let id): "delete \(id)"
        case .leave(let id): "leave \(id)"
        case .markRead(let id, let seq): "mark \(id) read to \(seq)"
        }
    }
}

extension ReceivedFrame {
    /// Deltas of messages in an event.
    var deltas: Int {
        guard case .text(let payload) = self,
            let frame = RawJSON(unchecked: payload).object, frame["event"]?.string == "messages"
        else { return 0 }
        return frame["deltas"]?.array?.count ?? 0
    }
}

extension SplitMix64 {
    /// The elements in random order.
    mutating func shuffled<Element>(_ elements: [Element]) -> [Element] {
        var rest = elements
        var shuffled: [Element] = []
        while !rest.isEmpty { shuffled.append(rest.remove(at: upTo(rest.count))) }
        return shuffled
    }
}

extension RemoteLink.Output {
    var line: String {
        switch self {
        case .event(let event): event.line
        case .rung(let id): "\(id) ring"
        case .subscribed(let id, let generation): "\(id) acknowledged in \(generation)"
        case .subscribedList(let user): "the list of \(user) acknowledged"
        case .lapsed(let generation): "the end of \(generation)"
        case .state(let state): "\(state)"
        }
    }
}

extension Gateway.Fetch.Subject {
    var line: String {
        switch self {
        case .history(let query): "\(query)"
        case .epochFork(let head, let id): "to disown \(id) at \(head.rev) \(head.mark)"
        }
    }

    var isVerification: Bool {
        if case .history(.heads) = self { true } else { false }
    }

    /// The conversation, if one answer must serve everyone who needs it.
    var shared: String? {
        guard case .history(let query) = self else { return nil }
        if case .changes(let conversation, _, _, let limit, _) = query.bare, limit > 1 {
            return conversation
        }
        if case .page(let conversation, let request) = query.bare,
            case .seq = request.before, case .seq = request.after
        {
            return conversation
        }
        return nil
    }
}

extension Result<HistoryAnswer, RequestError> {
    var line: String {
        switch self {
        case .failure(let error): "\(error.code)"
        case .success(.conversation(let view)): "conversation at \(view.head)"
        case .success(.conversations(let list)): "\(list.total) conversations"
        case .success(.conversationsSince(let changes)):
            "\(changes.conversations.count) of \(changes.total) conversations changed"
        case .success(.listed(let list)): "\(list.heads.count) in the list"
        case .success(.message(let message)): "message \(message.seq)"
        case .success(.page(let page)): "\(page.messages.map(\.seq)) at \(page.head)"
        case .success(.changes(let changes)):
            "\(changes.messages.map { "\($0.seq)@\($0.rev)" })"
                + " \(changes.record.map { "record@\($0.rev)" } ?? "")"
                + " up to \(changes.upTo) at \(changes.head)"
        case .success(.heads(let heads, _)):
            "heads \(heads.byText.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })"
        case .success(.participants(let list)): "\(list.total) participants"
        case .success(.reactions(let list)): "\(list.total) reactions"
        case .success(.mentions(let list)): "\(list.places.map(\.seq)) of \(list.total) mentions"
        case .success(.ownReactions(let own)): "own reactions to \(own.count)"
        }
    }
}

extension StoreWrite {
    var line: String {
        switch self {
        case .begin(let record, let head): "begin \(record.id) at \(head)"
        case .message(_, let message, _): "\(message.seq)@\(message.rev)"
        case .record(let record, _, _): "record@\(record.rev)"
        case .stand(_, let head, let seen):
            "stand at \(head)\(seen.map { " seen \($0)" } ?? "")"
        case .hold(_, let places, let asOf): "hold \(places) as of \(asOf)"
        case .changesFrom(_, let rev): "changes from \(rev)"
        case .jump(_, _, let head): "jump to \(head)"
        case .trim: "trim"
        case .drop(let id): "drop \(id)"
        }
    }
}

extension UpstreamCall {
    /// Whether it only compares heads.
    var isVerification: Bool {
        if case .ask(.heads, _) = self { true } else { false }
    }
}
