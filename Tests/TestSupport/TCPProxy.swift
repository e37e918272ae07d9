import Foundation
import Glibc
import Synchronization

/// A way to a server of the loopback that can fail as networks do: it resets what is connected,
/// refuses for a while, or carries nothing and says nothing. One thread carries all; it ends with
/// `close`, or with the process.
package final class TCPProxy: Sendable {
    package enum Mode: Sendable {
        case open
        /// Nobody is taken, and who was connected is reset.
        case refusing
        /// Connections stand and new ones are made, but not a byte passes in either direction.
        case stalled
        /// Each connection carries 640 KB/s in either direction.
        case slow
        /// Everything is reset again and again, as soon as it has come up.
        case flapping
        /// Only those pass who said the word in their first bytes; all others are reset.
        case parted
        /// Those who said the word hear nothing; what they say passes, and so does all of others.
        case muted
    }

    private struct Orders {
        var mode = Mode.open
        var resets = 0
        var isClosed = false
    }

    package let port: Int
    private let target: Int
    private let orders = Mutex(Orders())

    /// - Parameter word: by which those are known who pass where it is `parted`.
    /// - Throws: `TestFailure` where no port is free.
    package init(to target: Int, letting word: String = "") throws {
        self.target = target
        port = try Port.free()
        let listener = try Self.listen(port)
        Thread.detachNewThread { [self] in
            var carrier = Carrier(listener, port, target, Array(word.utf8))
            carrier.run(orders: take)
        }
    }

    package func set(_ mode: Mode) { orders.withLock { $0.mode = mode } }

    /// Ends every connection with a reset; new ones are taken at once.
    package func cut() { orders.withLock { $0.resets += 1 } }

    package func close() { orders.withLock { $0.isClosed = true } }

    /// - Returns: The mode and how often was cut; nil where it is over.
    private func take() -> (mode: Mode, resets: Int)? {
        orders.withLock { $0.isClosed ? nil : ($0.mode, $0.resets) }
    }

    /// - Throws: `TestFailure` where the port is taken.
    fileprivate static func listen(_ port: Int) throws -> Int32 {
        let descriptor = TCPSocket.make()
        var one: Int32 = 1
        setsockopt(
            descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        var address = TCPSocket.loopback(port: port)
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard bound == 0, Glibc.listen(descriptor, 128) == 0 else {
            Glibc.close(descriptor)
            throw TestFailure("listen on port \(port): errno \(errno)")
        }
        return descriptor
    }
}

/// What the proxy's thread owns: the listener, and the two sockets of each connection.
private struct Carrier {
    /// Who came and whom they are connected to.
    private struct Side {
        let near: Int32
        let far: Int32
        /// Whether they said the word, once they have said anything.
        var isLet: Bool?
        /// Whether they have ever said it.
        var isNamed = false
    }

    private var listener: Int32
    private let port: Int
    private let target: Int
    private let word: [UInt8]
    private var sides: [Side] = []
    private var isParted = false
    private var isMuting = false
    private var resetsDone = 0
    private var nextReset = ContinuousClock.now

    init(_ listener: Int32, _ port: Int, _ target: Int, _ word: [UInt8]) {
        self.listener = listener
        self.port = port
        self.target = target
        self.word = word
    }

    /// Looks at its orders each few milliseconds, until there are no more.
    mutating func run(orders: () -> (mode: TCPProxy.Mode, resets: Int)?) {
        while let (mode, resets) = orders() {
            if resets != resetsDone || mode == .refusing { resetAll() }
            resetsDone = resets
            isParted = mode == .parted
            isMuting = mode == .muted
            switch mode {
            case .refusing:
                stopListening()
                usleep(5000)
            case .stalled: usleep(5000)
            case .open, .slow, .flapping, .parted, .muted:
                if mode == .flapping, ContinuousClock.now >= nextReset {
                    resetAll()
                    nextReset = .now + .milliseconds(Int.random(in: 20...150))
                }
                if isParted { resetAll { $0.isLet == false } }
                if listener < 0 { listener = (try? TCPProxy.listen(port)) ?? -1 }
                carry()
                if mode == .slow { usleep(100_000) }
            }
        }
        resetAll()
        stopListening()
    }

    private mutating func stopListening() {
        guard listener >= 0 else { return }
        close(listener)
        listener = -1
    }

    private mutating func resetAll(where isMeant: (Side) -> Bool = { _ in true }) {
        for side in sides where isMeant(side) { [side.near, side.far].forEach(Self.reset) }
        sides.removeAll(where: isMeant)
    }

    private static func reset(_ descriptor: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close(descriptor)
    }

    private mutating func carry() {
        let descriptors = [listener] + sides.flatMap { [$0.near, $0.far] }
        var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        for (place, side) in sides.enumerated() where isMuting && side.isNamed {
            entries[2 + 2 * place].fd = -1
        }
        guard poll(&entries, nfds_t(entries.count), 5) > 0 else { return }
        var ended: Set<Int> = []
        for place in sides.indices {
            if entries[1 + 2 * place].revents != 0, !forward(place) { ended.insert(place) }
            if entries[2 + 2 * place].revents != 0 {
                let bytes = Self.receive(sides[place].far)
                if !Self.pass(bytes, to: sides[place].near) { ended.insert(place) }
            }
        }
        for place in ended.sorted(by: >) {
            close(sides[place].near)
            close(sides[place].far)
            sides.remove(at: place)
        }
        if entries[0].revents != 0 { acceptOne() }
    }

    private mutating func acceptOne() {
        let near = accept(listener, nil, nil)
        guard near >= 0 else { return }
        _ = fcntl(near, F_SETFD, FD_CLOEXEC)
        let far = TCPSocket.make()
        var address = TCPSocket.loopback(port: target)
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(far, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { return [near, far].forEach(Self.reset) }
        var one: Int32 = 1
        for descriptor in [near, far] {
            setsockopt(
                descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one,
                socklen_t(MemoryLayout<Int32>.size))
        }
        sides.append(Side(near: near, far: far))
    }

    /// Carries what one who came has said, if that one may pass.
    ///
    /// - Returns: Whether both ends are still there.
    private mutating func forward(_ place: Int) -> Bool {
        let bytes = Self.receive(sides[place].near)
        let isLet = sides[place].isLet ?? says(bytes)
        sides[place].isLet = isLet
        sides[place].isNamed = sides[place].isNamed || says(bytes)
        return (isLet || !isParted) && Self.pass(bytes, to: sides[place].far)
    }

    private func says(_ bytes: [UInt8]) -> Bool {
        bytes.indices.contains { bytes[$0...].starts(with: word) }
    }

    /// - Returns: What has come; nothing where the end is gone.
    private static func receive(_ descriptor: Int32) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
            count = max(0, recv(descriptor, buffer.baseAddress, buffer.count, 0))
        }
    }

    /// - Returns: Whether both ends are still there.
    private static func pass(_ bytes: [UInt8], to: Int32) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let taken = bytes[sent...].withUnsafeBytes {
                send(to, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard taken > 0 else { return false }
            sent += taken
        }
        return !bytes.isEmpty
    }
}
