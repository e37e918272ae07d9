import Chat
import Engine
import Wire

/// The gaps that the gateway must still close, counted by cause and age: metrics of `GET /v1/gaps`.
struct GapTable: Sendable, Hashable {
    /// How long a gap has been open. The bands don't overlap, so they can be added up.
    enum Age: String, CaseIterable {
        case below10Seconds = "0-10s"
        case belowMinute = "10s-1m"
        case below10Minutes = "1m-10m"
        case older = "10m-"

        init(seconds: Double) {
            switch seconds {
            case ..<10: self = .below10Seconds
            case ..<60: self = .belowMinute
            case ..<600: self = .below10Minutes
            default: self = .older
            }
        }
    }

    private struct Place: Hashable {
        let cause: GapCause
        let age: Age
    }

    private var counts: [Place: Int] = [:]
    private var oldest: [GapCause: Double] = [:]

    init(_ gaps: [OpenGap], at now: Timestamp) {
        for gap in gaps.map(\.gap) {
            let seconds = Double(max(0, now.milliseconds - gap.since.milliseconds)) / 1000
            counts[Place(cause: gap.cause, age: Age(seconds: seconds)), default: 0] += 1
            oldest[gap.cause] = max(oldest[gap.cause] ?? 0, seconds)
        }
    }

    func count(_ cause: GapCause, _ age: Age) -> Int { counts[Place(cause: cause, age: age)] ?? 0 }

    /// The age of the oldest gap with this cause, in seconds; 0 if there is none.
    func oldest(_ cause: GapCause) -> Double { oldest[cause] ?? 0 }
}
