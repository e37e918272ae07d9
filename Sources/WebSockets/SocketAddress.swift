import Glibc

/// Addresses as text.
package enum IPAddress {
    /// Whether the text is an IPv4 or IPv6 address, without brackets and port.
    package static func isLiteral(_ text: String) -> Bool {
        var v4 = in_addr()
        var v6 = in6_addr()
        return inet_pton(AF_INET, text, &v4) == 1 || inet_pton(AF_INET6, text, &v6) == 1
    }
}

/// An IPv4 or IPv6 address with a port, in the form of the system calls.
struct SocketAddress {
    private var storage = sockaddr_storage()
    private var length = socklen_t(MemoryLayout<sockaddr_storage>.size)

    var family: Int32 { Int32(storage.ss_family) }

    /// - Throws: `WebSocketError` `address` if `literal` is not an IPv4 or IPv6 literal.
    init(literal: String, port: UInt16) throws(WebSocketError) {
        var text = Substring(literal)
        if text.hasPrefix("["), text.hasSuffix("]") { text = text.dropFirst().dropLast() }
        var v4 = sockaddr_in()
        var v6 = sockaddr_in6()
        if inet_pton(AF_INET, String(text), &v4.sin_addr) == 1 {
            v4.sin_family = sa_family_t(AF_INET)
            v4.sin_port = port.bigEndian
            fill(from: v4)
        } else if inet_pton(AF_INET6, String(text), &v6.sin6_addr) == 1 {
            v6.sin6_family = sa_family_t(AF_INET6)
            v6.sin6_port = port.bigEndian
            fill(from: v6)
        } else {
            throw WebSocketError(
                .address, "listening on \(literal): not an address (IPv4 or IPv6 literal)")
        }
    }

    /// The local address of a socket, or of its peer.
    init?(of descriptor: Int32, peer: Bool) {
        let call = peer ? getpeername : getsockname
        let result = withAddress { address, length in call(descriptor, address, length) }
        guard result == 0 else { return nil }
    }

    private mutating func fill<Address>(from address: Address) {
        length = socklen_t(MemoryLayout<Address>.size)
        withUnsafeMutableBytes(of: &storage) { target in
            withUnsafeBytes(of: address) { target.copyMemory(from: $0) }
        }
    }

    /// Calls a function of the socket API with this address, which the function may read or
    /// replace.
    mutating func withAddress<Result>(
        _ body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Result
    ) -> Result {
        withUnsafeMutablePointer(to: &length) { length in
            withUnsafeMutablePointer(to: &storage) { storage in
                storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
            }
        }
    }

    var port: UInt16 {
        withUnsafeBytes(of: storage) { bytes in
            // Both families have the port at the same offset.
            UInt16(bigEndian: bytes.load(fromByteOffset: 2, as: UInt16.self))
        }
    }

    /// The address without its port. An IPv4 peer of an IPv6 socket is written as IPv4.
    var host: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        withUnsafeBytes(of: storage) { bytes in
            guard let base = bytes.baseAddress else { return }
            let offset = family == AF_INET ? 4 : 8
            _ = inet_ntop(family, base + offset, &text, socklen_t(text.count))
        }
        let end = text.firstIndex(of: 0) ?? text.endIndex
        let host = String(decoding: text[..<end].lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let mapped = "::ffff:"
        return host.hasPrefix(mapped) && host.contains(".")
            ? String(host.dropFirst(mapped.count)) : host
    }
}
