/// Why a measurement failed. `usage` is the caller's mistake (exit code 2), all others are not (1);
/// `ended` is a connection that has ended, which some scenarios expect. Messages contain no text
/// that was sent or received.
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
