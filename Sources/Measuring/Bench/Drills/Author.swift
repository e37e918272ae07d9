/// The one author of a drill's messages, over one connection, so that the number of each change is
/// known before the gateway answers. Requests that are unanswered when the connection ends must be
/// sent again in the same order: the id of a message is its idempotency key, so none is written
/// twice.
struct Author {
    /// Its index in the swarm.
    let client: Int
    /// Whether its `connect` was answered.
    var isBack = false
    /// Whether it got a goaway and waits for its slot.
    var isLeaving = false
    /// Its unanswered requests, oldest first; at the rates of the drills, at most a second's worth.
    private(set) var unanswered: [(id: Int, request: [UInt8])] = []
    private var newest = 1_000_000

    init(client: Int) { self.client = client }

    /// Makes and records one more request, with the next id.
    mutating func ask(_ make: (Int) -> [UInt8]) -> [UInt8] {
        newest += 1
        let request = make(newest)
        unanswered.append((newest, request))
        return request
    }

    mutating func answered(_ id: Int) {
        if let place = unanswered.firstIndex(where: { $0.id == id }) {
            unanswered.remove(at: place)
        }
    }
}
