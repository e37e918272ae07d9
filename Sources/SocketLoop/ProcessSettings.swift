import Glibc

/// Process-wide settings of a program that serves sockets, made once.
package enum ProcessSettings {
    /// The most open descriptors. libwebsockets has tables with an entry for each possible
    /// descriptor, and some systems (above all containers) set the hard limit to a billion. A
    /// quarter of a million connections is beyond what one loop serves.
    static let descriptorLimit: rlim_t = 262_144

    /// How many descriptors the process may open.
    package static var descriptors: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return .max
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// Idempotent.
    static func prepare() {
        _ = once
    }

    private static let once: Void = {
        // A write to a closed connection should fail with an error, not raise a signal.
        signal(SIGPIPE, SIG_IGN)
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = min(limit.rlim_max, descriptorLimit)
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }()

    /// The process's handling of SIGPIPE.
    static var pipeSignal: sigaction {
        get {
            var action = sigaction()
            sigaction(SIGPIPE, nil, &action)
            return action
        }
        set {
            var action = newValue
            sigaction(SIGPIPE, &action, nil)
        }
    }

    /// Blocks SIGPIPE in this thread, where a write to a closed connection would raise it.
    /// - Returns: The previous signal mask.
    static func holdPipeSignal() -> sigset_t {
        var (set, before) = (sigset_t(), sigset_t())
        sigemptyset(&set)
        sigaddset(&set, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &set, &before)
        return before
    }

    /// Restores the previous signal mask.
    static func restore(_ mask: sigset_t) {
        var mask = mask
        pthread_sigmask(SIG_SETMASK, &mask, nil)
    }
}
