import WebSockets
import Wire

/// What one kind of input may cost, in words: a row of the table in `deploy/reference/security.md`,
/// declared once for each kind, so that no kind is without one.
package struct Bound: Sendable {
    package let input: String
    /// What bounds its bytes.
    let size: String
    /// How many rows it reads or writes at the most.
    let rows: String
    /// What it holds while it is served.
    let memory: String
    /// Who is charged.
    let payer: String
    /// What it gets that is beyond.
    let beyond: String

    init(
        _ input: String, size: String, rows: String = "none", memory: String = "its own bytes",
        payer: String = "the sender's budget", beyond: String
    ) {
        self.input = input
        self.size = size
        self.rows = rows
        self.memory = memory
        self.payer = payer
        self.beyond = beyond
    }

    private var line: String {
        "| \([input, size, rows, memory, payer, beyond].joined(separator: " | ")) |\n"
    }

    /// All rows, as they stand in the reference.
    package static func table() -> String {
        let head =
            "| input | size | rows | held | who pays | beyond |\n|---|---|---|---|---|---|\n"
        return head + all.map(\.line).joined()
    }

    /// A row for each method, route, frame and file.
    package static let all: [Bound] = {
        var all = Method.allCases.map { Bound($0) }
        all += APIRoute.allCases.map { Bound($0) }
        all += listeners
        all += WebSockets.Frame.Opcode.allCases.map { Bound($0) }
        all += IncomingFile.allCases.map { Bound($0) }
        return all
    }()
}
