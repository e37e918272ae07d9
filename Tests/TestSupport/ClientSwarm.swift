import Glibc

/// Many clients in one test, all on its thread: `poll` tells which of them have something to read.
package final class ClientSwarm {
    package private(set) var clients: [ChatTestClient] = []
    /// Places of clients that read nothing for now.
    package var paused: Set<Int> = []
    private let frames = FrameCache()

    package init() {}

    /// Connects `count` clients; `user` names each by its place.
    ///
    /// - Throws: what the client throws.
    package init(count: Int, port: Int, user: (Int) -> String) throws {
        for place in 0..<count {
            let client = try ChatTestClient(port: port)
            add(client)
            try client.connect(user: user(place))
        }
    }

    package func add(_ client: ChatTestClient) {
        client.frames = frames
        client.queuesEvents = false
        clients.append(client)
    }

    /// Sends the same request from each client and waits for all the results.
    ///
    /// - Throws: what the client throws, and `TestFailure` at the deadline.
    @discardableResult
    package func request(
        _ method: String, deadline: Deadline = .standard, _ params: (ChatTestClient) -> JSONValue
    ) throws -> [JSONValue] {
        let sent = try clients.map { try $0.send(method, params($0)) }
        var results: [Int: JSONValue] = [:]
        let isWhole = try run(deadline) { [clients] in
            for (place, client) in clients.enumerated() where results[place] == nil {
                results[place] = client.takeReply(to: sent[place])
            }
            return results.count == clients.count
        }
        guard isWhole else {
            throw TestFailure("\(method): \(results.count) of \(clients.count) replies in time")
        }
        return try clients.indices.map { place in
            let reply = results[place] ?? .null
            guard reply["error"].isNull else {
                throw TestFailure("\(method) of client \(place): \(reply["error"])")
            }
            return reply["result"]
        }
    }

    /// Reads from whichever client has something, until `condition` holds.
    ///
    /// - Returns: Whether it came to hold before the deadline.
    package func run(_ deadline: Deadline = .standard, until condition: () throws -> Bool) throws
        -> Bool
    {
        while try !condition() {
            guard !deadline.isOver else { return false }
            try turn(milliseconds: min(deadline.milliseconds, 100))
        }
        return true
    }

    /// One look at all sockets.
    package func turn(milliseconds: Int32 = 0) throws {
        let places = clients.indices.filter {
            !paused.contains($0) && !clients[$0].connection.hasEnded
        }
        var entries = places.map {
            pollfd(fd: clients[$0].connection.socket.descriptor, events: Int16(POLLIN), revents: 0)
        }
        guard poll(&entries, nfds_t(entries.count), milliseconds) > 0 else { return }
        for (place, entry) in zip(places, entries) where entry.revents != 0 {
            try clients[place].pump()
        }
    }
}
