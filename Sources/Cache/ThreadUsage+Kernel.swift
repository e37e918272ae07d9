import Glibc
import Ports

/// The account that the kernel keeps of each thread.
extension ThreadUsage {
    /// The usage of the calling thread so far.
    package static func current() -> ThreadUsage {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return ThreadUsage(
            ran: .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec), waits: waits())
    }

    /// How often the calling thread has waited.
    static func waits() -> Int {
        var usage = rusage()
        getrusage(thread, &usage)
        return usage.ru_nvcsw
    }

    /// `RUSAGE_THREAD`, which is declared only under `_GNU_SOURCE`.
    private static var thread: __rusage_who_t { __rusage_who_t(1) }
}
