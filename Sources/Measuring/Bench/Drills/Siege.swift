import Dispatch
import Synchronization

/// One slice of a flood, under way on a thread of its own.
final class Siege: Sendable {
    private let outcome = Mutex<Result<Flood.Toll, BenchError>?>(nil)

    init(_ flood: Flood, _ scene: Flood.Scene, until end: Nanoseconds) {
        DispatchQueue(label: "gapless.bench.offenders").async { [self] in
            Machine.standBack()
            let result: Result<Flood.Toll, BenchError>
            do throws(BenchError) {
                result = .success(try Offenders(flood, scene).run(until: end))
            } catch {
                result = .failure(error)
            }
            outcome.withLock { $0 = result }
        }
    }

    var isOver: Bool { outcome.withLock { $0 != nil } }

    /// What it came to; to be asked when it is over.
    /// - Throws: `BenchError.failure` where it could not be done.
    func toll() throws(BenchError) -> Flood.Toll {
        guard let result = outcome.withLock(\.self) else {
            throw .failure("flooding the gateway: no end of it")
        }
        return try result.get()
    }
}
