import Chat
import JSON
import Wire

/// The ends of the runs that a reply proves, in the form of `protocol.md` 4.
extension JSONWriter {
    /// The boundaries of a coverage, newest run first.
    /// - Parameter ids: of the messages at the ends, as far as they are known.
    package mutating func boundaries(_ coverage: Coverage, _ ids: [Int: String]) {
        boundaries(coverage) { ids[$0] }
    }

    private mutating func boundaries(_ coverage: Coverage, _ id: (Int) -> String?) {
        boundaries(
            coverage.runs.reversed().map { run in
                Boundary(
                    newest: .init(id: id(run.high), seq: run.high),
                    oldest: .init(id: id(run.low), seq: run.low))
            })
    }

    /// The boundaries of what the subscriber then holds.
    /// - Parameter ids: of the messages at the ends, unless a delta has them.
    package mutating func boundaries(of resume: Resume, _ ids: [Int: String]) {
        // A table of all deltas costs more than to look for the ends of the usual one run in them.
        guard resume.held.runs.count > 2 else {
            return boundaries(resume.held) { seq in
                resume.deltas.last { $0.message.seq == seq }?.message.id ?? ids[seq]
            }
        }
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
