import Chat
import Engine
import JSON
import Ports
import Wire

/// The shell around the engine, in place of the gateway's driver: it performs the engine's
/// decisions, and passes frames between the two sides.
extension World {
    // MARK: - The turn

    /// Runs turns until none is due at once.
    func endTurn() throws(Violation) {
        clock.advance(to: now)
        var turns = 0
        repeat {
            turns += 1
            try require(turns < 1000, "the engine always has more to do at once")
            effects = 0
        } while try self.turns.run(self) == .now
        try checkAccounting()
    }

    func place(of session: SessionID) -> Int? {
        connections.first { $0.value.session == session }?.key
    }

    // MARK: - Connections

    func connect(_ place: Int) {
        nextSession += 1
        say("\(clients[place].name) connects as session \(nextSession)")
        connections[place] = Connection(
            session: nextSession, socket: Socket(capacity: scenario.socket), pace: .max)
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
        engine.closed(connection.session)
    }

    func readSockets() throws(Violation) {
        for place in connections.keys.sorted() {
            guard var connection = connections[place] else { continue }
            let frames = connection.socket.read(isCalm ? .max : connection.pace)
            let unsent = connection.socket.unsent
            let isMoved = unsent < connection.socket.reported
            connection.socket.reported = unsent
            connections[place] = connection
            if isMoved { engine.sockets.progressed(connection.session, unsent: unsent, at: now) }
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
            engine.ponged(connection.session, at: now)
        case .text(let payload):
            say("\(clients[place].name) gets \(String(decoding: payload, as: UTF8.self))")
            do throws(Violation) {
                try clients[place].receive(payload, Oracle(origin: origin))
            } catch {
                throw Violation("\(clients[place].name): \(error)")
            }
        }
    }
}

/// Admits every client under the name that it gives.
struct OpenDoor: Authenticator {
    func identify(token: String?, user: String?, at now: Timestamp) -> Result<Identity, Refusal> {
        guard let user else { return .failure(.request(.badRequest("params.user: missing"))) }
        return .success(Identity(user: user))
    }
}
