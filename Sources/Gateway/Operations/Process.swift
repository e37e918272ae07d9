import Configuration
import Glibc

/// Figures of this process, from the kernel.
enum Process {
    /// Resident memory, in bytes.
    static func residentBytes() -> Int {
        guard let text = try? Files.read("/proc/self/statm", limit: 4096) else { return 0 }
        let fields = text.split(separator: UInt8(ascii: " "))
        guard fields.count > 1 else { return 0 }
        return (Int(String(decoding: fields[1], as: UTF8.self)) ?? 0) * sysconf(Int32(_SC_PAGESIZE))
    }

    /// CPU time, in seconds.
    static func processorSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Whether the process may use only one core.
    static var isOnOneCore: Bool {
        guard let text = try? Files.read("/proc/self/status", limit: 65_536) else { return false }
        let name = Array("Cpus_allowed_list:".utf8)
        for line in text.split(separator: UInt8(ascii: "\n")) where line.starts(with: name) {
            // A list such as 0-3,7.
            return !line.contains { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ",") }
        }
        return false
    }

    /// The limit of open file descriptors.
    static func descriptorLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
        return Int(clamping: limit.rlim_cur)
    }

    /// A gateway with fewer could not serve anybody: some are for its files and the origin, and the
    /// public listener spares the last ones.
    static let neededDescriptors = 128

    /// Why this process could not serve; nil if it can.
    static var descriptorProblem: String? {
        let limit = descriptorLimit()
        guard limit < neededDescriptors else { return nil }
        return
            "only \(limit) descriptors may be open (needed: \(neededDescriptors) and one for each"
            + " connection; raise LimitNOFILE, ulimit -n)"
    }

    /// Open file descriptors.
    static func descriptors() -> Int {
        guard let folder = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(folder) }
        var count = -3  // `.`, `..` and the folder itself
        while readdir(folder) != nil { count += 1 }
        return count
    }
}
