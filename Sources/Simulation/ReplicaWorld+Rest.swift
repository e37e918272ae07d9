import Chat
import Engine
import Wire

/// Invariants after every turn of a world with its origin elsewhere, and at the end, when the
/// faults have stopped and all clients have read everything and asked for what they know to be
/// missing.
extension ReplicaWorld {
    /// A whole run: `steps` turns with everything, then rest.
    /// - Throws: `Violation`, with the turn in which it was found.
    package func run(steps: Int) throws(Violation) {
        try run.judge { () throws(Violation) in
            for _ in 0..<steps { try step() }
            run.isCalm = true
            backend.mendEverything()
            connections.readEverything()
            for gateway in gateways {
                gateway.act.last = nil
                if gateway.engine == nil { shell.start(gateway) }
            }
            try rest()
        }
    }

    func rest() throws(Violation) {
        try comeToRest()
        for _ in 0..<40 where heal() { try comeToRest() }
        try checkWhole()
    }

    // MARK: - After every turn

    func checkTurn() throws(Violation) {
        for gateway in gateways {
            if let engine = gateway.engine {
                try gateway.fairness.check()
                let error = engine.report.totals().accounting.error
                try require(
                    error == 0, "the accounting of gateway \(gateway.place) is out by \(error)")
                let stranded = engine.report.strandedSubscriptions
                try require(stranded == 0, "\(stranded) subscriptions of sessions that are gone")
            }
            try checkStore(gateway)
        }
        let received = connections.receivedDeltas
        try require(received <= written, "\(received) deltas came, \(written) were written")
        for (place, connection) in connections.open.sorted(by: { $0.key < $1.key })
        where connection.deadline == nil && connection.socket.isEmpty {
            // Frames still queued in the gateway count as sent.
            let engine = gateways[connection.gateway].engine
            guard engine?.report.totals().outboxBytes == 0 else { continue }
            try checkTold(clients[place], gateways[connection.gateway])
        }
    }

    private var written: Int {
        gateways.reduce(0) {
            $0 + $1.written + ($1.engine?.report.totals().accounting.written ?? 0)
        }
    }

    private func checkStore(_ gateway: Gateway) throws(Violation) {
        let oracle = Oracle(origin: origin, isReplica: true)
        for conversation in gateway.store.touched.sorted() {
            guard let entry = gateway.store.entries[conversation] else { continue }
            do throws(Violation) {
                try oracle.check(entry, conversation)
            } catch {
                throw Violation("cache of gateway \(gateway.place), \(conversation): \(error)")
            }
        }
        gateway.store.touched = []
    }

    /// A client that has read everything knows the present, or knows that it may not.
    private func checkTold(_ client: Client, _ gateway: Gateway) throws(Violation) {
        for (conversation, holding) in client.holdings.sorted(by: { $0.key < $1.key }) {
            if gateway.damaged.contains(conversation), holding.position != nil {
                try require(
                    client.isOpen(conversation)
                        || gateway.engine?.report.keepsBack(conversation) == true,
                    "\(client.name) was not told that a part of \(conversation) is gone")
            }
            guard let position = holding.position, let head = holding.head,
                !client.isOpen(conversation), !isExcused(conversation, gateway),
                gateway.engine?.report.keepsBack(conversation) != true
            else { continue }
            guard let log = origin.log(conversation) else {
                throw Violation("\(client.name) was not told that \(conversation) is gone")
            }
            try require(
                position == log.rev && head.mark == log.head.mark,
                "\(client.name) stands at \(position) of \(conversation),"
                    + " \(log.rev) is the present, and it was not told that there may be more")
        }
    }

    /// Whether the gateway can't know the present yet.
    private func isExcused(_ conversation: String, _ gateway: Gateway) -> Bool {
        let link = gateway.link
        if gateway.isWithOld { return true }
        if link.isDead || link.isBringing(conversation) || !link.acknowledged.contains(conversation)
        {
            return true
        }
        guard let loss = gateway.losses[conversation] else { return false }
        guard let shownAt = loss.shownAt else { return true }
        guard run.now.milliseconds > shownAt.milliseconds + scenario.sync.gapGrace else {
            return true
        }
        gateway.losses[conversation] = nil
        return false
    }

    // MARK: - Rest

    private var isQuiet: Bool {
        gateways.allSatisfy(\.isQuiet)
            && connections.isQuiet
    }

    /// Until nothing happens for so long that every stream was compared with its log.
    private func comeToRest() throws(Violation) {
        let turns = Int(scenario.sync.verifyInterval + scenario.sync.backoffMax) / 200 + 20
        var quiet = 0
        for _ in 0..<(turns * 6) {
            try step()
            for gateway in gateways where gateway.act.lastDeed == run.turn { quiet = 0 }
            quiet = isQuiet ? quiet + 1 : 0
            if quiet > turns { return try checkRest() }
        }
        let waiting = clients.map { "\($0.name) \($0.asked)" }
        let busy = gateways.map { "\($0.isQuiet) \($0.act.lastDeed)" }
        throw Violation("the world does not come to rest: \(busy), \(waiting)")
    }

    private func checkRest() throws(Violation) {
        let received = connections.receivedDeltas
        try require(received == written, "\(received) deltas came, \(written) were written")
        for gateway in gateways {
            guard let engine = gateway.engine else { continue }
            let gaps = engine.report.openGaps()
            try require(gaps.isEmpty, "gateway \(gateway.place) has open gaps at rest: \(gaps)")
            try require(
                engine.report.upstream.state == .online,
                "gateway \(gateway.place) is \(engine.report.upstream.state) at rest")
            let figures = engine.report.syncFigures()
            try require(
                figures.queued == 0 && figures.fetching == gateway.flight.fetches.count,
                "gateway \(gateway.place) has \(figures.queued) questions queued and"
                    + " \(figures.fetching) under way at rest")
        }
    }

    private func checkWhole() throws(Violation) {
        let oracle = Oracle(origin: origin, isReplica: true)
        for place in connections.connected {
            let client = clients[place]
            do throws(Violation) {
                for (conversation, holding) in client.holdings where holding.isSubscribed {
                    try require(!client.isOpen(conversation), "\(conversation) is open at rest")
                    try oracle.checkWhole(holding, conversation)
                }
                // After a silent loss a list is corrected only when it is read again. So it is
                // where a log that nobody here follows was put back.
                let isTold = run.faults.isDisjoint(with: [.drops, .empties, .damages])
                guard client.list.isWatched, isTold else { continue }
                let gateway = gateways[homes[place] ?? 0]
                try client.list.checkWhole(client.user, oracle, excused: gateway.unheardForks)
            } catch {
                throw Violation("\(client.name): \(error)")
            }
        }
    }
}
