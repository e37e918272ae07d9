import Dispatch
import Synchronization

/// One slice of a flood, running on its own thread.
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

    /// Its result; may be called only when the slice is over.
    /// - Throws: `BenchError.failure` if the slice failed.
    func toll() throws(BenchError) -> Flood.Toll {
        guard let result = outcome.withLock(\.self) else {
            throw .failure("flooding the gateway: no end of it")
        }
        return try result.get()
    }
}
