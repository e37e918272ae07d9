import Chat
import Wire

/// A drain in progress: `goaway` tells all clients at once when to come back, and each connection
/// is closed in its own slot.
struct Drain {
    /// The sessions still to be closed, the last one first.
    var closes: [(at: Timestamp, session: SessionID)]
    let deadline: Timestamp
    /// When the last client comes back.
    let lastReturn: Timestamp
}

/// Whether the successor process can serve while this one drains.
package enum Succession: Sendable {
    /// It can: each client is closed in the slot in which it returns, so it is never without a
    /// gateway.
    case beside
    /// It can't open the file before this process ends: all clients are closed early, and their
    /// slots begin when the successor serves.
    case after

    /// The connections are closed one by one within the window divided by this.
    static let closing: Int64 = 10
    /// This process ends after the window divided by this, whatever is still unsent.
    static let parting: Int64 = 5
    /// Milliseconds until the successor serves. Opening a file and a port takes some 100 ms; a
    /// service manager takes as long to start the process.
    static let arrival: Int64 = 1000
}
