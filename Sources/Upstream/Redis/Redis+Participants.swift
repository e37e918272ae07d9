import Chat
import Ports
import Synchronization
import Wire

/// Who takes part in a conversation, page by page. Redis keeps them in no order, so that one page
/// would take as long as all; the order is known here, as long as nobody has joined or left.
extension Redis {
    func participants(
        _ id: String, _ request: ParticipantsRequest,
        then answer: @escaping @Sendable (Result<ParticipantList, RequestError>) -> Void
    ) {
        guard request.limit > 0 else { return read(id, request, nil, then: answer) }
        if let known = rosters.roster(of: id) { return read(id, request, known, then: answer) }
        // One reads all of them, and those who came meanwhile a page.
        rosterQueues.enter(id) { [self] over in
            read(id, request, rosters.roster(of: id)) { result in
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
        run(.people, of: id, asked.map { Array($0.utf8) }) { [self] result in
            answer(
                result.map { read in
                    var places: [[UInt8]: Int] = [:]
                    let reads = read[2].elements
                    for at in stride(from: 0, to: reads.count - reads.count % 2, by: 2) {
                        places[reads[at].bytes ?? []] = reads[at + 1].place
                    }
                    func list(_ members: [StoredMember], of total: Int) -> ParticipantList {
                        let objects = members.map { member in
                            member.json(lastReadSeq: places[member.user.exactID] ?? 0)
                        }
                        return ParticipantList(participants: objects, total: total)
                    }
                    let members = StoredMember.all(read[1])
                    if read.word == "page" {
                        let ordered = request.order == .asc ? members : members.reversed()
                        return list(ordered, of: known?.users.count ?? 0)
                    }
                    let roster = Roster(version: read[3].string ?? "", users: members.map(\.user))
                    rosters.keep(roster, of: id)
                    guard request.limit > 0 else {
                        return list(
                            request.order == .asc ? members : members.reversed(), of: members.count)
                    }
                    let ordered = request.order == .asc ? members : members.reversed()
                    let page = ordered.dropFirst(max(0, request.offset)).prefix(request.limit)
                    return list(Array(page), of: members.count)
                })
        }
    }
}

/// Who takes part, in the order in which they joined, and what in the log stands for just them.
struct Roster: Sendable {
    let version: String
    let users: [String]

    /// Those on a page, in no certain order.
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

/// The rosters that were read last. What they know may be outdated: the script that is asked by one
/// looks whether it still stands.
final class Rosters: Sendable {
    /// How many people they may hold, all together; the largest alone.
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
        // Few are read as quickly whole.
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
