import Chat
import JSON

/// Decodes a client's `have` and checks its form: the runs are an interval set, the numbers lie
/// below 2^53. Whether it is true, only the log can confirm.
extension Fields {
    /// How many runs a `have` may hold: `protocol.md` 4.
    static let runsLimit = 1000

    /// The `have` of the params, nil if there is none.
    func have() throws(RequestError) -> Have? {
        guard let have = try fields("have") else { return nil }
        guard let head = try have.fields("head") else {
            throw have.missing("head", accepted: "the head that came last")
        }
        return Have(
            head: try head.head(),
            asOf: try have.requiredInteger("asOf", in: 0...Self.largest),
            runs: try have.runs())
    }

    /// The change that an answer must not miss: the head of an earlier answer, or its `epoch`,
    /// `rev` and `mark` alone; nil if there is none.
    func atLeast() throws(RequestError) -> Head? {
        guard let least = try fields("atLeast") else { return nil }
        return try least.change()
    }

    /// The change that a head names, by the fields that tell it from every other.
    package func change() throws(RequestError) -> Head {
        Head(
            epoch: try requiredLabel("epoch"), seq: 0,
            rev: try requiredInteger("rev", in: 1...Self.largest),
            mark: try requiredLabel("mark"))
    }

    /// The fields of a head.
    private func head() throws(RequestError) -> Head {
        let (epoch, mark) = (try requiredLabel("epoch"), try requiredLabel("mark"))
        return Head(
            epoch: epoch, seq: try requiredInteger("seq", in: 0...Self.largest),
            rev: try requiredInteger("rev", in: 0...Self.largest), mark: mark,
            floor: try integer("floor", in: 1...Self.largest) ?? 1)
    }

    private func requiredLabel(_ name: String) throws(RequestError) -> String {
        guard let label = try label(name) else { throw missing(name, accepted: "a string") }
        return label
    }

    /// `[[low, high], …]`, ascending and disjoint; runs that touch are joined.
    private func runs() throws(RequestError) -> Coverage {
        let accepted = "an array of [low, high], ascending and disjoint"
        guard let value = value("runs") else { throw missing("runs", accepted: accepted) }
        guard let count = value.count else { throw refused("runs", value, accepted: accepted) }
        guard count <= Self.runsLimit else {
            throw RequestError(
                .limitRuns, "\(prefix)runs: \(count) runs (at most \(Self.runsLimit))")
        }
        let runsText = value.raw
        if let runs = Self.runs(runsText) { return runs }
        guard let pairs = runsText.array else { throw refused("runs", value, accepted: accepted) }
        var runs: [Coverage.Run] = []
        runs.reserveCapacity(pairs.count)
        for (index, pair) in pairs.enumerated() {
            let name = "runs[\(index)]"
            guard let ends = pair.array else {
                throw refused(name, pair.slice, accepted: "[low, high]")
            }
            guard ends.count == 2 else {
                throw refused(name, seen: "an array of \(ends.count)", accepted: "[low, high]")
            }
            let low = try Self.integer(ends[0].slice, "\(prefix)\(name)[0]", in: 1...Self.largest)
            let high = try Self.integer(ends[1].slice, "\(prefix)\(name)[1]", in: 1...Self.largest)
            guard low <= high else {
                throw refused(name, seen: "low above high", accepted: "[low, high]")
            }
            if let last = runs.last, low <= last.high {
                throw refused(name, seen: "not above the run before it", accepted: accepted)
            }
            runs.append(Coverage.Run(low, high))
        }
        return Coverage(ascending: runs)
    }

    /// Decodes well-formed runs in one pass; nil for all others, whose errors the general code
    /// above reports, if there are any.
    private static func runs(_ value: RawJSON) -> Coverage? {
        guard let pairs = value.integerPairs else { return nil }
        var runs: [Coverage.Run] = []
        runs.reserveCapacity(pairs.count)
        var last = 0
        for (low, high) in pairs {
            guard last < low, low <= high, high <= largest else { return nil }
            runs.append(Coverage.Run(low, high))
            last = high
        }
        return Coverage(ascending: runs)
    }
}
