import Chat
import JSON
import TestSupport
import Wire

@testable import ChatClient
@testable import ClientCore

/// What happens in a world of faces, as data, so that a run can be repeated and made smaller.
enum Deed: Sendable, CustomStringConvertible {
    case write(Int), edit(Int), delete(Int), trim(Int), recreate
    case slow(Int, Int), lack(Int, Int), heal
    case cut, mend, refuse(Int), time(Int)
    case serve(Int), deliver(Int), tell(Int)
    case open(Int), close(Int), top(Int), bottom(Int), scroll(Int, Int), jump(Int, Int)
    case shrink(Int, Int)
    case send(Int), rewrite(Int, Int), read(Int, Int), again, forsake, rewind(Int), restart

    init(_ random: inout SplitMix64) {
        func up(to bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
        let face = up(to: 4)
        switch up(to: 126) {
        case ..<14:
            self = .write(up(to: 10) == 0 ? up(to: up(to: 4) == 0 ? 5_000 : 400) : up(to: 30))
        case ..<19: self = .edit(up(to: 1_000))
        case ..<22: self = .delete(up(to: 1_000))
        case ..<23: self = .trim(up(to: 600))
        case ..<24: self = .recreate
        case ..<26: self = .slow(up(to: 1_000), up(to: 40))
        case ..<28: self = .lack(up(to: 1_000), up(to: 40))
        case ..<30: self = .heal
        case ..<35: self = .cut
        case ..<41: self = .mend
        case ..<43: self = .refuse(1 + up(to: 3))
        case ..<46: self = .time(up(to: 40_000))
        case ..<56: self = .serve(1 + up(to: 4))
        case ..<64: self = .deliver(1 + up(to: 6))
        case ..<74: self = .tell(1 + up(to: 8))
        case ..<79: self = .open(face)
        case ..<81: self = .close(face)
        case ..<85: self = .top(face)
        case ..<90: self = .bottom(face)
        case ..<96: self = .scroll(face, up(to: 1_000))
        case ..<98: self = .jump(face, up(to: 1_300))
        case ..<100: self = .shrink(face, up(to: 1_000))
        case ..<110: self = .send(face)
        case ..<117: self = .rewrite(face, up(to: 1_000))
        case ..<119: self = .read(face, up(to: 1_000))
        case ..<121: self = .again
        case ..<122: self = .forsake
        case ..<124: self = .rewind(up(to: 1_000))
        default: self = .restart
        }
    }

    var description: String {
        switch self {
        case .write(let n): ".write(\(n))"
        case .edit(let n): ".edit(\(n))"
        case .delete(let n): ".delete(\(n))"
        case .trim(let n): ".trim(\(n))"
        case .recreate: ".recreate"
        case .slow(let a, let b): ".slow(\(a), \(b))"
        case .lack(let a, let b): ".lack(\(a), \(b))"
        case .heal: ".heal"
        case .cut: ".cut"
        case .mend: ".mend"
        case .refuse(let n): ".refuse(\(n))"
        case .time(let n): ".time(\(n))"
        case .serve(let n): ".serve(\(n))"
        case .deliver(let n): ".deliver(\(n))"
        case .tell(let n): ".tell(\(n))"
        case .open(let n): ".open(\(n))"
        case .close(let n): ".close(\(n))"
        case .top(let n): ".top(\(n))"
        case .bottom(let n): ".bottom(\(n))"
        case .scroll(let a, let b): ".scroll(\(a), \(b))"
        case .jump(let a, let b): ".jump(\(a), \(b))"
        case .shrink(let a, let b): ".shrink(\(a), \(b))"
        case .send(let n): ".send(\(n))"
        case .rewrite(let a, let b): ".rewrite(\(a), \(b))"
        case .read(let a, let b): ".read(\(a), \(b))"
        case .again: ".again"
        case .forsake: ".forsake"
        case .rewind(let n): ".rewind(\(n))"
        case .restart: ".restart"
        }
    }
}

/// Four objects for views on one conversation of one client, whose session is the real one, and a
/// gateway that answers late or refuses. Everything happens on one thread, in the order of the
/// deeds; each update that an object takes is judged by the log.
@MainActor
final class FaceWorld: FeedLink {
    final class Listener: Following {
        unowned let world: FaceWorld
        let take: @MainActor (ConversationUpdate) -> Void
        var waiting: [ConversationUpdate] = []
        var places = Coverage()

        init(_ world: FaceWorld, _ take: @escaping @MainActor (ConversationUpdate) -> Void) {
            self.world = world
            self.take = take
        }

        func watch(_ places: Coverage) {
            self.places = places
            world.watch()
        }

        func end() { world.end(self) }
    }

    var gateway = ModelGateway()
    private(set) var session: ClientCore.ClientSession
    private(set) var faces: [any JudgedFace] = []
    private(set) var judged = 0
    var written = WrittenByUser()
    private let limit: Int
    private let seen: Int
    private let options: ClientCore.ClientSession.Options
    private var listeners: [Listener] = []
    private var isUp = true
    private var now = Instant(monotonic: 0, clock: Timestamp(milliseconds: 1_700_000_000_000))
    private var isPerforming = false
    private var isSettling = false

    init(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        limit = [7, 25, 100].randomElement(using: &random) ?? 25
        var options = ClientCore.ClientSession.Options { 0.5 }
        options.page = [20, 100].randomElement(using: &random) ?? 100
        options.retained = [150, 2_000].randomElement(using: &random) ?? 2_000
        self.options = options
        session = ClientCore.ClientSession(options)
        gateway.write(Int.random(in: 0...300, using: &random))
        seen = Int.random(in: 0...max(1, gateway.log.seq), using: &random)
        begin()
    }

    /// The app begins, with nothing on its screen.
    private func begin() {
        faces = [
            JudgedList(self, limit: limit), JudgedHistory(self, limit: limit, seen: seen),
            JudgedSource(self, limit: limit), JudgedList(self, limit: limit, syncs: false),
        ]
        perform { $0.open($1) }
    }

    /// The app is killed, and begins again with what its store has.
    private func restart() throws {
        gateway.disconnect()
        let holder = session.holder(of: "c").flatMap { holder in
            holder.have.map {
                Holder($0, values: Array(holder.held.values), record: holder.record)
            }
        }
        let drafts = session.drafts(of: "c").compactMap { Draft(json: $0.json) }
        let changes = session.changes(of: "c").compactMap { Change(json: $0.json) }
        let read = session.unsentRead(of: "c")
        listeners = []
        session = ClientCore.ClientSession(options)
        session.restore("c", holder, drafts, changes, read: read)
        begin()
    }

    // MARK: The client

    func follow(
        _ conversation: String, _ take: @escaping @MainActor (ConversationUpdate) -> Void
    ) -> any Following {
        let listener = Listener(self, take)
        listeners.append(listener)
        if let snapshot = session.snapshot(of: "c") { listener.waiting.append(.began(snapshot)) }
        listener.waiting.append(.drafts(session.drafts(of: "c")))
        listener.waiting.append(.changes(session.changes(of: "c")))
        if session.isLive("c") { listener.waiting.append(.live(true)) }
        perform { session, _ in session.subscribe(to: "c") }
        return listener
    }

    func fetch(_ conversation: String, _ page: PageRequest, token: Int) {
        perform { session, _ in session.fetch("c", page, token: token) }
    }

    func send(conversation: String, body: String?, metadata: RawJSON?) -> String {
        let id = "own-\(written.messages.count)"
        let draft = Draft(id: id, body: body, metadata: metadata, createdAt: now.clock)
        perform { session, _ in session.send(draft, to: "c") }
        return id
    }

    func retry(_ draft: String, in conversation: String) {
        perform { session, _ in session.retry(draft, of: "c") }
    }

    func discard(_ draft: String, in conversation: String) {
        perform { session, _ in session.discard(draft, of: "c") }
    }

    func queue(_ change: Change, in conversation: String) {
        perform { session, _ in session.change(change, in: "c") }
    }

    func queueRead(upTo seq: Int, in conversation: String) {
        perform { session, _ in session.markRead("c", upTo: seq) }
    }

    func retryChange(_ change: String) {
        perform { session, _ in session.retryChange(change, of: "c") }
    }

    func discardChange(_ change: String) {
        perform { session, _ in session.discardChange(change, of: "c") }
    }

    private func end(_ listener: Listener) {
        listeners.removeAll { $0 === listener }
        watch()
        if listeners.isEmpty { perform { session, _ in session.unsubscribe(from: "c") } }
    }

    private func watch() {
        let places = listeners.reduce(Coverage()) { $0.union($1.places) }
        perform { session, _ in session.watch(places, of: "c") }
    }

    func perform(_ body: (inout ClientCore.ClientSession, Instant) -> Void) {
        body(&session, now)
        guard !isPerforming else { return }
        isPerforming = true
        defer { isPerforming = false }
        while true {
            let actions = session.takeActions()
            if actions.isEmpty { return }
            for action in actions { carryOut(action) }
        }
    }

    private func carryOut(_ action: ClientCore.ClientSession.Action) {
        switch action {
        case .ask(let attempt, _): session.credentials(.user("alice"), attempt: attempt, now)
        case .connect: isUp ? session.opened(now) : session.closed(code: nil, now)
        case .write(let text): if isUp { try? gateway.receive(text) }
        case .disconnect: gateway.disconnect()
        case .tell(_, let update): for listener in listeners { listener.waiting.append(update) }
        case .answer, .tellList, .state, .save, .saveList: break
        }
    }

    // MARK: Deeds

    func run(_ deeds: [Deed]) throws {
        for deed in deeds {
            try carryOut(deed)
            for face in faces { try face.judge(gateway.log, written) }
        }
        try rest()
    }

    private func carryOut(_ deed: Deed) throws {
        let seq = gateway.log.seq
        switch deed {
        case .write(let count): gateway.write(isUp ? min(count, 60) : count)
        case .edit(let part): gateway.change(seq * part / 1_000 + 1, delete: false)
        case .delete(let part): gateway.change(seq * part / 1_000 + 1, delete: true)
        case .trim(let part): gateway.trim(to: seq * part / 1_000)
        case .recreate: gateway.recreate()
        case .slow(let part, let count): lose(part, count, "slow")
        case .lack(let part, let count): lose(part, count, "upstream")
        case .heal: gateway.heal()
        case .cut: cut()
        case .mend:
            isUp = true
            perform { $0.wake($1) }
        case .refuse(let count): gateway.refusals += count
        case .time(let milliseconds): pass(milliseconds)
        case .serve(let count): for _ in 0..<count where gateway.serve() {}
        case .deliver(let count): for _ in 0..<count { try deliver() }
        case .tell(let count): for _ in 0..<count { try tell() }
        case .open(let at): faces[at].open()
        case .close(let at): faces[at].close()
        case .top(let at): faces[at].top()
        case .bottom(let at): faces[at].bottom()
        case .scroll(let at, let part): faces[at].scroll(part)
        case .jump(let at, let part): faces[at].jump(gateway.log, part)
        case .shrink(let at, let part): faces[at].shrink(part)
        case .rewind(let part): gateway.rewind(to: gateway.log.rev * part / 1_000)
        case .restart: try restart()
        case .send, .rewrite, .read, .again, .forsake: write(deed)
        }
    }

    private func lose(_ part: Int, _ count: Int, _ cause: String) {
        let low = max(gateway.log.floor, gateway.log.seq * part / 1_000)
        let high = min(low + count, gateway.log.seq)
        if low <= high { gateway.lose(Coverage(low, high), cause) }
    }

    private func cut() {
        isUp = false
        gateway.disconnect()
        perform { $0.closed(code: nil, $1) }
    }

    private func pass(_ milliseconds: Int) {
        now.monotonic += Int64(milliseconds)
        now.clock.milliseconds += Int64(milliseconds)
        perform { $0.tick($1) }
    }

    @discardableResult
    private func deliver() throws -> Bool {
        guard let frame = gateway.takeFrame() else { return false }
        perform { $0.received(frame, $1) }
        return true
    }

    /// Lets each object take one update, and judges it.
    @discardableResult
    private func tell() throws -> Bool {
        var any = false
        for listener in listeners where !listener.waiting.isEmpty {
            any = true
            listener.take(listener.waiting.removeFirst())
            judged += 1
            // While all comes to rest, most updates are looked at together.
            if !isSettling || judged.isMultiple(of: 16) {
                for face in faces { try face.judge(gateway.log, written) }
            }
        }
        return any
    }

    /// Lets everything happen that is under way.
    func settle() throws {
        isSettling = true
        defer { isSettling = false }
        for _ in 0..<100_000 {
            let isServed = gateway.serve()
            let isDelivered = try deliver()
            let isTold = try tell()
            if !isServed, !isDelivered, !isTold {
                if session.isLive("c"), !isWriting { return }
                pass(1_000)
            }
        }
        throw TestFailure("it does not come to rest")
    }

    /// All is quiet, and the user scrolls to the bottom: every object shows what the log has.
    private func rest() throws {
        gateway.refusals = 0
        isUp = true
        perform { $0.wake($1) }
        for face in faces { face.open() }
        try settle()
        gateway.heal()
        try settle()
        try judgeWritten()
        if faces.contains(where: { $0.feed.window.head?.floor != gateway.log.floor }) {
            // Nobody is told of a trim before the next event.
            gateway.write(1)
            try settle()
        }
        for (at, face) in faces.enumerated() {
            let before = gateway.fetches
            let missing = gateway.log.seq - gateway.log.floor + 1
            let oneWay = 2 * (missing / face.limit) + 20
            var (turns, bound) = (0, oneWay)
            while turns < bound, face.hasMore.after || !face.gaps.isEmpty {
                turns += 1
                if face.hasMore.after {
                    face.bottom()
                } else {
                    // A gap above the first row that is held: the reader scrolls up, and back.
                    bound = 2 * oneWay
                    face.top()
                }
                try settle()
            }
            try face.judgeRest(gateway.log, written, "face \(at)")
            if gateway.fetches - before > bound {
                throw TestFailure("face \(at): \(gateway.fetches - before) requests")
            }
        }
    }
}
