/// The one who writes the messages of a drill, over one connection, so that the number of each
/// change is known before the gateway answers. What is not answered when the connection ends is to
/// be sent again in the same order: a message that was written already is known by its id, and not
/// written twice.
struct Author {
    /// Its place in the swarm.
    let client: Int
    /// Whether it is connected and was welcomed.
    var isBack = false
    /// Whether it has been told to come back, and waits for its slot.
    var isLeaving = false
    /// What it waits for, oldest first; a second's worth at most, by the rate of the drills.
    private(set) var unanswered: [(id: Int, request: [UInt8])] = []
    private var newest = 1_000_000

    init(client: Int) { self.client = client }

    /// One more request, made with the number that it has.
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
