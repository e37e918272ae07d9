import Glibc
import Synchronization
import TestSupport

/// A way to a server that can be cut for some and stay open for others: a proxy on the loopback.
/// Who begins with certain words passes also when it is cut.
final class Strait: Sendable {
    fileprivate struct State {
        var isCut = false
        /// Connections of those who do not pass.
        var others: Set<Int32> = []
    }

    /// One end of the way, which everybody holds who is on it.
    fileprivate final class Passage: Sendable {
        let target: Int
        let words: [UInt8]
        let state = Mutex(State())

        init(to target: Int, passing words: [UInt8]) {
            self.target = target
            self.words = words
        }
    }

    private let passage: Passage
    private let listener: Listener

    var port: Int { listener.port }

    /// - Parameter words: who has them in the first bytes passes.
    init(to target: Int, passing words: String) throws {
        let passage = Passage(to: target, passing: Array(words.utf8))
        self.passage = passage
        listener = try Listener { passage.serve($0) }
    }

    deinit { listener.close() }

    /// From now on only those pass who may.
    func cut() {
        let others = passage.state.withLock { state in
            state.isCut = true
            return state.others
        }
        for descriptor in others { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
}

extension Strait.Passage {
    fileprivate func serve(_ client: Int32) {
        var first = [UInt8](repeating: 0, count: 4096)
        let count = recv(client, &first, first.count, 0)
        guard count > 0 else { return }
        let said = Array(first[..<count])
        let passes = said.indices.contains { said[$0...].starts(with: words) }
        let isCut = state.withLock { state in
            if !passes { state.others.insert(client) }
            return state.isCut
        }
        defer { state.withLock { _ = $0.others.remove(client) } }
        guard passes || !isCut, let server = Listener.connect(target) else { return }
        defer { close(server) }
        if Self.write(said, to: server) { Self.exchange(client, server) }
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
