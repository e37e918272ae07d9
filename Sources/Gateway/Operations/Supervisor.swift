import Configuration
import Glibc

/// The service manager that started the process and wants to hear from it: systemd with
/// `Type=notify`, or whoever speaks its protocol, one datagram to `$NOTIFY_SOCKET`. Used on the
/// loop: a loop that stalls does not beat, and the manager starts it anew.
struct Supervisor {
    private let address: sockaddr_un
    private let addressLength: socklen_t
    /// How often it wants to hear of us, in milliseconds; nil if it has no watchdog.
    private let watchdog: Int64?
    private var lastBeat = Int64.min

    /// The one that the environment names.
    /// - Returns: nil if it names none, or one that can't be reached.
    init?(environment: (String) -> String?, process: Int32 = getpid()) {
        guard let name = environment("NOTIFY_SOCKET"), name.first == "/" || name.first == "@"
        else { return nil }
        // An abstract name begins with a zero byte, and `@` stands for it.
        var path = Array(name.utf8)
        if name.first == "@" { path[0] = 0 }
        var address = sockaddr_un()
        // The kernel reads a path to its zero byte, which has to fit too.
        guard path.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        self.address = address
        addressLength = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
        let isForUs = environment("WATCHDOG_PID").map { Int32($0) == process } ?? true
        let microseconds = environment("WATCHDOG_USEC").flatMap { Int64($0) } ?? 0
        // Half of what it waits: a beat may come late.
        watchdog = isForUs && microseconds > 0 ? max(1, microseconds / 2000) : nil
    }

    /// That of this process.
    static func ofProcess() -> Supervisor? {
        Supervisor(environment: { getenv($0).map { String(cString: $0) } })
    }

    /// The process serves.
    func ready(_ status: String) { tell("READY=1\nSTATUS=\(status)") }

    /// It reads its configuration anew; `ready` ends that.
    func reloading() { tell("RELOADING=1\nMONOTONIC_USEC=\(Self.milliseconds() * 1000)") }

    /// It drains.
    func stopping() { tell("STOPPING=1\nSTATUS=draining") }

    /// The loop turns. To be called often; tells the manager as often as it wants to hear.
    mutating func beat(_ status: () -> String) {
        guard let watchdog else { return }
        let now = Self.milliseconds()
        guard lastBeat == .min || now - lastBeat >= watchdog else { return }
        lastBeat = now
        tell("WATCHDOG=1\nSTATUS=\(status())")
    }

    /// One datagram. A manager that does not take it is not waited for.
    private func tell(_ text: String) {
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        withUnsafePointer(to: address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
                _ = sendto(descriptor, bytes, bytes.count, flags, $0, addressLength)
            }
        }
    }

    private static func milliseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
