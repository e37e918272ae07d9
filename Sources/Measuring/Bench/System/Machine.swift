import CLinux
import Glibc

/// The cores of the two processes, and the generator's own usage. If two cores are named, the
/// gateway is pinned to the first and the generator to the second.
struct Machine: Sendable {
    let gatewayCore: Int?
    let generatorCore: Int?

    /// - Parameter cores: `"0,1"`, or `"none"` to leave the choice to the kernel.
    /// - Throws: `BenchError.usage`
    init(cores: String) throws(BenchError) {
        if cores == "none" {
            (gatewayCore, generatorCore) = (nil, nil)
            return
        }
        let numbers = cores.split(separator: ",").compactMap { Int($0) }
        guard numbers.count == 2, numbers.allSatisfy({ (0..<1024).contains($0) }) else {
            throw .usage("--cores: \(cores) is not accepted (two core numbers, or none)")
        }
        (gatewayCore, generatorCore) = (numbers[0], numbers[1])
    }

    /// Runs `start` on the gateway's core, which a process started there inherits with all its
    /// threads, then returns to the generator's core.
    /// - Throws: the errors of `start`, and `BenchError.failure` for a core that does not exist.
    func onGatewayCore<Value>(
        _ start: () throws(BenchError) -> Value
    ) throws(BenchError) -> Value {
        try Self.pin(gatewayCore)
        let outcome: Result<Value, BenchError>
        do throws(BenchError) {
            outcome = .success(try start())
        } catch {
            outcome = .failure(error)
        }
        try Self.pin(generatorCore)
        return try outcome.get()
    }

    /// Pins the calling thread to the generator's core.
    /// - Throws: `BenchError.failure` for a core that does not exist.
    func takeGeneratorCore() throws(BenchError) { try Self.pin(generatorCore) }

    private static func pin(_ core: Int?) throws(BenchError) {
        guard let core else { return }
        guard gapless_pin(Int32(core)) == 0 else {
            throw .failure("pinning to core \(core): refused (errno \(errno); --cores none)")
        }
    }

    /// Raises the limit on descriptors to the hard limit, for both processes.
    static func raiseDescriptorLimit() {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(resource, &limit)
    }

    /// User and system time of the generator so far, in seconds.
    static func ownCPUSeconds() -> Double {
        cpuSeconds(of: __rusage_who_t(RUSAGE_SELF.rawValue))
    }

    /// User and system time of the calling thread so far, in seconds.
    static func threadCPUSeconds() -> Double { cpuSeconds(of: thread) }

    /// `RUSAGE_THREAD`, which is declared only under `_GNU_SOURCE`.
    private static let thread = __rusage_who_t(1)

    /// Lowers the calling thread's priority, so that others go first when cores are scarce.
    static func standBack() { _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10) }

    private static func cpuSeconds(of whom: __rusage_who_t) -> Double {
        var usage = rusage()
        getrusage(whom, &usage)
        let seconds = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec
        let rest = usage.ru_utime.tv_usec + usage.ru_stime.tv_usec
        return Double(seconds) + Double(rest) / 1e6
    }
}
