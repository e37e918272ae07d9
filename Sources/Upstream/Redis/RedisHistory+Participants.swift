import Chat
import Dispatch
import Ports
import Synchronization
import Wire

/// Pages of participants. Redis keeps them unordered, so one page would cost as much as all; the
/// order is cached here until somebody joins or leaves.
extension RedisHistory {
    func participants(
        _ id: String, _ request: ParticipantsRequest,
        then answer: @escaping @Sendable (Result<ParticipantList, RequestError>) -> Void
    ) {
        let known = request.limit > 0 ? rosters.roster(of: id) : nil
        if known != nil { return read(id, request, known, then: answer) }
        wholeLists.enter { [self] over in
            // Whoever waited while another one read all of it reads a page.
            let known = request.limit > 0 ? rosters.roster(of: id) : nil
            read(id, request, known) { result in
                answer(result)
                over()
            }
        }
    }

    private func read(
        _ id: String, _ request: ParticipantsRequest, _ known: Roster?,
        then answer: @escaping @Sendable (Result<ParticipantList, RequestError>) -> Void
    ) {
        let page = known?.page(request)
        let asked = page.map { [known?.version ?? ""] + $0 } ?? []
        scripts.run(.people, of: id, asked.map { Array($0.utf8) }) { [self] result in
            let people = (try? result.get())?[1].elements.count ?? 0
            wholeLists.work(on: people / 2) { [self] in
                answer(result.flatMap { list($0, of: id, request, known) })
            }
        }
    }

    private func list(
        _ read: RedisScripts.Answer, of id: String, _ request: ParticipantsRequest,
        _ known: Roster?
    ) -> Result<ParticipantList, RequestError> {
        guard let members = StoredMember.all(read[1]) else { return .failure(.unreadable) }
        var places: [[UInt8]: Int] = [:]
        let reads = read[2].elements
        for at in stride(from: 0, to: reads.count - reads.count % 2, by: 2) {
            places[reads[at].bytes ?? []] = reads[at + 1].place
        }
        func list(_ members: [StoredMember], of total: Int) -> ParticipantList {
            let objects = members.map { member in
                member.json(lastReadSeq: places[Array(member.user.utf8)] ?? 0)
            }
            return ParticipantList(participants: objects, total: total)
        }
        let ordered = request.order == .asc ? members : members.reversed()
        if read.word == "page" { return .success(list(ordered, of: known?.users.count ?? 0)) }
        let roster = Roster(version: read[3].string ?? "", users: members.map(\.user))
        rosters.keep(roster, of: id)
        guard request.limit > 0 else { return .success(list(ordered, of: members.count)) }
        let page = ordered.dropFirst(max(0, request.offset)).prefix(request.limit)
        return .success(list(Array(page), of: members.count))
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
