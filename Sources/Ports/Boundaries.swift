import Chat
import JSON
import Wire

/// The ends of what a reply proves, as `protocol.md` 4 writes them.
extension JSONWriter {
    /// The boundaries of a coverage, newest run first.
    /// - Parameter ids: of the messages at the ends, as far as they are known here.
    package mutating func boundaries(_ coverage: Coverage, _ ids: [Int: String]) {
        boundaries(
            coverage.runs.reversed().map { run in
                Boundary(
                    newest: .init(id: ids[run.high], seq: run.high),
                    oldest: .init(id: ids[run.low], seq: run.low))
            })
    }

    /// The boundaries of what a subscriber then holds.
    /// - Parameter ids: of the messages at the ends, as far as no delta has them.
    package mutating func boundaries(of resume: Resume, _ ids: [Int: String]) {
        var known = ids
        for delta in resume.deltas { known[delta.message.seq] = delta.message.id }
        boundaries(resume.held, known)
    }
}

extension Page {
    /// What the page proves: from its older to its newer end, in dense numbering.
    package var covers: Coverage {
        guard let first = messages.first?.seq, let last = messages.last?.seq else {
            return Coverage()
        }
        return Coverage(min(first, last), max(first, last))
    }
}
