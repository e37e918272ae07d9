import Chat
import TestSupport

@testable import GaplessClient
@testable import ClientCore

/// What the user of a world of faces wrote, to be found again at its end.
struct WrittenByUser {
    /// An edit or a deletion, and of which value that was shown.
    struct Edit {
        var change: String
        var id: String
        var of: Int
        /// The life of the log in which that value was written.
        var life: Int
        /// Nil for a deletion.
        var body: String?
    }

    var messages: [(id: String, body: String)] = []
    var edits: [Edit] = []
    /// Up to where each marker was set, and in which life of the log.
    var reads: [(seq: Int, life: Int)] = []
    /// What failed once may come behind what was written later.
    var failed: Set<String> = []
    /// What the user gave up.
    var discarded: Set<String> = []
    /// The message of each text.
    var texts: [String: String] = [:]

    func isOfUser(_ message: Message) -> Bool { message.body.flatMap { texts[$0] } == message.id }
}

extension Message {
    /// Whether the text is the one that bob's values have; he edits what alice sent too.
    func isOfLog(_ seq: Int, _ rev: Int) -> Bool {
        let body = body ?? ""
        return body.hasSuffix(" \(seq) \(rev)")
            && (id.hasPrefix("own-") || body.prefix { $0 != "." } == id.prefix { $0 != "." })
    }
}

extension FaceWorld {
    func write(_ deed: Deed) {
        switch deed {
        case .send(let at):
            let body = "own \(written.messages.count)"
            let id = "own-\(written.messages.count)"
            written.texts[body] = id
            _ = faces[at].face.send(body)
            written.messages.append((id, body))
        case .long(let at):
            // Of two that are too long the second is of the author's next attempt.
            let body =
                String(repeating: "x", count: ModelGateway.frameLimit)
                + " \(written.messages.count)"
            let id = faces[at].face.send(body)
            written.texts[body] = id
            written.messages.append((id, body))
        case .shorten(let at):
            let isLong = session.drafts(of: "c").first { draft in
                draft.state != .sending && draft.body?.utf8.count ?? 0 > ModelGateway.frameLimit
            }
            guard let isLong else { return }
            let body = "own \(written.messages.count)"
            noteFailures()
            let id = faces[at].face.rewrite(isLong.id, body: body)
            written.discarded.insert(isLong.id)
            written.texts[body] = id
            written.messages.append((id, body))
        case .rewrite(let at, let part): rewrite(faces[at], part)
        case .read(let at, let part):
            let rows = faces[at].rows.compactMap(\.seq)
            guard !rows.isEmpty else { return }
            let seq = rows[(rows.count - 1) * part / 1_000]
            // Of the log that the object shows, which may be gone.
            let mark = faces[at].feed.window.head?.mark ?? ""
            written.reads.append((seq, mark.split(separator: ".").last.flatMap { Int($0) } ?? 0))
            faces[at].face.markRead(upTo: seq)
        case .again:
            noteFailures()
            for draft in session.drafts(of: "c") where draft.state != .sending {
                faces[0].face.retry(draft.id)
            }
            for change in session.changes(of: "c") {
                if case .failed = change.state { retryChange(change.id) }
            }
        case .forsake:
            noteFailures()
            for draft in session.drafts(of: "c") where draft.state != .sending {
                written.discarded.insert(draft.id)
                faces[0].face.discard(draft.id)
            }
            for change in session.changes(of: "c") where change.state != .sending {
                written.discarded.insert(change.id)
                discardChange(change.id)
            }
        default: break
        }
    }

    private func noteFailures() {
        for draft in session.drafts(of: "c") where draft.state != .sending {
            written.failed.insert(draft.id)
        }
    }

    /// Edits or deletes what an object shows, as the user who looks at it would.
    private func rewrite(_ face: any JudgedFace, _ part: Int) {
        let rows = face.rows.filter { $0.seq != nil && !$0.isDeleted }
        guard !rows.isEmpty else { return }
        let message = rows[(rows.count - 1) * part / 1_000]
        guard let rev = message.rev, let text = message.body else { return }
        let life = gateway.written.texts[text] ?? text.lifeOfLog
        let body = part % 10 < 7 ? "edit \(written.edits.count)" : nil
        if let body { written.texts[body] = message.id }
        let change =
            body.map { face.face.edit(message.id, body: $0) } ?? face.face.delete(message.id)
        written.edits.append(
            WrittenByUser.Edit(
                change: change, id: message.id, of: rev, life: life ?? 0, body: body))
    }

    /// When all is quiet: what was written arrived once and in its order or is told as failed, and
    /// nothing was overwritten unseen.
    func judgeWritten() throws {
        noteFailures()
        guard !gateway.wasFlooded else { throw TestFailure("a frame above the limit was sent") }
        let drafts = Set(session.drafts(of: "c").map(\.id))
        var last = 0
        for (id, body) in written.messages {
            let arrivals = gateway.written.messages.filter { $0.id == id }
            guard arrivals.allSatisfy({ $0.body == body }) else {
                throw TestFailure("\(id) arrived with another text")
            }
            if drafts.contains(id) || written.discarded.contains(id) { continue }
            guard let arrival = arrivals.last else { throw TestFailure("\(id) is lost") }
            guard let seq = gateway.log.place(of: id), arrival.life == gateway.log.life else {
                continue
            }
            guard !written.failed.contains(id) else { continue }
            guard seq > last else { throw TestFailure("\(id) overtook another") }
            last = seq
        }
        try judgeEdits()
        let reads = written.reads.filter { $0.life == gateway.log.life }.map(\.seq)
        guard session.unsentRead(of: "c") == nil, gateway.written.read >= reads.max() ?? 0 else {
            throw TestFailure("the read marker is at \(gateway.written.read) of \(reads)")
        }
    }

    private func judgeEdits() throws {
        let waiting = Set(session.changes(of: "c").map(\.id))
        for edit in written.edits {
            let isTold = waiting.contains(edit.change) || written.discarded.contains(edit.change)
            let isMade =
                edit.body.map { gateway.written.texts[$0] != nil }
                ?? gateway.log.wasDeleted(edit.id)
            guard isTold || isMade else {
                throw TestFailure("the change \(edit) is neither made nor told")
            }
        }
        for made in gateway.written.edits where !made.isLate {
            let isOwn = gateway.written.edits.contains {
                $0.id == made.id && $0.made == made.of && $0.madeIn == made.life
            }
            let isSeen = written.edits.contains {
                $0.id == made.id && $0.of == made.of && $0.life == made.life
            }
            guard made.isKnown, isSeen || isOwn else {
                throw TestFailure("nobody saw what \(made) replaced")
            }
        }
    }
}

extension String {
    /// The life of the log in which bob wrote this text.
    fileprivate var lifeOfLog: Int? {
        split(separator: " ").first?.split(separator: ".").last.flatMap { Int($0) }
    }
}
