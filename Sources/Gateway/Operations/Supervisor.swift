import Configuration
import Glibc

/// The service manager that started the process: systemd with `Type=notify`, or another that speaks
/// its protocol, one datagram to `$NOTIFY_SOCKET`. Used on the loop: if the loop stalls, the
/// watchdog gets no beat and the manager restarts the process.
struct Supervisor {
    private let address: sockaddr_un
    private let addressLength: socklen_t
    /// The interval of beats, in milliseconds; nil without a watchdog.
    private let watchdog: Int64?
    private var lastBeat = Int64.min

    /// Reads the manager's address from the environment.
    /// - Returns: nil if there is none, or it is invalid.
    init?(environment: (String) -> String?, process: Int32 = getpid()) {
        guard let name = environment("NOTIFY_SOCKET"), name.first == "/" || name.first == "@"
        else { return nil }
        // An abstract name begins with a zero byte, and `@` stands for it.
        var path = Array(name.utf8)
        if name.first == "@" { path[0] = 0 }
        var address = sockaddr_un()
        // The kernel reads a path up to its zero byte, which must fit too.
        guard path.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        self.address = address
        addressLength = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
        let isForUs = environment("WATCHDOG_PID").map { Int32($0) == process } ?? true
        let microseconds = environment("WATCHDOG_USEC").flatMap { Int64($0) } ?? 0
        // Half of its deadline: a beat may come late.
        watchdog = isForUs && microseconds > 0 ? max(1, microseconds / 2000) : nil
    }

    /// The manager of this process.
    static func ofProcess() -> Supervisor? {
        Supervisor(environment: { getenv($0).map { String(cString: $0) } })
    }

    /// The process serves.
    func ready(_ status: String) { tell("READY=1\nSTATUS=\(status)") }

    /// The process reads its configuration again; `ready` ends that.
    func reloading() { tell("RELOADING=1\nMONOTONIC_USEC=\(Self.milliseconds() * 1000)") }

    /// The process drains.
    func stopping() { tell("STOPPING=1\nSTATUS=draining") }

    /// The loop runs. To be called often; sends a beat once per interval.
    mutating func beat(_ status: () -> String) {
        guard let watchdog else { return }
        let now = Self.milliseconds()
        guard lastBeat == .min || now - lastBeat >= watchdog else { return }
        lastBeat = now
        tell("WATCHDOG=1\nSTATUS=\(status())")
    }

    /// Sends one datagram, without waiting for a manager that does not take it.
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
