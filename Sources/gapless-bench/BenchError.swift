/// Why a measurement could not be taken. `usage` is the caller's mistake (exit code 2), `failure`
/// everything else (1). Messages hold no text that was sent or received.
struct BenchError: Error, Sendable, CustomStringConvertible {
    enum Kind: Sendable { case usage, failure }

    let kind: Kind
    let description: String

    static func usage(_ message: String) -> BenchError {
        BenchError(kind: .usage, description: message)
    }

    static func failure(_ message: String) -> BenchError {
        BenchError(kind: .failure, description: message)
    }
}
