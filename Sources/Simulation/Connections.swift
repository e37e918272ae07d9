import Chat
import Engine
import JSON
import Wire

/// The clients of a world, and their connections: what they send goes to the engine of their
/// gateway; what that writes they read at their own pace, and the oracle judges it.
final class Connections {
    /// A client's connection: its gateway, and how it reads.
    struct Connection {
        let gateway: Int
        let session: SessionID
        var socket: Socket
        var line = Line()
        /// Bytes that the client reads in a turn.
        var pace: Int
        /// The turn in which the gateway stops waiting for the end of a close.
        var deadline: Int?
    }

    let clients: [Client]
    private let run: Run
    private let gateways: [EngineProcess]
    /// Bytes that a socket takes; and at most at once.
    private let sizes: (socket: Int, write: Int)
    /// Who judges what comes.
    var oracle: () -> Oracle
    /// The open ones, by the client's index.
    private(set) var open: [Int: Connection] = [:]
    private var nextSession: SessionID = 0
    /// Deltas in frames lost with their connection.
    private(set) var lostDeltas = 0

    /// - Parameter users: one client for each place, who are these in turn.
    init(
        _ run: Run, clients count: Int, users: [String], _ gateways: [EngineProcess],
        sizes: (socket: Int, write: Int)
    ) {
        self.run = run
        self.gateways = gateways
        self.sizes = sizes
        oracle = { Oracle(origin: Origin()) }
        clients = (0..<count).map { place in
            Client(name: "client \(place)", user: users[place % users.count])
        }
    }

    /// The clients, by place, with a connection that is not being closed.
    var connected: [Int] { open.keys.sorted().filter { open[$0]?.deadline == nil } }

    /// How many deltas came, or were lost with a connection.
    var receivedDeltas: Int { clients.reduce(lostDeltas) { $0 + $1.tally.deltas } }

    /// Whether all was read, and all questions were answered.
    var isQuiet: Bool {
        open.allSatisfy { $0.value.socket.isEmpty && clients[$0.key].asked.isEmpty }
    }

    func place(of session: SessionID) -> Int? {
        open.first { $0.value.session == session }?.key
    }

    /// All clients read what comes at once.
    func readEverything() { for place in open.keys { open[place]?.pace = .max } }

    func setPace(_ pace: Int, of place: Int) { open[place]?.pace = pace }

    func connect(_ place: Int, to gateway: EngineProcess) {
        guard let engine = gateway.engine else { return }
        nextSession += 1
        run.say("\(clients[place].name) connects to gateway \(gateway.place) as \(nextSession)")
        open[place] = Connection(
            gateway: gateway.place, session: nextSession, socket: Socket(capacity: sizes.socket),
            pace: .max)
        engine.connected(nextSession, at: run.now)
        send(place, clients[place].connect())
    }

    func send(_ place: Int, _ payload: [UInt8]) {
        guard open[place] != nil else { return }
        run.say("\(clients[place].name) sends \(String(decoding: payload, as: UTF8.self))")
        open[place]?.line.frames.append(payload)
        hear(place)
    }

    func disconnect(_ place: Int) throws(Violation) {
        guard var connection = open.removeValue(forKey: place) else { return }
        run.say("\(clients[place].name) is gone")
        for frame in connection.socket.read(.max) { lostDeltas += try ReceivedFrame(frame).deltas }
        clients[place].disconnect()
        gateways[connection.gateway].engine?.closed(connection.session)
    }

    func readSockets() throws(Violation) {
        for place in open.keys.sorted() {
            guard var connection = open[place] else { continue }
            let engine = gateways[connection.gateway].engine
            let frames = connection.socket.read(connection.pace)
            let unsent = connection.socket.unsent
            let isMoved = unsent < connection.socket.reported
            connection.socket.reported = unsent
            open[place] = connection
            if isMoved {
                engine?.sockets.progressed(connection.session, unsent: unsent, at: run.now)
            }
            for frame in frames { try receive(place, frame) }
            let isOver =
                connection.deadline.map { $0 <= run.turn || connection.socket.isEmpty } ?? false
            if isOver { try disconnect(place) }
        }
    }

    private func receive(_ place: Int, _ frame: [UInt8]) throws(Violation) {
        guard let connection = open[place] else { return }
        switch try ReceivedFrame(frame) {
        case .ping:
            gateways[connection.gateway].engine?.ponged(connection.session, at: run.now)
        case .text(let payload):
            run.say("\(clients[place].name) gets \(String(decoding: payload, as: UTF8.self))")
            do throws(Violation) {
                try clients[place].receive(payload, oracle())
            } catch {
                throw Violation("\(clients[place].name): \(error)")
            }
        }
    }

    // MARK: - The gateway's side

    func flush(_ session: SessionID, _ engine: Engine) {
        guard let place = place(of: session), !engine.sockets.isBlocked(session) else { return }
        open[place]?.socket.fill(from: engine, session, sizes.write)
    }

    /// Passes the client's frames to its gateway, unless its socket is not to be read.
    func hear(_ place: Int) {
        while let frame = open[place]?.line.next(), let connection = open[place],
            let engine = gateways[connection.gateway].engine
        {
            engine.received(
                connection.session, RequestFrame.read(frame, isBinary: false), at: run.now)
            // Applied before its next frame is read.
            for (session, isThrottled) in engine.takeThrottles() where session == connection.session
            {
                open[place]?.line.isThrottled = isThrottled
            }
        }
    }

    func close(_ session: SessionID, _ code: CloseCode) {
        guard let place = place(of: session) else { return }
        run.say("\(clients[place].name) is closed: \(code)")
        open[place]?.socket.closing = code
        open[place]?.deadline = run.turn + 20
    }

    func throttle(_ session: SessionID, _ isThrottled: Bool) {
        guard let place = place(of: session) else { return }
        open[place]?.line.isThrottled = isThrottled
        hear(place)
    }
}
