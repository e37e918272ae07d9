import Chat
import TestSupport

@testable import GaplessClient
@testable import ClientCore

/// Four objects for views on one conversation of one client, whose session is the real one, and a
/// gateway that answers late or refuses. Everything happens on one thread, in the order of the
/// deeds; each update that an object takes is judged by the log.
final class FaceWorld: ModelClient {
    private(set) var faces: [any JudgedFace] = []
    /// How many messages each of the objects loads at once.
    private let limits: [Int]
    private let seen: Int

    init(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let sizes = [7, 25, 100]
        let limit = sizes.randomElement(using: &random) ?? 25
        var options = ClientCore.ClientSession.Options { 0.5 }
        options.page = [20, 100].randomElement(using: &random) ?? 100
        options.retained = [150, 2_000].randomElement(using: &random) ?? 2_000
        var gateway = ModelGateway()
        gateway.write(Int.random(in: 0...300, using: &random))
        seen = Int.random(in: 0...max(1, gateway.log.seq), using: &random)
        // What each begins with counts as long as it is there, and the largest of them.
        limits = [limit] + (0..<3).map { _ in sizes.randomElement(using: &random) ?? limit }
        super.init(options)
        self.gateway = gateway
        begin()
    }

    /// The app begins, with nothing on its screen.
    private func begin() {
        faces = [
            JudgedList(self, limit: limits[0]), JudgedHistory(self, limit: limits[1], seen: seen),
            JudgedSource(self, limit: limits[2]),
            JudgedList(self, limit: limits[3], syncs: false),
        ]
        perform { $0.open($1) }
    }

    /// The app is killed, and begins again with what its store has.
    /// - Parameter isWhole: What can be fetched again is there too, not only what was written.
    private func restart(isWhole: Bool = true) {
        forgetAllButTheStore(isWhole: isWhole)
        begin()
    }

    override func judge() throws {
        for face in faces { try face.judge(gateway.log, written) }
    }

    // MARK: Deeds

    func run(_ deeds: [Deed]) throws {
        for deed in deeds {
            try carryOut(deed)
            try judge()
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
        case .mend: mend()
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
        case .restart: restart()
        case .clock(let milliseconds): jump(milliseconds)
        case .throwing(let count): throwing += count
        case .loseStore: restart(isWhole: false)
        case .long, .shorten: write(deed)
        case .send, .rewrite, .read, .again, .forsake: write(deed)
        }
    }

    private func lose(_ part: Int, _ count: Int, _ cause: String) {
        let low = max(gateway.log.floor, gateway.log.seq * part / 1_000)
        let high = min(low + count, gateway.log.seq)
        if low <= high { gateway.lose(Coverage(low, high), cause) }
    }

    /// All is quiet, and the user scrolls to the bottom: every object shows what the log has.
    private func rest() throws {
        gateway.refusals = 0
        mend()
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
