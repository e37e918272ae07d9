import CLinux
import Glibc

/// A process that this one started.
enum Child {
    /// Starts the program named by the first word, found as a shell finds it.
    ///
    /// - Parameters:
    ///   - log: the file to which its output is appended.
    ///   - input: its standard input; empty if omitted.
    ///   - output: its standard output; the log if omitted. Errors go to the log.
    ///   - variables: additional `NAME=VALUE`, for this process alone: tests start several at a
    ///     time.
    /// - Throws: `BenchError.failure` if it can't be started.
    static func spawn(
        _ words: [String], log: String, input: Int32? = nil, output: Int32? = nil,
        adding variables: [String] = []
    ) throws(BenchError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        if let input { posix_spawn_file_actions_adddup2(&actions, input, 0) }
        if let output { posix_spawn_file_actions_adddup2(&actions, output, 1) }
        // A thread of a pool may have blocked the signals that are to end the program.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let arguments = words.map { strdup($0) }
        let environment = (Self.environment() + variables).map { strdup($0) }
        defer { for word in arguments + environment { free(word) } }
        var child: pid_t = 0
        let code = posix_spawnp(
            &child, words[0], &actions, &attributes, arguments + [nil], environment + [nil])
        guard code == 0 else { throw .failure("starting \(words[0]): errno \(code)") }
        return child
    }

    private static func environment() -> [String] {
        var words: [String] = []
        while let word = environ[words.count] { words.append(String(cString: word)) }
        return words
    }

    /// Its exit code, 128 + n if signal n ended it; nil while it runs. Must not be called again
    /// after its end.
    static func exitStatus(_ child: pid_t) -> Int32? {
        var status: Int32 = 0
        guard waitpid(child, &status, WNOHANG) == child else { return nil }
        return code(of: status)
    }

    /// Waits for its end, and returns its exit code, as `exitStatus`.
    static func wait(_ child: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        return code(of: status)
    }

    private static func code(of status: Int32) -> Int32 {
        let signal = status & 0x7F
        return signal == 0 ? status >> 8 & 0xFF : 128 + signal
    }

    /// Kills it, and waits for its end.
    static func kill(_ child: pid_t) {
        Glibc.kill(child, SIGKILL)
        var status: Int32 = 0
        waitpid(child, &status, 0)
    }
}
