import Bench
import Recorder

/// Plain C beside our own code: the SQLite calls of our code are recorded once, and replayed by
/// `gapless-plain`, which neither decides nor encodes anything.
struct Plain {
    private let recording: String
    private let scratch: ScratchDirectory

    /// How many pages the cache writes between two checkpoints (`Checkpoints.interval`).
    static let checkpointInterval = 1000

    /// Records the SQLite calls of `work`, which must open all its connections itself, and have
    /// closed them when it returns.
    /// - Parameter scratch: the directory of the recording.
    /// - Throws: the errors of `work`, and `BenchError` if the recording is incomplete.
    init(
        in scratch: ScratchDirectory, recording work: () throws(BenchError) -> Void
    ) throws(BenchError) {
        self.scratch = scratch
        recording = "\(scratch.path)/recording"
        guard recorder_begin(recording) == 0 else {
            throw .failure("recording: \(recording) can't be made")
        }
        let outcome: BenchError?
        do throws(BenchError) {
            try work()
            outcome = nil
        } catch {
            outcome = error
        }
        let isWhole = recorder_end() == 0
        if let outcome { throw outcome }
        guard isWhole else { throw .failure("recording: not all that was asked could be written") }
    }

    /// Runs work whose time is compared.
    static func span<Value>(
        _ work: () throws(BenchError) -> Value
    ) throws(BenchError) -> Value {
        recorder_mark(1)
        defer { recorder_mark(0) }
        return try work()
    }

    /// Replays the recording with the program beside this one.
    /// - Parameters:
    ///   - file: the database.
    ///   - checkpointsEvery: the number of pages between two checkpoints; 0 for none.
    /// - Returns: the duration of each span.
    /// - Throws: `BenchError` if the replay fails.
    func replay(
        on file: String, checkpointsEvery pages: Int, _ bench: Workbench
    ) throws(BenchError) -> [Nanoseconds] {
        let program = bench.sibling("gapless-plain")
        let text = try bench.run([program, recording, file, String(pages)], in: scratch)
        return text.split(separator: "\n").compactMap { Nanoseconds($0) }
    }
}

/// The durations of our own code and of plain C, by round.
struct Rounds {
    private(set) var own: [Double] = []
    private(set) var plain: [Double] = []

    /// How a round's spans are reduced to one number.
    enum Measure {
        /// For spans that all count: one in many includes a checkpoint.
        case mean
        /// For spans that are all alike: a longer one was interrupted.
        case median

        fileprivate func of(_ spans: [Nanoseconds]) -> Double {
            let microseconds = spans.map { Double($0) / 1000 }
            switch self {
            case .mean: return microseconds.reduce(0, +) / Double(max(1, spans.count))
            case .median: return microseconds.median
            }
        }
    }

    /// Adds a round.
    mutating func add(own: [Nanoseconds], plain: [Nanoseconds], by measure: Measure) {
        self.own.append(measure.of(own))
        self.plain.append(measure.of(plain))
    }

    /// Our own time divided by the other, by round: both were measured side by side.
    var ratios: [Double] { zip(own, plain).map { $0 / $1 } }
}
