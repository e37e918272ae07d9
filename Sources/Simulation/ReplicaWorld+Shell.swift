import Chat
import Engine
import JSON
import Ports
import Wire

/// The shell around each engine, in place of the gateway's driver.
extension ReplicaWorld {
    func start(_ gateway: Gateway) {
        gateway.store.retained = scenario.faults.contains(.trims) ? scenario.kept : 0
        gateway.store.trimmedAtOnce = scenario.trimmed
        gateway.engine = Engine(
            limits: scenario.limits, server: ServerIdentity(name: "gapless", version: "0"),
            authenticator: OpenDoor(), instance: "world\(gateway.place)", sync: scenario.sync,
            at: now)
    }

    /// The gateway's process ends, with all its connections.
    func stop(_ gateway: Gateway) throws(Violation) {
        say("gateway \(gateway.place) ends")
        for place in connections.keys.sorted()
        where connections[place]?.gateway == gateway.place {
            try disconnect(place)
        }
        // Writes already sent to the origin may still be done.
        for write in gateway.writes where random.chance(50) {
            perform(write.operation, by: write.caller)
        }
        gateway.stop()
    }

    // MARK: - The turn

    /// Runs turns of the gateway until none is due at once.
    func endTurn(_ gateway: Gateway) throws(Violation) {
        clock.advance(to: now)
        var turns = 0
        var wake = Wake.now
        while wake == .now, let runner = gateway.turns, let turn = GatewayTurn(self, gateway) {
            turns += 1
            try require(turns < 1000, "the engine always has more to do at once")
            gateway.effects = 0
            wake = .never
            try turn.mayEnd { () throws(GatewayTurn.Failure) in wake = try runner.run(turn) }
        }
    }

    /// The turn of something that may be late.
    func delay() -> Int {
        strikes(.late, 40) ? turn + random.number(0...scenario.delay) : turn
    }

    func write(_ writes: [StoreWrite], _ gateway: Gateway) throws(Violation) {
        let dropped = gateway.store.dropped
        do throws(Violation) {
            try gateway.store.perform(writes)
        } catch {
            throw Violation("gateway \(gateway.place) stores what can't be: \(error)")
        }
        if gateway.store.dropped > dropped { injected[.trims, default: 0] += 1 }
    }

    /// The cache trims on its own what one trim has left.
    func tidy(_ gateway: Gateway, _ engine: Engine) throws(Violation) {
        guard let conversation = random.pick(gateway.store.untrimmed) else { return }
        say("gateway \(gateway.place) trims \(conversation)")
        try write([.trim(conversation: conversation)], gateway)
        engine.trimmed(
            conversation, gateway.store.answer(.load(conversation: conversation)), at: now)
    }

    func ask(
        _ token: UInt64, _ subject: Gateway.Fetch.Subject, _ gateway: Gateway
    ) throws(Violation) {
        say("gateway \(gateway.place) asks \(token): \(subject.line)")
        if case .history(let query) = subject { asked.append(query) }
        gateway.lastToken = token
        if let conversation = subject.shared {
            // Questions asked before the feed was joined, or before it reported another log, don't
            // count and are asked again.
            let joined = max(
                gateway.joinedAfter[conversation] ?? 0, gateway.costs[conversation]?.doubted ?? 0)
            let twin = gateway.fetches.first {
                $0.subject == subject && $0.generation == gateway.link.generation
                    && $0.token > joined
            }
            try require(twin == nil, "asks twice at once: \(subject.line)")
        }
        let readAt = delay()
        gateway.fetches.append(
            Gateway.Fetch(
                token: token, subject: subject, generation: gateway.link.generation,
                readAt: readAt, due: max(readAt, delay()), isFailing: strikes(.failures)))
    }

    func place(of session: SessionID) -> Int? {
        connections.first { $0.value.session == session }?.key
    }

    // MARK: - Connections

    func connect(_ place: Int) {
        guard let gateway = random.pick(gateways) else { return }
        if let last = homes[place], last != gateway.place { injected[.gateways, default: 0] += 1 }
        homes[place] = gateway.place
        connect(place, to: gateway)
    }

    func connect(_ place: Int, to gateway: Gateway) {
        guard let engine = gateway.engine else { return }
        nextSession += 1
        say("\(clients[place].name) connects to gateway \(gateway.place) as \(nextSession)")
        connections[place] = Connection(
            gateway: gateway.place, session: nextSession, socket: Socket(capacity: scenario.socket),
            pace: .max)
        engine.connected(nextSession, at: now)
        send(place, clients[place].connect())
    }

    func send(_ place: Int, _ payload: [UInt8]) {
        guard connections[place] != nil else { return }
        say("\(clients[place].name) sends \(String(decoding: payload, as: UTF8.self))")
        connections[place]?.line.frames.append(payload)
        hear(place)
    }

    func disconnect(_ place: Int) throws(Violation) {
        guard var connection = connections.removeValue(forKey: place) else { return }
        say("\(clients[place].name) is gone")
        for frame in connection.socket.read(.max) { lostDeltas += try ReceivedFrame(frame).deltas }
        clients[place].disconnect()
        gateways[connection.gateway].engine?.closed(connection.session)
    }

    func readSockets() throws(Violation) {
        for place in connections.keys.sorted() {
            guard var connection = connections[place] else { continue }
            let engine = gateways[connection.gateway].engine
            let frames = connection.socket.read(connection.pace)
            let unsent = connection.socket.unsent
            let isMoved = unsent < connection.socket.reported
            connection.socket.reported = unsent
            connections[place] = connection
            if isMoved { engine?.sockets.progressed(connection.session, unsent: unsent, at: now) }
            for frame in frames { try receive(place, frame) }
            let isOver =
                connection.deadline.map { $0 <= turn || connection.socket.isEmpty } ?? false
            if isOver { try disconnect(place) }
        }
    }

    private func receive(_ place: Int, _ frame: [UInt8]) throws(Violation) {
        guard let connection = connections[place] else { return }
        switch try ReceivedFrame(frame) {
        case .ping:
            gateways[connection.gateway].engine?.ponged(connection.session, at: now)
        case .text(let payload):
            say("\(clients[place].name) gets \(String(decoding: payload, as: UTF8.self))")
            do throws(Violation) {
                try clients[place].receive(payload, Oracle(origin: origin, isReplica: true))
            } catch {
                throw Violation("\(clients[place].name): \(error)")
            }
        }
    }
}
