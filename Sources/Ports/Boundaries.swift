import Chat
import JSON
import Wire

/// The ends of the runs that a reply proves, in the form of `protocol.md` 4.
extension JSONWriter {
    /// The boundaries of a coverage, newest run first.
    /// - Parameter ids: of the messages at the ends, as far as they are known.
    package mutating func boundaries(_ coverage: Coverage, _ ids: [Int: String]) {
        boundaries(
            coverage.runs.reversed().map { run in
                Boundary(
                    newest: .init(id: ids[run.high], seq: run.high),
                    oldest: .init(id: ids[run.low], seq: run.low))
            })
    }

    /// The boundaries of what the subscriber then holds.
    /// - Parameter ids: of the messages at the ends, unless a delta has them.
    package mutating func boundaries(of resume: Resume, _ ids: [Int: String]) {
        var known = ids
        for delta in resume.deltas { known[delta.message.seq] = delta.message.id }
        boundaries(resume.held, known)
    }
}

extension Page {
    /// The interval that the page proves: from its older to its newer end.
    package var covers: Coverage {
        guard let first = messages.first?.seq, let last = messages.last?.seq else {
            return Coverage()
        }
        return Coverage(min(first, last), max(first, last))
    }
}
