/// One way in which clients demand too much of a gateway, and its required reaction: a clear error,
/// the right close code, or a closed socket.
enum Flood: String, CaseIterable, Sendable {
    /// One client makes requests as fast as its socket takes them.
    case requests
    /// Connections that send nothing, and others that send nothing after their upgrade.
    case halfOpen
    /// One client sends its upgrade, another its first request, at a byte a second.
    case trickle
    /// Thousands of clients a second connect, and stay.
    case connects
    /// A few clients resume with the maximum number of runs in their `have`, as fast as they can.
    case resumes

    /// The target of a flood, and its size.
    struct Scene: Sendable {
        let endpoint: Endpoint
        let plan: Drill.Plan
        /// A conversation of which the offenders are participants, with more messages than `runs`
        /// needs.
        let conversation: String
        let head: [UInt8]
        let rev: Int

        /// The most runs of a `have`.
        static let runs = 1000

        static func user(_ index: Int) -> String { "offender-\(index)" }
    }

    /// What happened to the offenders, in one slice or in several.
    struct Toll: Sendable {
        var dialled = 0
        /// Requests that got a result, `rate_limited`, or another error.
        var results = 0
        var limited = 0
        var errors = 0
        /// Closed connections by close code, and those closed without one.
        var closes: [Int: Int] = [:]
        var dropped = 0
        /// Connections that were still open at the end.
        var left = 0

        static func += (sum: inout Toll, other: Toll) {
            sum.dialled += other.dialled
            sum.results += other.results
            sum.limited += other.limited
            sum.errors += other.errors
            sum.closes.merge(other.closes, uniquingKeysWith: +)
            sum.dropped += other.dropped
            sum.left += other.left
        }
    }

    /// How long one of its slices lasts.
    func span(_ plan: Drill.Plan) -> Nanoseconds {
        switch self {
        case .requests, .resumes: plan.milliseconds("slice")
        case .halfOpen:
            // Until the last one's timeout.
            plan["half-open"] * Clock.second / Self.halfOpenPerSecond
                + (plan["timeout"] + 2) * Clock.second
        case .trickle: (plan["timeout"] + 2) * Clock.second
        case .connects: plan["seconds"] * Clock.second
        }
    }

    /// Connections of each kind per second; more would be the flood of `connects`.
    static let halfOpenPerSecond = 1000

    // MARK: - The verdict

    /// - Parameter pairs: the number of slices in the toll.
    func judge(_ toll: Toll, pairs: Int, _ plan: Drill.Plan, _ report: inout DrillReport) {
        func require(_ name: String, _ seen: Int, is bar: Int) {
            report.require("\(rawValue): \(name)", seen == bar, seen: "\(seen)", bar: "\(bar)")
        }
        let seconds = Double(pairs) * Clock.seconds(span(plan))
        switch self {
        case .requests, .resumes:
            let answers = toll.results + toll.limited + toll.errors
            report.add("\(rawValue)PerSecond", Double(answers) / seconds, "1/s")
            report.add("\(rawValue)Served", Double(toll.results) / seconds, "1/s")
            report.add("\(rawValue)Closed", toll.closes.values.reduce(0, +))
            report.require(
                "\(rawValue): some are rate_limited", toll.limited > 0, seen: "\(toll.limited)",
                bar: "more than 0")
            require("other errors", toll.errors, is: 0)
        case .halfOpen:
            require("closed without a word", toll.dropped, is: pairs * plan["half-open"])
            require(
                "closed with 3501", toll.closes[3501, default: 0], is: pairs * plan["half-open"])
        case .trickle:
            require("closed within its upgrade", toll.dropped, is: pairs)
            require("closed with 3501", toll.closes[3501, default: 0], is: pairs)
        case .connects:
            let full = toll.closes[3004, default: 0]
            report.add("connectsPerSecond", Double(toll.dialled) / seconds, "1/s")
            report.add("connectsRefused", full)
            require("welcomed or closed with 3004", toll.results + full, is: toll.dialled)
            let room = plan["connection-limit"] - plan["clients"] - 1
            let excess = toll.dialled - pairs * room
            report.require(
                "connects: closed with 3004", full >= excess, seen: "\(full)",
                bar: "at least \(max(0, excess))")
        }
    }
}
