import Glibc

/// One listener of the gateway under test: an IPv4 address and a port.
package struct Endpoint: Sendable, Hashable {
    /// For `127.0.0.1`, the first number is the highest byte.
    let host: UInt32
    package let port: Int

    /// A port of this machine.
    static func loopback(_ port: Int) -> Endpoint { Endpoint(host: 0x7F00_0001, port: port) }

    private init(host: UInt32, port: Int) {
        self.host = host
        self.port = port
    }

    /// Parses `http://127.0.0.1:8000`; accepts `ws`, `localhost`, and a path too.
    package init?(url: String) {
        var rest = url[...]
        for scheme in ["http://", "ws://"] where rest.hasPrefix(scheme) {
            rest = rest.dropFirst(scheme.count)
        }
        rest = rest.prefix { $0 != "/" }
        let parts = rest.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2, let name = parts.first else { return nil }
        let numbers = (name == "localhost" ? "127.0.0.1" : name)
            .split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        guard numbers.count == 4, !numbers.contains(nil) else { return nil }
        host = numbers.reduce(0) { $0 << 8 | UInt32($1 ?? 0) }
        guard let port = parts.count == 1 ? 80 : UInt16(parts[1]), port > 0 else { return nil }
        self.port = Int(port)
    }

    var isLoopback: Bool { host >> 24 == 127 }

    /// The value of a client's `Host` field.
    var authority: String {
        let numbers = [24, 16, 8, 0].map { String(host >> UInt32($0) & 0xFF) }
        return "\(numbers.joined(separator: ".")):\(port)"
    }
}
