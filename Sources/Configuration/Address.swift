/// The address of a listener: a name or an IP address, and a port. IPv6 addresses are written in
/// brackets. With port 0 the system chooses one.
package struct Address: Sendable, Hashable, CustomStringConvertible {
    /// Without brackets.
    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Reads `127.0.0.1:8000`, `[::1]:8000` or `localhost:8000`; nil for anything else.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        guard (1...5).contains(digits.count), digits.allSatisfy(\.isASCIIDigit),
            let port = UInt16(digits)
        else { return nil }
        var host = text[..<colon]
        if host.first == "[", host.last == "]" {
            host = host.dropFirst().dropLast()
            guard host.contains(":"), host.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." })
            else { return nil }
        } else {
            guard (1...253).contains(host.utf8.count),
                host.allSatisfy({ $0.isASCIIAlphanumeric || $0 == "." || $0 == "-" || $0 == "_" })
            else { return nil }
        }
        self.init(host: String(host), port: port)
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Whether it is a loopback address, which only this machine can reach.
    package var isLoopback: Bool {
        if host == "::1" || host.lowercased() == "localhost" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}

extension Character {
    /// Whether it is one of `0`…`9`. (`isNumber` also takes the digits of other scripts.)
    package var isASCIIDigit: Bool { isASCII && isNumber }
    package var isASCIIAlphanumeric: Bool { isASCII && (isNumber || isLetter) }
}
