import TestSupport

/// A conversation whose log is written here change by change, so that every moment of it is known:
/// what a client may have held at any of them can be made up, and judged.
final class PastLog {
    let id: String
    let api: ServerAPI
    /// Each head that the log had, oldest first.
    private(set) var heads: [JSONValue] = []
    private var known = Truth()
    private var count = 0

    /// - Throws: what `ServerAPI` throws.
    init(_ id: String, _ api: ServerAPI, participants: [String]) throws {
        self.id = id
        self.api = api
        try api.put(id, ["participants": .array(participants.map(JSONValue.string))])
        try noteHead()
    }

    var oracle: Oracle { Oracle(known) }
    var log: Truth.Log { known.log ?? Truth.Log() }

    /// Makes one call that writes a change or some.
    ///
    /// - Throws: what `ServerAPI` throws.
    func write(_ random: inout SplitMix64) throws {
        let living = log.messages.filter { $0["deleted"].bool == false }
        let chosen = living.randomElement(using: &random)?["id"].string
        switch (Int.random(in: 0..<100, using: &random), chosen) {
        case (0..<25, let message?): try api.edit(message, in: id, ["body": text(&random)])
        case (25..<35, let message?): try api.delete(message, in: id)
        case (35..<45, _): try api.put(id, ["title": text(&random)])
        case (45..<60, _):
            let size = Int.random(in: 2...12, using: &random)
            try api.post((0..<size).map { _ in message(&random) }, to: id)
        default: try api.post(message(&random), to: id)
        }
        try noteHead()
    }

    private func message(_ random: inout SplitMix64) -> JSONValue {
        ["author": "writer", "body": text(&random)]
    }

    private func text(_ random: inout SplitMix64) -> JSONValue {
        count += 1
        return .string("\(count) \(random.next())")
    }

    private func noteHead() throws {
        let head = try api.call("POST", "/v1/heads", ["ids": [.string(id)]])["heads"][id]
        known = api.truth(of: id)
        try known.learn(head: head)
        heads.append(head)
    }
}

extension PastLog {
    /// A holder as it may have been at some moment of the log: any runs below its head, any `asOf`,
    /// and each value one that was right from then on.
    func holder(_ random: inout SplitMix64) -> Holder {
        let head = heads.randomElement(using: &random) ?? .null
        let (top, rev) = (head["seq"].int ?? 0, head["rev"].int ?? 0)
        let asOf = random.happens(40) ? rev : Int.random(in: 1...rev, using: &random)
        var runs = Intervals()
        if top > 0, random.happens(90) {
            let longest = random.happens(50) ? 4 : top
            for _ in 0..<Int.random(in: 1...(random.happens(30) ? 60 : 4), using: &random) {
                let low = Int.random(in: 1...top, using: &random)
                runs.insert(low...min(top, low + Int.random(in: 0..<longest, using: &random)))
            }
        }
        var held: [Int: JSONValue] = [:]
        for seq in runs.ranges.joined() {
            held[seq] = value(of: seq, from: asOf, to: rev, &random)
        }
        return Holder(
            head: head, asOf: asOf, held: held, record: value(of: 0, from: asOf, to: rev, &random))
    }

    /// A value that the slot had at some moment between the two.
    private func value(
        of slot: Int, from low: Int, to high: Int, _ random: inout SplitMix64
    ) -> JSONValue? {
        let first = log.lastChange(of: slot, atMost: low) ?? 0
        let revs = (log.revs[slot] ?? []).filter { (first...high).contains($0) }
        return revs.randomElement(using: &random).flatMap { log.changes[$0]?.value }
    }
}
