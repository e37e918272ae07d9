import Chat
import Engine
import JSON
import Wire

/// The random actions in each turn, until the world is calm.
extension World: Workload {
    var users: [String] { scenario.users }
    var conversations: [String] { scenario.conversations }
    var connected: [Int] {
        connections.keys.sorted().filter { connections[$0]?.deadline == nil }
    }

    func act() {
        writeAsBackend()
        askInACrowd()
        for place in clients.indices {
            guard connections[place] != nil else {
                if random.chance(30) { connect(place) }
                continue
            }
            if random.chance(scenario.stalls) {
                count(.readers)
                connections[place]?.pace = random.pick([0, 40, 700, .max]) ?? .max
            }
            guard clients[place].isConnected, random.chance(scenario.requests) else { continue }
            // Several requests in one turn: none waits for the answer to the one before it.
            for _ in 0..<random.number(1...3) { ask(place) }
        }
    }

    /// One client asks for many pages at once, and all others after it for one.
    private func askInACrowd() {
        guard var crowd, let count = crowd.pages() else { return }
        for place in connections.keys.sorted() where clients[place].isConnected {
            for _ in 0..<(place == 0 ? count : 1) {
                let page = PageRequest(limit: place == 0 ? crowd.limit() : 1)
                guard let conversation = crowd.pick(conversations) else { continue }
                send(place, clients[place].fetch(conversation, page))
            }
        }
        self.crowd = crowd
    }

    /// Loses connections at random.
    func lose() throws(Violation) {
        for place in clients.indices where random.chance(scenario.losses) {
            if connections[place] != nil { count(.readers) }
            try disconnect(place)
        }
    }

    private func ask(_ place: Int) {
        guard let frame = deed(of: clients[place]) else { return }
        send(place, frame)
    }
}
