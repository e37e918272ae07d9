import CWebSockets
import Synchronization

/// The log of libwebsockets, which is one for the whole process, as a Swift closure. Only errors
/// and warnings: at the next level the library writes a line for each change of a socket's events.
enum LibraryLog {
    /// In a structure, because a closure that is itself the value of a mutex is wrapped once more
    /// by every access.
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
        // Called outside the lock, so that a log may do what it likes.
        let sink = sink.withLock { $0 }
        sink?.log("libwebsockets: \(text)")
    }
}

/// A line of the library's log, with its line end.
private func libraryLogged(_ level: Int32, _ line: UnsafePointer<CChar>?) {
    if let line { LibraryLog.write(String(cString: line)) }
}
