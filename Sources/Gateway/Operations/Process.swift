import Configuration
import Glibc

/// What the kernel says of this process.
enum Process {
    /// Memory held, in bytes.
    static func residentBytes() -> Int {
        guard let text = try? Files.read("/proc/self/statm", limit: 4096) else { return 0 }
        let fields = text.split(separator: UInt8(ascii: " "))
        guard fields.count > 1 else { return 0 }
        return (Int(String(decoding: fields[1], as: UTF8.self)) ?? 0) * sysconf(Int32(_SC_PAGESIZE))
    }

    /// Time that all processors have spent on it, in seconds.
    static func processorSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// How many descriptors may be open.
    static func descriptorLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
        return Int(clamping: limit.rlim_cur)
    }

    /// Open descriptors.
    static func descriptors() -> Int {
        guard let folder = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(folder) }
        var count = -3  // `.`, `..` and the folder itself
        while readdir(folder) != nil { count += 1 }
        return count
    }
}
