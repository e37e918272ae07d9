import Chat
import Engine
import Wire

/// The end of a run: the faults stop, all clients read everything and ask for what they know to be
/// missing, and then everything must be whole and quiet.
extension World {
    /// A whole run: `steps` turns with everything, then rest.
    /// - Throws: `Violation`, with the turn in which it was found.
    package func run(steps: Int) throws(Violation) {
        try run.judge { () throws(Violation) in
            for _ in 0..<steps {
                try lose()
                try step()
            }
            run.isCalm = true
            connections.readEverything()
            try comeToRest()
            for _ in 0..<40 where heal() { try comeToRest() }
            try checkWhole()
        }
    }

    private func comeToRest() throws(Violation) {
        for _ in 0..<1000 {
            try step()
            if isQuiet { return try checkRest() }
        }
        throw Violation("the world does not come to rest")
    }

    private func checkWhole() throws(Violation) {
        let oracle = Oracle(origin: origin)
        for place in connections.connected {
            let client = clients[place]
            do throws(Violation) {
                for (conversation, holding) in client.holdings where holding.isSubscribed {
                    try oracle.checkWhole(holding, conversation)
                }
                if client.list.isWatched { try client.list.checkWhole(client.user, oracle) }
            } catch {
                throw Violation("\(client.name): \(error)")
            }
        }
    }
}
