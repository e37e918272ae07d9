import WebSockets
import Wire

/// The limits of one kind of input, in words: a row of the table in `deploy/reference/security.md`,
/// declared once for each kind, so that no kind is without one.
package struct Bound: Sendable {
    package let input: String
    /// The limit of its bytes.
    let size: String
    /// The most rows that it reads or writes.
    let rows: String
    /// The memory that it holds while it is served.
    let memory: String
    /// Who is charged.
    let payer: String
    /// The answer beyond the limit.
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

    /// The cells behind the input, as in the reference.
    private var limits: [String] { [size, rows, memory, payer, beyond] }

    /// The table of all rows, as in the reference: inputs with the same limits share one.
    package static func table() -> String {
        var rows: [(inputs: [String], limits: [String])] = []
        for bound in all {
            if let row = rows.firstIndex(where: { $0.limits == bound.limits }) {
                rows[row].inputs.append(bound.input)
            } else {
                rows.append(([bound.input], bound.limits))
            }
        }
        let head =
            "| input | size | rows | held | who pays | beyond |\n|---|---|---|---|---|---|\n"
        return rows.reduce(head) { table, row in
            let cells = [row.inputs.joined(separator: ", ")] + row.limits
            return table + "| \(cells.joined(separator: " | ")) |\n"
        }
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
