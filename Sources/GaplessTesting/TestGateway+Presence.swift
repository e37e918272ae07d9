import Chat
import ClientCore
import JSON
import Wire

/// Who is there, as a `TestGateway` answers it: a user is absent as soon as no client of theirs is
/// connected, and nobody is ever unknown.
extension TestGateway {
    /// Answers whom a connection watches from here on.
    func watched(_ request: Request, _ at: Int) -> Answer {
        sessions[at].watched = (request.params["watch"]?.array ?? []).compactMap { value in
            guard let entry = value.object, let conversation = entry["conversation"]?.string else {
                return nil
            }
            let users = entry["users"]?.array?.compactMap(\.string)
            return PresenceWatch(conversation: conversation, users: users)
        }
        var answer = JSONWriter()
        answer.beginObject()
        answer.key("presence")
        answer.presence(shown(to: sessions[at]))
        answer.endObject()
        return .result(String(decoding: answer.bytes, as: UTF8.self))
    }

    /// Those whom a connection watches, each once.
    private func shown(to session: Session) -> [UserPresence] {
        var shown: [UserPresence] = []
        for entry in session.watched {
            let people = logs[entry.conversation]?.participants ?? []
            let takesPart = people.contains(session.user)
            for user in entry.users ?? (takesPart ? people : []) {
                let known = takesPart && people.contains(user) ? presences[user] : nil
                let one = known ?? UserPresence(user: user, state: .absent)
                if let known, let place = shown.firstIndex(where: { $0.user == user }) {
                    shown[place] = known
                } else if !shown.contains(where: { $0.user == user }) {
                    shown.append(one)
                }
            }
        }
        return shown
    }

    /// Tells those who watch the user, if the user is otherwise there than before.
    func tellPresence(of user: String) {
        let connections = sessions.filter { $0.user == user }.map(\.presence)
        let state: PresenceState =
            connections.contains(.present)
            ? .present : connections.contains(.away) ? .away : .absent
        guard presences[user]?.state ?? .absent != state else { return }
        presences[user] = UserPresence(user: user, state: state, since: network.now.clock)
        for session in sessions {
            let changes = shown(to: session).filter { $0.user == user && $0.state == state }
            guard !changes.isEmpty else { continue }
            session.link.send(ServerFrame.presence(changes))
        }
    }
}
