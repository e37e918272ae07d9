import CWebSockets
import Synchronization

/// Passes the log of libwebsockets, which is global to the process, to a Swift closure. Only errors
/// and warnings: at the next level the library logs each change of a socket's events.
enum LibraryLog {
    /// A struct, because a mutex re-wraps a closure that is directly its value on every access.
    private struct Sink {
        let log: @Sendable (String) -> Void
    }

    private static let sink = Mutex<Sink?>(nil)

    static func route(to log: @escaping @Sendable (String) -> Void) {
        sink.withLock { $0 = Sink(log: log) }
        lws_set_log_level(Int32(LLL_ERR | LLL_WARN), libraryLogged)
    }

    static func write(_ line: String) {
        var text = Substring(line)
        while text.last?.isWhitespace == true { text = text.dropLast() }
        // Called outside the lock, so that the closure may do anything.
        let sink = sink.withLock { $0 }
        sink?.log("libwebsockets: \(text)")
    }
}

/// One line of the library's log, with its line end.
private func libraryLogged(_ level: Int32, _ line: UnsafePointer<CChar>?) {
    if let line { LibraryLog.write(String(cString: line)) }
}
