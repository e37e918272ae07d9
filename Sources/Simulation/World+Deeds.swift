import Chat
import Engine
import JSON
import Wire

/// The random actions in each run.turn, until the world is calm.
extension World: Workload {
    var users: [String] { scenario.users }
    var conversations: [String] { scenario.conversations }

    func act() {
        writeAsBackend()
        askInACrowd()
        for place in clients.indices {
            guard connections.open[place] != nil else {
                if run.random.chance(30) { connections.connect(place, to: process) }
                continue
            }
            if run.random.chance(scenario.stalls) {
                run.count(.readers)
                connections.setPace(run.random.pick([0, 40, 700, .max]) ?? .max, of: place)
            }
            guard clients[place].isConnected, run.random.chance(scenario.requests) else { continue }
            // Several requests in one turn: none waits for the answer to the one before it.
            for _ in 0..<run.random.number(1...3) { ask(place) }
        }
    }

    /// One client asks for many pages at once, and all others after it for one.
    private func askInACrowd() {
        guard var crowd, let count = crowd.pages() else { return }
        for place in connections.open.keys.sorted() where clients[place].isConnected {
            for _ in 0..<(place == 0 ? count : 1) {
                let page = PageRequest(limit: place == 0 ? crowd.limit() : 1)
                guard let conversation = crowd.pick(conversations) else { continue }
                connections.send(place, clients[place].fetch(conversation, page))
            }
        }
        self.crowd = crowd
    }

    /// Loses connections at run.random.
    func lose() throws(Violation) {
        for place in clients.indices where run.random.chance(scenario.losses) {
            if connections.open[place] != nil { run.count(.readers) }
            try connections.disconnect(place)
        }
    }

    private func ask(_ place: Int) {
        guard let frame = deed(of: clients[place]) else { return }
        connections.send(place, frame)
    }
}
