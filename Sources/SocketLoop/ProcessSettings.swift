import Glibc

/// What a process that serves sockets sets for itself, once.
package enum ProcessSettings {
    /// libwebsockets keeps tables with an entry for each descriptor that could be open, and some
    /// systems (containers above all) put the hard limit at a billion. A quarter of a million
    /// connections is beyond what one loop serves.
    static let descriptorLimit: rlim_t = 262_144

    /// How many descriptors may be open.
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
        // A peer that is gone is an error of the write, and not a signal.
        signal(SIGPIPE, SIG_IGN)
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = min(limit.rlim_max, descriptorLimit)
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }()

    /// What the process does with SIGPIPE.
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

    /// Keeps SIGPIPE from this thread, where a write to a peer that is gone would raise it.
    /// - Returns: What was kept from it before.
    static func holdPipeSignal() -> sigset_t {
        var (set, before) = (sigset_t(), sigset_t())
        sigemptyset(&set)
        sigaddset(&set, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &set, &before)
        return before
    }

    /// Keeps from this thread what was kept from it before.
    static func restore(_ mask: sigset_t) {
        var mask = mask
        pthread_sigmask(SIG_SETMASK, &mask, nil)
    }
}
