import Chat
import Engine
import JSON
import Ports
import Wire

@testable import ClientCore
@testable import Simulation

/// One user of the world: the session, the windows that follow its updates, and the connection.
final class Inhabitant {
    struct Connection {
        let session: SessionID
        var socket: Socket
        var pace = Int.max
    }

    let user: String
    var session: ClientSession
    var connection: Connection?
    /// The conversations that the user looks at.
    var windows: [String: MessageWindow] = [:]
    /// How many messages were written.
    var sent = 0
    /// Why a subscription was refused last.
    private var refusal: ClientError?
    private var nextToken = 1
    /// Messages of the truth, read once.
    private var truths: [String: Message] = [:]

    init(_ user: String, seed: UInt64) {
        self.user = user
        let jitter = Double(seed % 1000) / 1000
        var options = ClientSession.Options { jitter }
        options.page = 20
        options.retained = 60
        session = ClientSession(options)
    }

    func take(_ update: ConversationUpdate, of conversation: String) {
        if case .failed(let error) = update { refusal = error }
        _ = windows[conversation]?.take(update)
        session.watch(windows[conversation]?.timeline.coverage ?? [], of: conversation)
    }

    // MARK: Deeds

    func enter(_ id: String) {
        guard windows[id] == nil else { return }
        var window = MessageWindow(conversation: id, reader: user, opening: 20)
        if let snapshot = session.snapshot(of: id) { _ = window.take(.began(snapshot)) }
        _ = window.take(.drafts(session.drafts(of: id)))
        windows[id] = window
        session.subscribe(to: id)
    }

    /// A subscription that the gateway ended is begun again, and so is a draft that it refused.
    func enterAgain(_ id: String) {
        if windows[id] == nil { enter(id) } else { session.subscribe(to: id) }
        for draft in session.drafts(of: id) where draft.state != .sending {
            session.retry(draft.id, of: id)
        }
    }

    func leave(_ id: String) {
        guard windows[id] != nil else { return }
        windows[id] = nil
        session.watch([], of: id)
        session.unsubscribe(from: id)
    }

    func loadOlder(_ id: String, limit: Int) {
        guard let window = windows[id], session.isLive(id), window.timeline.hasMore.before,
            let low = window.timeline.coverage.first
        else { return }
        fetch(id, .before(.seq(low)), PageRequest(before: .seq(low), limit: limit))
    }

    func fillGap(_ id: String, limit: Int) {
        guard let window = windows[id], session.isLive(id), nextToken > 0,
            let gap = window.timeline.gaps.last?.places,
            !(1..<nextToken).suffix(40).contains(where: { window.awaits($0) })
        else { return }
        let page = PageRequest(
            before: .seq(gap.high + 1), after: .seq(gap.low - 1), limit: limit)
        fetch(id, .latest, page)
    }

    private func fetch(_ id: String, _ kind: Timeline.Page.Kind, _ page: PageRequest) {
        windows[id]?.ask(kind == .latest ? .around : kind, as: nextToken)
        session.fetch(id, page, token: nextToken)
        nextToken += 1
    }

    // MARK: Judging

    /// What is held is what the log had, as new as it says.
    func check(_ id: String, in world: SessionWorld) throws {
        guard let holder = session.holder(of: id), let head = holder.head else { return }
        guard let log = world.origin.archive.log(id, epoch: head.epoch) else {
            throw WorldError(description: "\(user): an epoch that never was")
        }
        guard head == log.head(asOf: head.rev), holder.asOf <= head.rev else {
            throw WorldError(description: "\(user): a head that never was")
        }
        for run in holder.runs.runs {
            for seq in run.low...run.high {
                guard let value = holder.held[seq], let rev = value.rev else {
                    throw WorldError(description: "\(user): \(id) \(seq) is held without a value")
                }
                let due = log.rev(of: seq, asOf: holder.asOf)
                guard rev >= due else {
                    throw WorldError(
                        description: "\(user): \(id) \(seq) has rev \(rev), due is \(due)")
                }
                guard value == (try truth(log, rev)) else {
                    throw WorldError(description: "\(user): \(id) \(seq) never was so")
                }
            }
        }
        try checkWindow(id, holder)
    }

    /// The window holds nothing that the client does not hold, with the same values.
    private func checkWindow(_ id: String, _ holder: Holder) throws {
        guard let timeline = windows[id]?.timeline else { return }
        guard holder.runs.contains(timeline.coverage) else {
            throw WorldError(
                description: "\(user): \(id) the window holds \(timeline.coverage), the client"
                    + " \(holder.runs)")
        }
        var places = Coverage()
        for index in 0..<timeline.count where timeline.isHeld(at: index) {
            let message = timeline[index]
            guard let seq = message.seq, holder.held[seq] == message else {
                throw WorldError(description: "\(user): \(id) the window shows another value")
            }
            places.insert(seq, seq)
        }
        guard places == timeline.coverage else {
            throw WorldError(
                description: "\(user): \(id) the window has \(places) of \(timeline.coverage)")
        }
    }

    private func truth(_ log: ModelLog, _ rev: Int) throws -> Message {
        let key = "\(log.epoch) \(log.conversation) \(rev)"
        if let known = truths[key] { return known }
        guard rev >= 1, rev <= log.rev, let encoded = log.message(at: rev) else {
            throw WorldError(description: "\(user): a rev that wrote no message")
        }
        let message = try Message(encoded.json)
        truths[key] = message
        return message
    }

    /// What is not right yet; nil at rest: live, up to the head, without a gap in the window.
    func trouble(in world: SessionWorld) -> String? {
        guard session.state.isLive else { return "\(session.state)" }
        for id in SessionWorld.conversations {
            guard session.isLive(id), let holder = session.holder(of: id) else {
                let phase = session.conversations[id.id]?.phase
                return "\(id) is \(String(describing: phase)), \(String(describing: refusal))"
            }
            guard let log = world.origin.log(id), log.ended == nil, holder.head == log.head else {
                return "\(id) is not at the head"
            }
            // `asOf` may stay behind a page that was read early; the values may not.
            let isNewest = holder.held.allSatisfy { $0.value.rev == log.rev(of: $0.key) }
            guard isNewest else { return "\(id) has an old value" }
            guard let window = windows[id] else { return "\(id) has no window" }
            guard window.timeline.gaps.isEmpty, window.timeline.coverage.last ?? 0 == log.highest
            else {
                let timeline = window.timeline
                return "\(id) window \(timeline.coverage) of \(log.highest), loaded"
                    + " \(timeline.isLoaded), follows \(timeline.followsEnd), holder \(holder.runs)"
            }
            guard session.drafts(of: id).isEmpty else { return "\(id) has drafts" }
        }
        return nil
    }

    /// Every message that was sent arrived once, and none is still a draft.
    func checkArrivals(_ id: String, in world: SessionWorld) throws {
        guard let timeline = windows[id]?.timeline else { return }
        guard (0..<timeline.count).allSatisfy({ timeline[$0].seq != nil }) else {
            throw WorldError(description: "\(user): \(id) a draft stays in the window")
        }
    }
}
