import Foundation
import Glibc
import Synchronization
import TestSupport

/// A way to a server that can be cut for some and stay open for others: a proxy on the loopback,
/// with a thread for each connection. Who begins with certain words passes also when it is cut.
final class Strait: Sendable {
    private struct State {
        var isCut = false
        /// Connections of those who do not pass.
        var others: Set<Int32> = []
    }

    let port: Int
    private let target: Int
    private let words: [UInt8]
    private let listener: Int32
    private let state = Mutex(State())

    /// - Parameter words: who has them in the first bytes passes.
    init(to target: Int, passing words: String) throws {
        self.target = target
        self.words = Array(words.utf8)
        port = try Port.free()
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.address(port)
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, length) }
        }
        guard bound == 0, listen(listener, 64) == 0 else { throw TestFailure("can't listen") }
        Thread.detachNewThread { [self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { break }
                Thread.detachNewThread { self.serve(client) }
            }
            Glibc.close(listener)
        }
    }

    /// Takes nobody more. The threads hold it: it ends when it is told to.
    func close() { shutdown(listener, Int32(SHUT_RDWR)) }

    /// From now on only those pass who may.
    func cut() {
        let others = state.withLock { state in
            state.isCut = true
            return state.others
        }
        for descriptor in others { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private func serve(_ client: Int32) {
        defer { Glibc.close(client) }
        var first = [UInt8](repeating: 0, count: 4096)
        let count = recv(client, &first, first.count, 0)
        guard count > 0 else { return }
        let said = first[..<count]
        let passes = said.indices.contains { said[$0...].starts(with: words) }
        let isCut = state.withLock { state in
            if !passes { state.others.insert(client) }
            return state.isCut
        }
        defer { state.withLock { _ = $0.others.remove(client) } }
        guard passes || !isCut else { return }
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { Glibc.close(server) }
        var address = Self.address(target)
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0, Self.write(Array(said), to: server) else { return }
        Self.exchange(client, server)
    }

    /// Carries bytes both ways until one side ends.
    private static func exchange(_ a: Int32, _ b: Int32) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            var sides = [a, b].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&sides, 2, -1) > 0 else { return }
            for (place, (from, to)) in [(a, b), (b, a)].enumerated()
            where sides[place].revents != 0 {
                let count = recv(from, &buffer, buffer.count, 0)
                guard count > 0, write(Array(buffer[..<count]), to: to) else { return }
            }
        }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }
}
