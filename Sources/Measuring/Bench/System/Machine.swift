import CLinux
import Glibc

/// Where the two processes run, and what the generator itself uses. With two cores named, the
/// gateway has the first for itself and the generator the second; neither moves.
struct Machine: Sendable {
    let gatewayCore: Int?
    let generatorCore: Int?

    /// - Parameter cores: `"0,1"`, or `"none"` for wherever the kernel puts them.
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

    /// Does what `start` does on the gateway's core, which a process started there inherits with
    /// all its threads, and comes back to the generator's own.
    /// - Throws: what `start` throws, and `BenchError.failure` for a core that is not there.
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

    /// The calling thread goes to the generator's core.
    /// - Throws: `BenchError.failure` for a core that is not there.
    func takeGeneratorCore() throws(BenchError) { try Self.pin(generatorCore) }

    private static func pin(_ core: Int?) throws(BenchError) {
        guard let core else { return }
        guard gapless_pin(Int32(core)) == 0 else {
            throw .failure("pinning to core \(core): refused (errno \(errno); --cores none)")
        }
    }

    /// Lets both processes open as many descriptors as the system allows.
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

    /// From now on the calling thread stands behind the others where the cores are short.
    static func standBack() { _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10) }

    private static func cpuSeconds(of whom: __rusage_who_t) -> Double {
        var usage = rusage()
        getrusage(whom, &usage)
        let seconds = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec
        let rest = usage.ru_utime.tv_usec + usage.ru_stime.tv_usec
        return Double(seconds) + Double(rest) / 1e6
    }
}
