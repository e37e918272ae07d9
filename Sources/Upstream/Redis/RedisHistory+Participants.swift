import Chat
import Dispatch
import Ports
import Synchronization
import Wire

/// Pages of participants. Redis keeps them unordered, so one page would cost as much as all; the
/// order is cached here until somebody joins or leaves.
extension RedisHistory {
    func participants(
        _ id: String, _ request: ParticipantsRequest, _ reader: String?,
        then answer: @escaping @Sendable (Result<ParticipantList, RequestError>) -> Void
    ) {
        let known = request.limit > 0 ? rosters.roster(of: id) : nil
        if known != nil { return read(id, request, reader, known, then: answer) }
        wholeLists.enter { [self] over in
            // A request that waited while another one read all of it reads a page.
            let known = request.limit > 0 ? rosters.roster(of: id) : nil
            read(id, request, reader, known) { result in
                answer(result)
                over()
            }
        }
    }

    private func read(
        _ id: String, _ request: ParticipantsRequest, _ reader: String?, _ known: Roster?,
        then answer: @escaping @Sendable (Result<ParticipantList, RequestError>) -> Void
    ) {
        let page = known?.page(request)
        let asked = page.map { ["page", known?.version ?? ""] + $0 } ?? ["0"]
        step(asked, of: id, for: reader, MemberWalk()) { [self] result in
            let people = (try? result.get())?.people ?? 0
            wholeLists.work(on: people) { [self] in
                answer(result.flatMap { list($0, of: id, request, known) })
            }
        }
    }

    /// Reads a page, or all members in steps, so that other commands come between. If slot 0
    /// changes meanwhile, begins again; after a few times, reads all of them in one step.
    private func step(
        _ asked: [String], of id: String, for reader: String?, _ walk: MemberWalk,
        then: @escaping @Sendable (Result<MemberWalk, RequestError>) -> Void
    ) {
        let arguments = ([reader ?? ""] + asked).map { Array($0.utf8) }
        scripts.run(.people, of: id, arguments) { [self] result in
            do throws(RequestError) {
                var walk = walk
                switch walk.take(try result.get()) {
                case .isOver: then(.success(walk))
                case .goesOn(let cursor): step([cursor], of: id, for: reader, walk, then: then)
                case .isTorn:
                    guard walk.tries < MemberWalk.tryLimit else { throw .unreadable }
                    let again = MemberWalk(tries: walk.tries + 1)
                    step([again.cursor], of: id, for: reader, again, then: then)
                }
            } catch {
                then(.failure(error))
            }
        }
    }

    private func list(
        _ read: MemberWalk, of id: String, _ request: ParticipantsRequest, _ known: Roster?
    ) -> Result<ParticipantList, RequestError> {
        guard let members = read.members else { return .failure(.unreadable) }
        let places = read.places
        func list(_ members: [StoredMember], of total: Int) -> ParticipantList {
            let objects = members.map { member in
                member.json(lastReadSeq: places[Array(member.user.utf8)] ?? 0)
            }
            return ParticipantList(participants: objects, total: total)
        }
        let ordered = request.order == .asc ? members : members.reversed()
        guard let version = read.version else {
            return .success(list(ordered, of: known?.users.count ?? 0))
        }
        rosters.keep(Roster(version: version, users: members.map(\.user)), of: id)
        guard request.limit > 0 else { return .success(list(ordered, of: members.count)) }
        let page = ordered.dropFirst(max(0, request.offset)).prefix(request.limit)
        return .success(list(Array(page), of: members.count))
    }
}

/// A page of members, or a walk through all of them, from the replies of the script `people`.
struct MemberWalk: Sendable {
    /// How often a walk that somebody disturbs begins again before all is read in one step.
    static let tryLimit = 3

    enum Step: Equatable {
        case isOver
        case goesOn(cursor: String)
        /// The steps were answered from different states of slot 0.
        case isTorn
    }

    /// What is the same in each step: the version of the member list, the rev of slot 0, the rows.
    private struct State: Equatable, Sendable {
        let version: String
        let record: Int
        let size: Int
    }

    /// How often it has begun before.
    let tries: Int
    private var state: State?
    /// User and row, and user and read marker, in turns; several steps may have the same user.
    private var rows: [RedisReply] = []
    private var marks: [RedisReply] = []

    init(tries: Int = 0) { self.tries = tries }

    /// Where it begins.
    var cursor: String { tries < Self.tryLimit ? "0" : "all" }

    /// The version of the member list; nil for a page of it.
    var version: String? { state?.version }

    /// The number of rows, as far as they were read.
    var people: Int { rows.count / 2 }

    mutating func take(_ answer: RedisScripts.Answer) -> Step {
        rows += answer[1].elements
        marks += answer[2].elements
        guard answer.word != "page" else { return .isOver }
        let now = State(
            version: answer[3].string ?? "", record: answer[4].place ?? 0,
            size: answer[5].int ?? 0)
        guard state == nil || state == now else { return .isTorn }
        state = now
        guard let cursor = answer[6].string, cursor != "0" else {
            return distinct == now.size ? .isOver : .isTorn
        }
        return .goesOn(cursor: cursor)
    }

    /// The rows of different users. A cursor means nothing to another server: a walk that went on
    /// at a new master, or where the slot has moved, may show some users twice and others never.
    private var distinct: Int {
        var names: Set<[UInt8]> = []
        for at in stride(from: 0, to: rows.count, by: 2) { names.insert(rows[at].bytes ?? []) }
        return names.count
    }

    /// The members in the order in which they joined; nil if one of them can't be read.
    var members: [StoredMember]? {
        let members = StoredMember.all(.array(rows))
        // While the hash grows, steps of a walk may show a user twice.
        guard let state, people > state.size else { return members }
        var seen: Set<ID> = []
        return members?.filter { seen.insert($0.user.id).inserted }
    }

    /// The read markers by user.
    var places: [[UInt8]: Int] {
        var places: [[UInt8]: Int] = [:]
        for at in stride(from: 0, to: marks.count - marks.count % 2, by: 2) {
            places[marks[at].bytes ?? []] = marks[at + 1].place
        }
        return places
    }
}

/// Reads of whole member lists: one at a time, users in turns, since each may hold thousands of
/// people; and large ones are put together on a thread of their own, so that the answers to other
/// commands don't wait behind them.
final class WholeLists: Sendable {
    /// As many are put together at once: a tenth of a millisecond or so.
    private static let few = 100

    private let line = SerialQueues()
    private let queue = DispatchQueue(label: "gapless.redis.people")

    /// Runs `work` when its turn comes.
    func enter(_ work: @escaping SerialQueues.Work) { line.enter("", work) }

    /// Runs `work` at once for few people, and otherwise soon, on another thread.
    func work(on people: Int, _ work: @escaping @Sendable () -> Void) {
        guard people > Self.few else { return work() }
        let payer = Payer.current
        queue.async { Payer.$current.withValue(payer, operation: work) }
    }

    /// Returns when nothing more is put together.
    func stop() { queue.sync {} }
}

/// The participants in the order in which they joined, with the version of the member list.
struct Roster: Sendable {
    let version: String
    let users: [String]

    /// The users of a page, in no particular order.
    func page(_ request: ParticipantsRequest) -> [String] {
        let offset = max(0, request.offset)
        let page: ArraySlice<String>
        switch request.order {
        case .asc: page = users.dropFirst(offset).prefix(request.limit)
        case .desc: page = users.dropLast(offset).suffix(request.limit)
        }
        return Array(page)
    }
}

/// The most recently used rosters. They may be outdated: the script checks the version.
final class Rosters: Sendable {
    /// The most people in all rosters; a single one may be larger.
    private static let limit = 500_000

    private struct State {
        var rosters: [ID: (roster: Roster, used: Int)] = [:]
        var people = 0
        var uses = 0
    }

    private let state = Mutex(State())

    func roster(of conversation: String) -> Roster? {
        state.withLock { state in
            guard let known = state.rosters[conversation.id] else { return nil }
            state.uses += 1
            state.rosters[conversation.id]?.used = state.uses
            return known.roster
        }
    }

    func keep(_ roster: Roster, of conversation: String) {
        // A small one is read as quickly as a page.
        let isKept = roster.users.count > Record.listedParticipants
        state.withLock { state in
            let before = state.rosters.removeValue(forKey: conversation.id)
            state.people -= before?.roster.users.count ?? 0
            guard isKept else { return }
            state.uses += 1
            state.people += roster.users.count
            state.rosters[conversation.id] = (roster, state.uses)
            while state.people > Self.limit, state.rosters.count > 1,
                let oldest = state.rosters.min(by: { $0.value.used < $1.value.used })
            {
                state.rosters[oldest.key] = nil
                state.people -= oldest.value.roster.users.count
            }
        }
    }
}
