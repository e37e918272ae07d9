import Glibc
import Synchronization

/// Ctrl-C and SIGTERM. They only set a flag; waiting code checks it and stops in order, so that the
/// gateway and its files go with the generator.
enum Interruption {
    private static let mark = Atomic<Bool>(false)

    static func prepare() {
        // Initialized before a signal can come: a handler must not be the first to use it.
        mark.store(false, ordering: .relaxed)
        signal(SIGINT, raiseInterruption)
        signal(SIGTERM, raiseInterruption)
        // A write to a closed connection should fail with an error, not raise a signal.
        signal(SIGPIPE, SIG_IGN)
    }

    fileprivate static func raise() { mark.store(true, ordering: .relaxed) }

    /// - Throws: `BenchError.failure` once a signal has come.
    static func check() throws(BenchError) {
        if mark.load(ordering: .relaxed) { throw .failure("interrupted") }
    }
}

private func raiseInterruption(_ signal: Int32) { Interruption.raise() }
