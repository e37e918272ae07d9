import CLinux
import Glibc

/// What the kernel knows of a process at one moment.
struct ProcessFigures: Sendable {
    /// User and system time of all its threads. The same account as in `/proc/PID/stat`, which
    /// rounds it to ticks of 10 ms; the clock of the process does not.
    let cpuSeconds: Double
    let residentBytes: Int

    /// - Throws: `BenchError.failure` where there is no such process.
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

    /// Of several processes together.
    /// - Throws: `BenchError.failure` where one of them is gone.
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

/// What the kernel's own tables take, both ends of every loopback connection included.
enum KernelMemory {
    /// Bytes in slabs, nil where the kernel does not say.
    static func slabBytes() -> Int? {
        let lines = Files.text("/proc/meminfo")?.split(separator: "\n")
        let slab = lines?.first { $0.hasPrefix("Slab:") }
        return slab.flatMap { Int($0.filter(\.isNumber)) }.map { $0 * 1024 }
    }
}
