import CLinux
import Glibc

/// The kernel's figures of a process at one moment.
struct ProcessFigures: Sendable {
    /// User and system time of all its threads. `/proc/PID/stat` has the same account, but rounded
    /// to ticks of 10 ms; the process's clock is exact.
    let cpuSeconds: Double
    let residentBytes: Int

    /// - Throws: `BenchError.failure` if there is no such process.
    init(of process: pid_t) throws(BenchError) {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(process, &clock) == 0, clock_gettime(clock, &time) == 0,
            let pages = Files.text("/proc/\(process)/statm")?.split(separator: " ").dropFirst()
                .first.flatMap({ Int($0) })
        else { throw .failure("reading the figures of the gateway: it has ended") }
        cpuSeconds = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        residentBytes = pages * sysconf(Int32(_SC_PAGESIZE))
    }

    /// The sum over several processes.
    /// - Throws: `BenchError.failure` if one of them has ended.
    init(of processes: [pid_t]) throws(BenchError) {
        var (seconds, bytes) = (0.0, 0)
        for process in processes {
            let one = try ProcessFigures(of: process)
            seconds += one.cpuSeconds
            bytes += one.residentBytes
        }
        (cpuSeconds, residentBytes) = (seconds, bytes)
    }
}

/// The kernel's own memory, which includes both ends of every loopback connection.
enum KernelMemory {
    /// Bytes in slabs; nil if the kernel does not report them.
    static func slabBytes() -> Int? {
        let lines = Files.text("/proc/meminfo")?.split(separator: "\n")
        let slab = lines?.first { $0.hasPrefix("Slab:") }
        return slab.flatMap { Int($0.filter(\.isNumber)) }.map { $0 * 1024 }
    }
}
