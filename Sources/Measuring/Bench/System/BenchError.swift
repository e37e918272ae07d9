/// Why a measurement could not be taken. `usage` is the caller's mistake (exit code 2), everything
/// else is not (1); `ended` is a connection that is gone, which some scenarios expect. Messages
/// hold no text that was sent or received.
package struct BenchError: Error, Sendable, CustomStringConvertible {
    package enum Kind: Sendable { case usage, failure, ended }

    package let kind: Kind
    package let description: String

    package static func usage(_ message: String) -> BenchError {
        BenchError(kind: .usage, description: message)
    }

    package static func failure(_ message: String) -> BenchError {
        BenchError(kind: .failure, description: message)
    }

    static func ended(_ message: String) -> BenchError {
        BenchError(kind: .ended, description: message)
    }
}
