import Glibc

/// What a process that serves sockets sets for itself, once.
enum ProcessSettings {
    /// libwebsockets keeps tables with an entry for each descriptor that could be open, and some
    /// systems (containers above all) put the hard limit at a billion. A quarter of a million
    /// connections is beyond what one loop serves.
    static let descriptorLimit: rlim_t = 262_144

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
}
