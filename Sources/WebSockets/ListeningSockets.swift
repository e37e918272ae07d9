import Glibc

/// The listening sockets in this network namespace, from `/proc/net/tcp`. Read at most a few times
/// a second, while a process hands over to a successor.
enum ListeningSockets {
    private static let tables = ["/proc/net/tcp", "/proc/net/tcp6"]
    /// The state of a listening socket: `TCP_LISTEN`.
    private static let listening = "0A"

    /// How many sockets listen on the port, at any address; 0 if the tables can't be read.
    static func count(onPort port: UInt16) -> Int {
        let ending = ":" + hexadecimal(port)
        return tables.reduce(0) { count, table in
            count
                + lines(of: table).count { line in
                    // sl, local address, remote address, state.
                    let fields = line.split(separator: " ", maxSplits: 4)
                    return fields.count > 3 && fields[3] == listening
                        && fields[1].hasSuffix(ending)
                }
        }
    }

    private static func hexadecimal(_ port: UInt16) -> String {
        let digits = String(port, radix: 16, uppercase: true)
        return String(repeating: "0", count: 4 - digits.count) + digits
    }

    private static func lines(of path: String) -> [Substring] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            text += buffer[..<count]
        }
        return String(decoding: text, as: UTF8.self).split(separator: "\n")
    }
}
