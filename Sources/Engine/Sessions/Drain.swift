import Chat
import Wire

/// Sending every client away, each at a moment of its own: `goaway` tells all of them at once when
/// to come back, and each connection is closed in its turn.
struct Drain {
    /// Who is still to be closed, the last one first.
    var closes: [(at: Timestamp, session: SessionID)]
    let deadline: Timestamp
    /// When the last client comes back.
    let lastReturn: Timestamp
}

/// Whether the process that follows can serve while this one drains.
package enum Succession: Sendable {
    /// It can: each client is closed in the slot in which it comes back, and is never away.
    case beside
    /// It can't open the file before this process has ended: all clients are sent away soon, and
    /// their slots begin when the next process is there.
    case after

    /// Of the window of the slots, the part in which the connections are closed, one by one.
    static let closing: Int64 = 10
    /// Of the window, the part after which this process ends, whoever has not taken all by then.
    static let parting: Int64 = 5
    /// What the next process takes until it serves, in milliseconds. It opens a file and a port,
    /// some 100 ms; a service manager takes as long to start it.
    static let arrival: Int64 = 1000
}
