import Configuration
import Engine
import Glibc
import Ports
import WebSockets
import Wire

/// The worker loops as the engine's loop sees them: gathers the commands for each in a turn, and
/// takes their reports. Lives on the engine's loop.
// Safety: touched on the engine's loop, or before it runs and after it has ended; the loops of the
// others hold it to post their reports there.
final class WorkerLoops: @unchecked Sendable {
    /// A worker loop, and what is in flight to it.
    private struct Side {
        let loop: WorkerLoop
        var commands = LoopCommands()
        /// The sessions whose writes are in the commands.
        var sessions: [Session] = []
        /// The sessions of posted writes that are not done yet, oldest first.
        var landings: [[Session]] = []
        /// The average time of one write in the last report.
        var writeTime = Duration.zero
    }

    private let engineLoop: ServiceLoop
    /// By their servers' numbers, less 1.
    private var sides: [Side] = []
    private unowned let driver: Driver
    /// Frames of throttled sessions, kept for later. Their sockets are not read, so this is only
    /// what was in flight: one read's worth each.
    private var aside: [SessionID: [RequestFrame]] = [:]
    /// Bytes acknowledged by the peers of blocked sockets, a second ago and now.
    private var before: [SessionID: UInt64] = [:]
    private var acknowledged: [SessionID: UInt64] = [:]

    /// - Parameters:
    ///   - count: the number of worker loops, besides the engine's.
    ///   - server: that of the engine's loop, `loop`.
    ///   - listener: a listener of it; its connections are shared from now on.
    /// - Throws: `WebSocketError`, if a loop can't be made.
    init(
        _ count: Int, of driver: Driver, beside server: Server, on loop: ServiceLoop,
        listener: Listener, limits: ServerLimits
    ) throws(WebSocketError) {
        self.driver = driver
        engineLoop = loop
        for number in 1...count {
            let loop = try WorkerLoop(
                number: number, listener: listener, limits: limits, door: driver.entrance.door,
                log: driver.instruments.log
            ) { [weak self, engineLoop] report in
                engineLoop.post { [weak self] in self?.take(report, from: number - 1) }
            }
            sides.append(Side(loop: loop))
        }
        server.share(listener.name, with: sides.map(\.loop.server))
    }

    /// Starts the loops.
    func begin() {
        for side in sides { side.loop.begin() }
    }

    /// Stops the loops after the commands posted so far.
    func end() {
        for side in sides { side.loop.end() }
    }

    /// Whether the session's socket is served by one of these loops.
    func serves(_ session: SessionID) -> Bool { SocketID(rawValue: session).server != 0 }

    private func place(_ session: SessionID) -> Int { SocketID(rawValue: session).server - 1 }

    // MARK: - Out

    /// Hands the loops the pending frames of their sessions; other sessions are skipped.
    /// - Returns: an estimate of the time that all loops together need to write them.
    func write(_ sessions: [Session], _ limit: Int) -> Duration {
        for session in sessions where serves(session.id) { write(session, limit) }
        defer { send() }
        return sides.reduce(.zero) { $0 + $1.writeTime * $1.sessions.count }
    }

    /// Adds the session's next write to the commands of this turn, if its socket may take one.
    func write(_ session: Session, _ limit: Int) {
        guard session.isReady else { return }
        let place = place(session.id)
        sides[place].commands.writes.begin()
        driver.engine.sockets.handOver(session, limit) { sides[place].commands.writes.append($0) }
        sides[place].commands.writes.end(for: SocketID(rawValue: session.id))
        sides[place].sessions.append(session)
    }

    /// Closes the session's connection after all pending frames.
    func close(_ session: SessionID, _ code: CloseCode) {
        let place = place(session)
        let socket = SocketID(rawValue: session)
        sides[place].commands.writes.begin()
        let closing = driver.engine.sockets.handOverRest(session) {
            sides[place].commands.writes.append($0)
        }
        if let session = closing {
            sides[place].commands.writes.end(for: socket)
            sides[place].sessions.append(session)
        }
        sides[place].commands.closes.append(LoopCommands.Close(socket: socket, code: code))
    }

    /// Tells the session's loop whose it is.
    func own(_ session: SessionID, by user: ID) {
        sides[place(session)].commands.owners.append(
            LoopCommands.Owner(socket: SocketID(rawValue: session), user: user))
    }

    /// Throttles the session, or ends that: then the frames kept meanwhile are processed before
    /// this returns.
    func throttle(_ session: SessionID, _ isThrottled: Bool) {
        let throttle = LoopCommands.Throttle(
            socket: SocketID(rawValue: session), isThrottled: isThrottled)
        sides[place(session)].commands.throttles.append(throttle)
        guard !isThrottled else {
            if aside[session] == nil { aside[session] = [] }
            return
        }
        guard let frames = aside.removeValue(forKey: session) else { return }
        // The frames may lead to another turn, or to another throttle.
        engineLoop.post {}
        for index in frames.indices {
            driver.hear(session, frames[index])
            guard let more = aside[session] else { continue }
            aside[session] = frames[(index + 1)...] + more
            break
        }
    }

    /// Asks for the progress of these blocked sockets.
    func probe(_ sessions: [SessionID]) {
        (before, acknowledged) = (acknowledged, [:])
        for session in sessions {
            sides[place(session)].commands.probes.append(SocketID(rawValue: session))
        }
    }

    /// Gives all loops new admission rules.
    func show(_ door: Door) {
        for place in sides.indices { sides[place].commands.door = door }
    }

    /// Posts the gathered commands.
    func send() {
        for place in sides.indices where !sides[place].commands.isEmpty {
            let commands = sides[place].commands
            sides[place].commands = LoopCommands()
            if !commands.writes.isEmpty {
                sides[place].landings.append(sides[place].sessions)
                sides[place].sessions = []
            }
            sides[place].loop.post(commands)
        }
    }

    // MARK: - In

    private func take(_ report: LoopEvents, from place: Int) {
        if report.isAwaited { sides[place].commands.heard += 1 }
        for event in report.events {
            switch event {
            case .connected(let socket, let bearer, let address):
                driver.opened(socket, bearer: bearer, from: address)
            case .received(let socket, let frame): received(socket.rawValue, frame)
            case .pong(let socket): driver.pong(socket)
            case .writable(let socket):
                driver.engine.sockets.progressed(socket.rawValue, unsent: 0, at: driver.now())
            case .closed(let socket):
                aside[socket.rawValue] = nil
                driver.closed(socket)
            case .requested(let request, let responder):
                driver.request(
                    request,
                    responder.carried { [weak self] responder, response in
                        self?.sides[place].commands.answers.append(
                            LoopCommands.Answer(responder: responder, response: response))
                    })
            case .landed(let unsent, let time): landed(unsent, time, at: place)
            case .progress(let progress): for socket in progress { progressed(socket) }
            }
        }
    }

    private func received(_ session: SessionID, _ frame: RequestFrame) {
        guard aside[session] == nil else {
            aside[session]?.append(frame)
            return
        }
        driver.hear(session, frame)
    }

    private func landed(_ unsent: [Writes.Unsent], _ time: Duration, at place: Int) {
        let sessions = sides[place].landings.removeFirst()
        sides[place].writeTime = time / max(1, sessions.count)
        var rest = unsent[...]
        for (index, session) in sessions.enumerated() {
            guard let first = rest.first, first.index == index else {
                driver.engine.sockets.landed(session, unsent: 0)
                continue
            }
            rest.removeFirst()
            driver.engine.sockets.landed(session, unsent: first.bytes)
        }
    }

    private func progressed(_ progress: LoopEvents.Progress) {
        let session = progress.socket.rawValue
        guard driver.engine.sockets.isBlocked(session) else { return }
        acknowledged[session] = progress.acknowledged
        guard let earlier = before[session], progress.acknowledged > earlier else { return }
        driver.engine.sockets.progressed(session, unsent: progress.unsent, at: driver.now())
    }
}

extension WorkerLoops {
    /// The number of loops that serve sockets, unless the configuration sets it: one core is left
    /// to the store, the upstream and the rest of the machine.
    static func count(_ configured: Int) -> Int {
        guard configured == 0 else { return configured }
        return max(1, min(SocketID.serverLimit, sysconf(Int32(_SC_NPROCESSORS_ONLN)) - 1))
    }
}
