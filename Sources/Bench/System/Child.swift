import Glibc

/// A process that this one started and looks after.
enum Child {
    /// Starts the program that the first word names, found as a shell finds it.
    ///
    /// - Parameter log: where what it says is appended.
    /// - Throws: `BenchError.failure` where it can't be started.
    static func spawn(_ words: [String], log: String) throws(BenchError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        let arguments = words.map { strdup($0) }
        defer { for argument in arguments { free(argument) } }
        var child: pid_t = 0
        let code = posix_spawnp(&child, words[0], &actions, nil, arguments + [nil], environ)
        guard code == 0 else { throw .failure("starting \(words[0]): errno \(code)") }
        return child
    }

    /// Whether it has ended; asked once after that.
    static func hasEnded(_ child: pid_t) -> Bool {
        var status: Int32 = 0
        return waitpid(child, &status, WNOHANG) == child
    }

    /// Ends it without a word, and waits until it is gone.
    static func kill(_ child: pid_t) {
        Glibc.kill(child, SIGKILL)
        var status: Int32 = 0
        waitpid(child, &status, 0)
    }
}
