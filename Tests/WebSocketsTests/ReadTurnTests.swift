import Ports
import Testing
import Wire

@testable import WebSockets

/// The turns of those who send much.
@Suite struct ReadTurnTests {
    private static func id(_ number: UInt64) -> SocketID { SocketID(rawValue: number) }

    private static func payer(_ user: String, _ session: UInt64) -> Payer {
        Payer(user: user.id, session: session)
    }

    /// Of twenty large reads that come in one turn one is processed; the others follow, each once,
    /// in their order, one a turn; small reads never wait.
    @Test func largeReadsTakeTurnsAndSmallOnesPassThem() {
        var reading = ReadTurn()
        var processed: [UInt64] = []
        var isPosted = false
        for number in 0..<20 as Range<UInt64> {
            if reading.admits(40_000) {
                processed.append(number)
            } else if reading.wait(Self.id(number), 40_000, for: Self.payer("u", number)) {
                #expect(!isPosted, "one job goes on for all")
                isPosted = true
            }
        }
        #expect(processed == [0])
        var turns = 0
        while isPosted, turns < 100 {
            turns += 1
            reading.begin()
            let passes = reading.admits(100)
            #expect(passes, "a small read passes")
            // Who comes later stands behind those who wait.
            let overtakes = reading.admits(40_000)
            #expect(!overtakes)
            reading.beginRelease()
            while let id = reading.takeNext(where: { _ in true }) {
                let isProcessed = reading.admits(40_000)
                #expect(isProcessed)
                processed.append(id.rawValue)
            }
            isPosted = reading.endRelease()
        }
        #expect(processed == Array(0..<20))
        #expect(turns == 19)
        reading.begin()
        let isFree = reading.admits(40_000)
        #expect(isFree, "nobody still waits")
    }

    // MARK: - Owners

    /// Connections that always have another read, of owners who have many or few of them.
    private struct Crowd {
        var reading = ReadTurn()
        /// By connection: whose it is, and how large its reads are.
        let connections: [(owner: String, size: Int)]
        var random = SplitMix64(state: 5)

        init(_ connections: [(owner: String, size: Int)]) { self.connections = connections }

        mutating func line(up numbers: some Sequence<Int>) {
            for number in numbers {
                let (owner, size) = connections[number]
                _ = reading.wait(
                    id(UInt64(number)), size, for: payer(owner, UInt64(number)))
            }
        }

        /// A turn of the loop: what was processed; each of them has its next read at once.
        mutating func turn() -> [Int] {
            reading.begin()
            reading.beginRelease()
            var processed: [Int] = []
            while let id = reading.takeNext(where: { _ in true }) {
                processed.append(Int(id.rawValue))
            }
            _ = reading.endRelease()
            line(up: processed.shuffled(using: &random))
            return processed
        }
    }

    /// Before anybody's turn comes, each other owner has at most one read, however many connections
    /// the others have; and all owners have the same bytes.
    @Test func ownersTakeTurnsHoweverManyConnectionsTheyHave() {
        let owners = [
            ("many", 20, 40_000), ("few", 2, 40_000), ("one", 1, 60_000), ("short", 5, 8_000),
        ]
        var crowd = Crowd(
            owners.flatMap { owner, count, size in
                Array(repeating: (owner: owner, size: size), count: count)
            })
        crowd.line(up: crowd.connections.indices)
        var bytes: [String: Int] = [:]
        var own: [Int: Int] = [:]
        var since: [String: [String: Int]] = [:]
        for _ in 0..<2000 {
            let processed = crowd.turn()
            let taken = processed.map { crowd.connections[$0].size }
            #expect(taken.dropLast().reduce(0, +) < 32 << 10, "a turn ends after the limit")
            for number in processed {
                let (owner, size) = crowd.connections[number]
                bytes[owner, default: 0] += size
                own[number, default: 0] += 1
                for (other, count) in since[owner] ?? [:] {
                    // In the bytes of one's own read, and one read more.
                    let most = owners.first { $0.0 == other }.map { size / $0.2 + 1 } ?? 0
                    #expect(count <= most, "\(owner) waited for \(count) reads of \(other)")
                }
                since[owner] = [:]
                for other in since.keys where other != owner {
                    since[other]?[owner, default: 0] += 1
                }
            }
        }
        let all = bytes.values.reduce(0, +)
        for (owner, sum) in bytes {
            #expect(abs(sum - all / 4) <= 2 * 60_000, "\(owner) has \(sum) of \(all)")
        }
        // An owner's connections have turns of their own.
        let many = (0..<20).map { own[$0] ?? 0 }
        #expect((many.max() ?? 0) - (many.min() ?? 0) <= 1)
    }

    /// A peer that comes while others wait is served after one read of each owner at most.
    @Test func whoComesWaitsForOneReadOfEachOwner() {
        var crowd = Crowd(
            Array(repeating: (owner: "a", size: 40_000), count: 20)
                + Array(repeating: (owner: "b", size: 40_000), count: 20)
                + [(owner: "late", size: 40_000)])
        crowd.line(up: 0..<40)
        for _ in 0..<37 { _ = crowd.turn() }
        crowd.line(up: [40])
        let processed = (0..<3).flatMap { _ in crowd.turn() }
        #expect(processed.contains(40))
    }

    /// A connection that is gone takes no turn, and nothing of its owner's share.
    @Test func whoIsGoneCostsNothing() {
        var reading = ReadTurn()
        for number in 0..<10 as Range<UInt64> {
            _ = reading.wait(Self.id(number), 40_000, for: Self.payer("gone", number))
        }
        for number in [10, 12, 13] as [UInt64] {
            _ = reading.wait(Self.id(number), 40_000, for: Self.payer("other", number))
        }
        _ = reading.wait(Self.id(11), 40_000, for: Self.payer("gone", 11))
        var order: [UInt64] = []
        for _ in 0..<5 {
            reading.begin()
            reading.beginRelease()
            while let id = reading.takeNext(where: { $0.rawValue >= 9 }) {
                order.append(id.rawValue)
            }
            _ = reading.endRelease()
        }
        #expect(order == [10, 9, 12, 11, 13])
    }

    /// Those who have said who they are have a share each, others one together, whatever addresses
    /// they have; bodies are the backend's.
    @Test func theShareIsThatOfTheOwner() throws {
        let server = try TestServer()
        func payer(_ address: String, _ number: UInt64, _ user: String?, isBody: Bool) -> Payer {
            server.onLoop { server in
                let connection = PeerConnection(
                    id: Self.id(number), server: server.server,
                    listener: Listener(name: "public", address: address, port: 0),
                    remoteAddress: address)
                connection.user = user?.id
                connection.phase = isBody ? .body : .open
                return connection.payer
            }
        }
        let ann = payer("10.0.0.1", 1, "ann", isBody: false)
        #expect(ann == Payer(user: "ann".id, session: 1))
        #expect(payer("10.0.0.2", 1, "ann", isBody: false) == ann)
        let stranger = payer("10.0.0.1", 1, nil, isBody: false)
        #expect(stranger == payer("10.0.0.1", 2, nil, isBody: false))
        let other = payer("10.0.0.2", 3, nil, isBody: false)
        #expect(other.user == stranger.user && other.session != stranger.session)
        #expect(payer("10.0.0.1", 7, nil, isBody: true).user == Payer.gateway.user)
        #expect(Set([ann, stranger, .gateway].map(\.user)).count == 3)
    }

    // MARK: - With sockets

    /// A server with connections of these users, each of a client of its own.
    private static func server(
        _ users: [String?]
    ) throws -> (server: TestServer, clients: [RawClient]) {
        let server = try TestServer()
        let clients = try users.enumerated().map { number, user in
            let client = try RawClient(port: server.port)
            try client.upgrade()
            #expect(server.eventually { $0.echo.open.count == number + 1 })
            if let user {
                server.onLoop { $0.server.own($0.echo.open[number], by: user.id) }
            }
            return client
        }
        return (server, clients)
    }

    /// Large messages of all, sent at once: which place the later of the first and the last
    /// client's has. In one turn sockets are read in an order of the library's own.
    private static func placeOfEnds(_ users: [String?]) throws -> Int {
        let (server, clients) = try server(users)
        try server.whileLoopWaits {
            for (number, client) in clients.enumerated() {
                try client.sendText("\(number) " + String(repeating: "x", count: 40_000))
            }
        }
        #expect(server.eventually { $0.echo.messages.count == users.count })
        let order = server.onLoop { $0.echo.messages.map { Array($0.prefix { $0 != 0x20 }) } }
        let places = [0, users.count - 1].compactMap { order.firstIndex(of: Array("\($0)".utf8)) }
        #expect(places.count == 2)
        return places.max() ?? users.count
    }

    @Test func aUserWithTwentyConnectionsHasOneShare() throws {
        let many = Array(repeating: "many" as String?, count: 20)
        #expect(try Self.placeOfEnds(["one"] + many + ["two"]) <= 4)
        // Strangers are one owner together.
        #expect(try Self.placeOfEnds(["one"] + Array(repeating: nil, count: 20) + ["two"]) <= 4)
        #expect(try Self.placeOfEnds([nil] + many + ["two"]) <= 4)
    }

    /// A body of megabytes takes turns with those who chat, and comes whole.
    @Test(arguments: [false, true])
    func aBodyIsReadInTurns(isChunked: Bool) throws {
        let server = try TestServer()
        let client = try RawClient(port: server.port)
        let body = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        var sent: [UInt8]
        if isChunked {
            sent = Array("POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
            for start in stride(from: 0, to: body.count, by: 1000) {
                sent += Array("3e8\r\n".utf8) + body[start..<start + 1000] + [0x0D, 0x0A]
            }
            sent += Array("0\r\n\r\n".utf8)
        } else {
            sent = Array("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n".utf8)
            sent += body
        }
        try client.send(sent)
        #expect(server.eventually { $0.echo.requests.count == 1 })
        #expect(server.onLoop { $0.echo.requests[0].body } == body)
    }

    /// Twenty bodies have one share beside large messages of others.
    @Test func bodiesAreOneShare() throws {
        let (server, clients) = try Self.server(["ann"])
        let backend = try (0..<20).map { _ in try RawClient(port: server.port) }
        for client in backend {
            try client.send("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 60000\r\n\r\n")
        }
        let isReading = server.eventually { server in
            var bodies = 0
            server.server.connections.forEach { if $0.phase == .body { bodies += 1 } }
            return bodies == 20
        }
        #expect(isReading)
        let last = try RawClient(port: server.port)
        try last.upgrade()
        #expect(server.eventually { $0.echo.open.count == 2 })
        server.onLoop { $0.server.own($0.echo.open[1], by: "ben".id) }
        let body = String(repeating: "x", count: 60_000)
        try server.whileLoopWaits {
            try clients[0].sendText(body)
            for client in backend { try client.send(body) }
            try last.sendText(body)
        }
        #expect(server.eventually { $0.echo.messages.count == 2 && $0.echo.requests.count == 20 })
        #expect(server.onLoop { $0.echo.requestsBeforeLast } <= 3)
    }

    /// Large messages of twenty strangers, and two requests whose head and body come in one read:
    /// one of a socket before theirs, one behind them, since in one turn sockets are read in an
    /// order of the library's own.
    private static func requestsAmongStrangers(
        _ admission: Admission
    ) throws -> (beforeHead: Int, beforeRequest: Int) {
        let server = try TestServer()
        server.onLoop { $0.echo.admission = admission }
        let first = try RawClient(port: server.port)
        let strangers = try (0..<20).map { number in
            let client = try RawClient(port: server.port)
            try client.upgrade()
            #expect(server.eventually { $0.echo.open.count == number + 1 })
            return client
        }
        let last = try RawClient(port: server.port)
        let isHere = server.eventually { server in
            var count = 0
            server.server.connections.forEach { _ in count += 1 }
            return count == 22
        }
        #expect(isHere)
        let body = String(repeating: "x", count: 30_000)
        let request = "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 30000\r\n\r\n" + body
        try server.whileLoopWaits {
            try first.send(request)
            for client in strangers { try client.sendText(body) }
            try last.send(request)
        }
        #expect(server.eventually { $0.echo.messages.count == 20 })
        return server.onLoop { ($0.echo.messagesBeforeHead, $0.echo.messagesBeforeRequest) }
    }

    /// It does not wait among strangers: its body has the share of bodies.
    @Test func aHeadIsReadAtOnceAndItsBodyInTurn() throws {
        let before = try Self.requestsAmongStrangers(.accept(bodyLimit: nil, isFree: false))
        #expect(before.beforeHead <= 2 && before.beforeRequest <= 8)
    }

    /// Nor does a refusal, which the head alone decides.
    @Test func aRefusalDoesNotWaitForATurn() throws {
        let refusal = HTTPResponse(status: 401)
        #expect(try Self.requestsAmongStrangers(.refuse(refusal)).beforeHead <= 2)
    }
}
