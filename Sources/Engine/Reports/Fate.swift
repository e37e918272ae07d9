/// What became of a message, as `explain` reports it. The first nine are of the message itself, the
/// others of the message at one reader, which is one connection. `deploy/reference/protocol.md` has
/// the list.
package enum Fate: String, Sendable, Hashable, CaseIterable {
    case unknown, earlier, trimmed, waiting, refused, repeated, committed, unwatched, told
    case written
    case writtenLate = "written_late"
    case queued, coalesced, owed, filled, resumed, held, fetched, below, watching, left, discarded
    case leftOut = "left_out"
    case readRefused = "read_refused"
    case notWatching = "not_watching"
    case notParticipant = "not_participant"
    case notConnected = "not_connected"

    /// In plain words, for an operator who investigates a message.
    package var meaning: String {
        switch self {
        case .unknown: "the journal does not know it, and the origin has none or could not be asked"
        case .earlier: "it happened before the journal begins"
        case .trimmed: "the origin no longer keeps it"
        case .waiting: "the origin was asked to write it and has not answered"
        case .refused: "it was refused, and is not in the log"
        case .repeated: "it had been sent before; the sender was given what is in the log"
        case .committed: "it is in the log; the feed has not told of it here"
        case .unwatched: "it is in the log; nobody watched the conversation here"
        case .told: "it is in the log, and who watches was told of it"
        case .written: "written to the socket within 0.1 s"
        case .writtenLate: "waited for a slow reader, and was then written to the socket"
        case .queued: "waits until the reader's socket takes more"
        case .coalesced: "the reader was too slow: it became part of a gap that the reader is told"
        case .owed: "the reader was told that it is missing, and will be sent it"
        case .filled: "it was missing, and was sent when the gateway had it"
        case .resumed: "the answer to the subscription brought it"
        case .held: "the reader said that it holds it, and the log agrees"
        case .fetched: "the reader fetched it with a page"
        case .below: "older than what the reader asked for when it subscribed"
        case .watching: "the reader watches and was not told of it yet"
        case .left: "the subscription ended before it was told"
        case .discarded: "waited for a slow reader when its connection ended"
        case .leftOut: "did not fit into the answer: the reader was told a gap, and has to fetch it"
        case .readRefused: "the reader asked for the conversation and was refused"
        case .notWatching: "the reader is connected and does not watch the conversation"
        case .notParticipant: "the user does not take part in the conversation"
        case .notConnected: "the user has had no connection since the journal begins"
        }
    }

    /// Whether the reader has it, as far as the gateway can know.
    package var isShown: Bool {
        switch self {
        case .written, .writtenLate, .filled, .resumed, .held, .fetched: true
        case .unknown, .earlier, .trimmed, .waiting, .refused, .repeated, .committed, .unwatched,
            .told, .queued, .coalesced, .owed, .below, .watching, .left, .discarded, .leftOut,
            .readRefused, .notWatching, .notParticipant, .notConnected:
            false
        }
    }
}
