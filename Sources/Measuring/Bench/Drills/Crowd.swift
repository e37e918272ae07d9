/// The clients of a drill and the author of its messages, on one epoll and one thread. Each client
/// holds conversations by the rules of the protocol, reconnects after a cut or in the slot that it
/// was given, and fetches its gaps. A drill acts on them through the agenda, and reacts in `tell`.
final class Crowd: FrameReceiver {
    /// One client of the drill.
    struct Member {
        /// The indices of its rooms, in the order of its holdings.
        let rooms: [Int]
        /// The index of its first holding.
        let first: Int
        var manner: Socket.Manner
        /// When it began to (re)connect.
        var dialled: Nanoseconds = 0
        /// Answers still missing until it is back.
        var lacking = 0
        var isBack = false
        /// Failed attempts since it was last connected.
        var tries = 0
        /// Whether it got a goaway and waits for its slot.
        var isLeaving = false
        /// The number of places in the gaps that it got.
        var declaredCount = 0
    }

    /// Scheduled actions.
    enum Act {
        case cut(Int)
        case dial(Int)
        /// The slot of a client that got a goaway: it reconnects now, whether or not it was closed.
        case comeBack(Int)
        /// A stalled client reads a little, and again after each interval.
        case sip(Int, every: Nanoseconds)
        /// A step of the drill.
        case step(Int)
    }

    /// Events for a drill.
    enum News {
        /// A client tries to connect.
        case dialling(Int)
        /// A client's upgrade was answered.
        case opened(Int)
        /// A client got a goaway, with its slot.
        case goaway(Int, slot: Nanoseconds)
        /// A client has the answers of all its subscriptions.
        case back(Int)
        /// The author is connected.
        case authorBack
        /// A step of the drill is due; `due` is when it was scheduled.
        case step(Int, due: Nanoseconds)
    }

    let swarm: Swarm
    let rooms: [Room]
    private(set) var members: [Member] = []
    var holdings: [Holding] = []
    var ledger = Ledger()
    var agenda = Agenda<(act: Act, due: Nanoseconds)>()
    /// Whether a connection that ends is to reconnect; otherwise its end is a fault.
    var isComingBack = false
    var tell: (News) throws(BenchError) -> Void = { _ in }
    /// Whether a client's live deliveries count in the latencies.
    var isCounting: (Int) -> Bool = { _ in true }
    private(set) var backCount = 0
    private var random = Generator()

    private(set) var author: Author?
    private let body: String
    /// Whether the author is connected.
    var isAuthorBack: Bool { author?.isBack == true }
    /// The number of the author's unanswered requests.
    var unanswered: Int { author?.unanswered.count ?? 0 }

    private var frames: FrameReader

    private static let connectRequest = 1
    private static let subscribeRequest = 10
    private static let healRequest = 100_000
    /// The bytes that a stalled reader takes at a time. Its kernel announces free space only in
    /// units of some kilobytes, and a peer that takes nothing for long counts as gone.
    private static let sip = 4096
    /// Clients per source address of the loopback.
    private static let portsPerAddress = 20_000
    /// More than any client of these drills misses at once.
    private static let resumeLimit = 1000

    /// - Parameter prefix: the names of the rooms are this, followed by the index.
    /// - Throws: `BenchError.failure`
    init(_ site: Site, _ rooms: [Room], prefix: String, body: Int) throws(BenchError) {
        swarm = try Swarm(site.endpoint)
        self.rooms = rooms
        frames = FrameReader(prefix: prefix)
        self.body = String(repeating: "x", count: body)
    }

    // MARK: - Who is there

    /// Adds a client that is not connected yet.
    func add(rooms: [Int]) {
        let client = swarm.addUnconnected()
        let manner = Socket.Manner(
            isPatient: true, source: UInt32(client.index / Self.portsPerAddress))
        members.append(Member(rooms: rooms, first: holdings.count, manner: manner))
        holdings += rooms.map { _ in Holding() }
    }

    /// Gives a client, before it connects, a socket with small kernel buffers.
    func stall(_ index: Int) { members[index].manner.receiveBuffer = 4096 }

    /// Adds the author; must be called after the last `add`.
    /// - Throws: `BenchError.failure`
    func addAuthor() throws(BenchError) {
        author = Author(client: swarm.addUnconnected().index)
        try dialAuthor()
    }

    /// Connects the clients, at most `width` at a time, until all are back.
    /// - Throws: `BenchError.failure` if they are not in time.
    func dialAll(width: Int, patience: Nanoseconds = 120 * Clock.second) throws(BenchError) {
        let deadline = Clock.now() + patience
        var next = 0
        while backCount < members.count {
            while next < members.count, next - backCount < width {
                try dial(next)
                next += 1
            }
            try turn(until: min(deadline, Clock.now() + Clock.second))
            guard Clock.now() < deadline else {
                throw .failure("connecting \(members.count) clients: \(backCount) in time")
            }
        }
    }

    func dial(_ index: Int) throws(BenchError) {
        // The time of the first attempt: a refusal does not restart it.
        if members[index].tries == 0 { members[index].dialled = Clock.now() }
        try tell(.dialling(index))
        do throws(BenchError) {
            try swarm.dial(swarm.clients[index], members[index].manner)
        } catch let error where error.kind == .ended {
            swarm.cut(swarm.clients[index])
            try ended(swarm.clients[index], error.description)
        }
    }

    private func dialAuthor() throws(BenchError) {
        guard let author else { return }
        let client = swarm.clients[author.client]
        do throws(BenchError) {
            try swarm.dial(client, Socket.Manner(isPatient: true))
        } catch let error where error.kind == .ended {
            swarm.cut(client)
            try ended(client, error.description)
        }
    }

    /// Cuts a client's connection; it does not reconnect by itself.
    func cut(_ index: Int) {
        swarm.cut(swarm.clients[index])
        leave(index)
    }

    private func leave(_ index: Int) {
        if members[index].isBack { backCount -= 1 }
        members[index].isBack = false
        for place in holdings(of: index) { holdings[place].disconnect() }
    }

    func holdings(of index: Int) -> Range<Int> {
        members[index].first..<(members[index].first + members[index].rooms.count)
    }

    // MARK: - Time

    /// Runs until a time, or until `condition` holds.
    /// - Throws: `BenchError`
    func run(
        until end: Nanoseconds, or condition: () -> Bool = { false }
    ) throws(BenchError) {
        // The condition may become true without any frame for these clients.
        while Clock.now() < end, !condition() {
            try turn(until: min(end, Clock.now() + Self.look))
        }
    }

    private static let look = 20 * Clock.millisecond

    private func turn(until end: Nanoseconds) throws(BenchError) {
        while let item = agenda.take(at: Clock.now()) {
            switch item.act {
            case .cut(let index): cut(index)
            case .dial(let index):
                if index == author?.client { try dialAuthor() } else { try dial(index) }
            case .comeBack(let index): try comeBack(index)
            case .sip(let index, let span):
                try sip(index)
                schedule(item.act, at: item.due + span)
            case .step(let number): try tell(.step(number, due: item.due))
            }
        }
        try swarm.turn(for: self, until: min(end, agenda.next ?? end))
    }

    private func sip(_ index: Int) throws(BenchError) {
        let client = swarm.clients[index]
        do throws(BenchError) {
            try swarm.sip(Self.sip, client, for: self)
        } catch let error where error.kind == .ended {
            swarm.cut(client)
            try ended(client, error.description)
        }
    }

    func schedule(_ act: Act, at moment: Nanoseconds) {
        agenda.add((act, moment), at: moment)
    }

    /// A random span, up to `part` of it shorter or longer.
    func around(_ span: Nanoseconds, by part: Double) -> Nanoseconds {
        span + Int(Double(span) * Double.random(in: -part...part, using: &random))
    }

    func some(below span: Int) -> Int { Int.random(in: 0..<max(1, span), using: &random) }

    // MARK: - What is sent

    /// Sends one more message to a room.
    func publish(_ room: Room, due: Nanoseconds) throws(BenchError) {
        let id = Room.id(of: room.insert(due: due))
        try request {
            Request.sendMessage(id: $0, conversation: room.name, message: id, body: body)
        }
    }

    /// Edits a message of a room.
    func edit(_ seq: Int, of room: Room, due: Nanoseconds) throws(BenchError) {
        room.edit(seq, due: due)
        try request {
            Request.editMessage(
                id: $0, conversation: room.name, message: Room.id(of: seq),
                body: "edited \(room.rev)")
        }
    }

    private func request(_ make: (Int) -> [UInt8]) throws(BenchError) {
        guard let author, author.isBack else { throw .failure("sending: the author is away") }
        let request = self.author?.ask(make) ?? []
        try swarm.send(request, to: swarm.clients[author.client])
    }

    // MARK: - What comes

    func opened(_ client: Client) throws(BenchError) {
        let isAuthor = client.index == author?.client
        let user = isAuthor ? "author" : "user-\(client.index)"
        var frames = Frame.masked(
            Frame.Opcode.text, Request.connect(id: Self.connectRequest, user: user))
        if !isAuthor {
            let member = members[client.index]
            for (slot, room) in member.rooms.enumerated() {
                let subscribe = Request.subscribe(
                    id: Self.subscribeRequest + slot, conversation: rooms[room].name,
                    limit: Self.resumeLimit, have: holdings[member.first + slot].have)
                frames += Frame.masked(Frame.Opcode.text, subscribe)
            }
            members[client.index].lacking = member.rooms.count
        }
        try swarm.write(frames, to: client)
        if !isAuthor { try tell(.opened(client.index)) }
    }

    func received(_ payload: Span<UInt8>, on client: Client) throws(BenchError) {
        if let reply = try Reply(payload) {
            guard reply.isFinal else { return }
            let rest = payload.extracting(reply.rest..<payload.count)
            return try replied(reply.id, rest, client)
        }
        guard let frame = try frames.event(payload) else { return try noted(payload, on: client) }
        guard client.index != author?.client,
            let slot = members[client.index].rooms.firstIndex(where: { $0 == frame.room })
        else { return }
        try apply(frame, client, slot, .live)
    }

    private func replied(
        _ id: Int, _ rest: Span<UInt8>, _ client: Client
    ) throws(BenchError) {
        if client.index == author?.client { return try answeredAuthor(id, client) }
        guard id != Self.connectRequest else { return }
        let isPage = id >= Self.healRequest
        let slot = id - (isPage ? Self.healRequest : Self.subscribeRequest)
        guard let frame = try frames.reply(rest, isPage ? .page : .subscribed) else { return }
        if isPage { holdings[members[client.index].first + slot].isHealing = false }
        try apply(frame, client, slot, isPage ? .healing : .replay)
        if !isPage { try subscribed(client.index) }
    }

    private func answeredAuthor(_ id: Int, _ client: Client) throws(BenchError) {
        guard id == Self.connectRequest else {
            author?.answered(id)
            return
        }
        author?.isBack = true
        // Unanswered requests may be lost; those that were not are not written twice.
        for (_, request) in author?.unanswered ?? [] { try swarm.send(request, to: client) }
        try tell(.authorBack)
    }

    private func subscribed(_ index: Int) throws(BenchError) {
        members[index].lacking -= 1
        guard members[index].lacking == 0 else { return }
        members[index].isBack = true
        members[index].tries = 0
        backCount += 1
        ledger.resumes += 1
        ledger.resumeLatency.record(swarm.now - members[index].dialled)
        try tell(.back(index))
    }

    private func apply(
        _ frame: StreamFrame, _ client: Client, _ slot: Int, _ way: Ledger.Way
    ) throws(BenchError) {
        let member = members[client.index]
        let place = member.first + slot
        let room = rooms[member.rooms[slot]]
        members[client.index].declaredCount += frame.gaps.count
        ledger.isCounting = isCounting(client.index)
        holdings[place].apply(frame, room, way, &ledger, at: swarm.now)
        guard let gap = holdings[place].declared.ranges.last, !holdings[place].isHealing else {
            return
        }
        if frame.kind == .page, frame.covers.isEmpty {
            return ledger.note("a page of a gap proves nothing")
        }
        holdings[place].isHealing = true
        try swarm.send(
            Request.fetchGap(id: Self.healRequest + slot, conversation: room.name, gap),
            to: client)
    }

    // MARK: - Being sent away

    /// An event that concerns no conversation.
    private func noted(_ payload: Span<UInt8>, on client: Client) throws(BenchError) {
        guard let delay = try Goaway(payload)?.delay else { return }
        let slot = swarm.now + delay
        schedule(.comeBack(client.index), at: slot)
        guard client.index != author?.client else {
            author?.isLeaving = true
            return
        }
        members[client.index].isLeaving = true
        try tell(.goaway(client.index, slot: slot))
    }

    /// Like the gateway's own client: in its slot it disconnects and reconnects.
    private func comeBack(_ index: Int) throws(BenchError) {
        guard index != author?.client else {
            author?.isBack = false
            author?.isLeaving = false
            swarm.cut(swarm.clients[index])
            return try dialAuthor()
        }
        cut(index)
        members[index].isLeaving = false
        try dial(index)
    }

    func ended(_ client: Client, _ reason: String) throws(BenchError) {
        if client.index == author?.client {
            author?.isBack = false
            guard author?.isLeaving != true else { return }
            guard isComingBack else { throw .failure("the author's connection: \(reason)") }
            return schedule(.dial(client.index), at: Clock.now() + 250 * Clock.millisecond)
        }
        leave(client.index)
        // It reconnects in its slot.
        guard !members[client.index].isLeaving else { return }
        ledger.ends += 1
        guard isComingBack else { return ledger.note("a connection was lost: \(reason)") }
        if members[client.index].tries == 0 { members[client.index].dialled = Clock.now() }
        members[client.index].tries += 1
        // Like the gateway's own client: exponential backoff from half a second, with jitter: up to
        // half is random.
        let full = 500 << min(6, members[client.index].tries - 1)
        let wait = (full / 2 + some(below: full / 2)) * Clock.millisecond
        schedule(.dial(client.index), at: Clock.now() + wait)
    }
}
