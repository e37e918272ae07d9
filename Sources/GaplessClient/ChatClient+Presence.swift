import ClientCore
import Wire

/// Who is there.
extension ChatClient {
    /// Says how the user is there by this client, at once and in each further session; the first
    /// one is `Options.presence`. A user is present if any client of theirs says so, else away if
    /// any does. With `hidden` the user looks as if this client were not connected. A gateway with
    /// `clients.presence: no` refuses it, and shows nobody to anybody.
    public func setPresence(_ presence: ConnectionPresence) {
        runner.post { $0.perform { session, _ in session.setPresence(presence) } }
    }

    /// Watches whether users are there, now and whenever a session begins, in place of those
    /// watched before: `presences` tells of them.
    /// - Parameter watch: Conversations, and which of those who take part; nobody, to end it.
    public func watchPresence(_ watch: [PresenceWatch]) {
        runner.post { $0.perform { session, _ in session.watchPresence(watch) } }
    }

    /// Those whom `watchPresence` named, from now on: first as they are known, then the whole list
    /// whenever it is another.
    public func presences() -> Updates<PresenceList> {
        listen(
            { [$0.present.presence] }, { $0.listenToPresence($1) },
            { $0.endListeningToPresence($1) })
    }
}
