import CLinux
import Glibc
import Synchronization

/// A child process whose output goes to a file; it inherits no other descriptor. Children that are
/// left when the tests exit are killed with them.
package final class ChildProcess {
    package let processID: pid_t
    private var reaped: Int32?

    private static let living = Mutex<Set<pid_t>>([])
    private static let killsAtExit: Void = {
        atexit {
            for child in ChildProcess.living.withLock({ $0 }) { Glibc.kill(child, SIGKILL) }
        }
    }()

    /// - Parameter log: The file that standard output and error are appended to.
    /// - Throws: `TestFailure` where the program can't be started.
    package init(_ program: String, _ arguments: [String], log: String) throws {
        _ = Self.killsAtExit
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        // Tests run beside each other. A child that kept a neighbour's descriptor would keep its
        // port in use, or a pipe open, for as long as it lives.
        posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        let words = ([program] + arguments).map { strdup($0) }
        defer { for word in words { free(word) } }
        var child: pid_t = 0
        // The test runner may ignore or block signals that the gateway lives by.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        let flags = Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)
        posix_spawnattr_setflags(&attributes, flags)
        let code = posix_spawn(&child, program, &actions, &attributes, words + [nil], environ)
        guard code == 0 else { throw TestFailure("start \(program): errno \(code)") }
        processID = child
        Self.living.withLock { _ = $0.insert(child) }
    }

    deinit { kill() }

    /// The exit code, or 128 + n where signal n ended it; nil while it runs.
    package var exitStatus: Int32? {
        if reaped == nil { reap(WNOHANG) }
        return reaped
    }

    package func send(_ signal: Int32) {
        if exitStatus == nil { Glibc.kill(processID, signal) }
    }

    /// Ends it at once, and waits for that.
    package func kill() {
        send(SIGKILL)
        if reaped == nil { reap(0) }
    }

    private func reap(_ options: Int32) {
        var status: Int32 = 0
        guard waitpid(processID, &status, options) == processID else { return }
        let signal = status & 0x7F
        reaped = signal == 0 ? (status >> 8) & 0xFF : 128 + signal
        Self.living.withLock { _ = $0.remove(processID) }
    }
}
