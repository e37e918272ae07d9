import Bench
import Recorder

/// Plain C beside our own code: what that asks of SQLite is written down once, and done again by
/// `gapless-plain`, which neither decides nor encodes anything.
struct Plain {
    private let recording: String
    private let scratch: ScratchDirectory

    /// How many pages the cache writes between two checkpoints (`Checkpoints.interval`).
    static let checkpointInterval = 1000

    /// Has `work` done under the eyes of the recorder. It is to open all connections by itself, and
    /// to have closed them when it returns.
    /// - Parameter scratch: where the recording lies.
    /// - Throws: what `work` throws, and `BenchError` where the recording is not whole.
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

    /// Does something whose time is compared.
    static func span<Value>(
        _ work: () throws(BenchError) -> Value
    ) throws(BenchError) -> Value {
        recorder_mark(1)
        defer { recorder_mark(0) }
        return try work()
    }

    /// Does again what was recorded, by the program beside this one.
    /// - Parameters:
    ///   - file: the database.
    ///   - checkpointsEvery: how many pages are written between two checkpoints; 0 for none.
    /// - Returns: how long each span took.
    /// - Throws: `BenchError` where it does not work out.
    func replay(
        on file: String, checkpointsEvery pages: Int, _ bench: Workbench
    ) throws(BenchError) -> [Nanoseconds] {
        let program = bench.sibling("gapless-plain")
        let text = try bench.run([program, recording, file, String(pages)], in: scratch)
        return text.split(separator: "\n").compactMap { Nanoseconds($0) }
    }
}

/// What spans of our own and of plain C come to beside each other.
struct Rounds {
    private(set) var own: [Double] = []
    private(set) var plain: [Double] = []

    /// What a round's spans are summed up by.
    enum Measure {
        /// All of them count: one in many has a checkpoint beside it.
        case mean
        /// They are all alike, and what is longer was interrupted.
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

    /// Our own time in parts of the other, by round: both were measured side by side.
    var ratios: [Double] { zip(own, plain).map { $0 / $1 } }
}
