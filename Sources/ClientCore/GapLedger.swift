import Chat
import Wire

/// Why which places are missing. What is missing follows from the runs that are held; the frames
/// only add causes. The newest word about a place counts, and a hole without one is `cold`.
struct GapLedger: Sendable {
    private struct Entry {
        var places: Coverage
        var cause: GapCause
        var since: Timestamp
    }

    private var declared: [Entry] = []
    private var isDense = true

    /// Takes the gaps that a frame declared.
    mutating func note(_ gaps: [Gap]) {
        for gap in gaps {
            if gap.missing == nil { isDense = false }
            guard let run = gap.places else { continue }
            let places = Coverage(run.low, run.high)
            cut(places)
            declared.append(Entry(places: places, cause: gap.cause, since: gap.since))
        }
    }

    /// Forgets the causes of what is held now.
    mutating func cut(_ held: Coverage) {
        guard !declared.isEmpty else { return }
        for index in declared.indices {
            declared[index].places = declared[index].places.subtracting(held)
        }
        declared.removeAll { $0.places.isEmpty }
    }

    /// The gaps of a holder, oldest first. What is older than everything held and was never
    /// declared is not a gap: it is history that nobody asked for yet.
    func list(runs: Coverage, head: Head?) -> [Gap] {
        guard let head else { return [] }
        let lows = declared.compactMap(\.places.first) + [runs.first].compactMap(\.self)
        // Pages read without a subscription may lie above the head, which they do not move.
        let top = max(head.seq, runs.last ?? 0)
        guard let bottom = lows.min(), bottom <= top else { return [] }
        var cold = Coverage(bottom, top).subtracting(runs)
        var gaps: [Gap] = []
        for entry in declared {
            cold = cold.subtracting(entry.places)
            for run in entry.places.clipped(bottom, top).runs {
                gaps.append(gap(run, entry.cause, entry.since))
            }
        }
        for run in cold.runs { gaps.append(gap(run, .cold, Timestamp(milliseconds: 0))) }
        return gaps.sorted { $0.after < $1.after }
    }

    private func gap(_ run: Coverage.Run, _ cause: GapCause, _ since: Timestamp) -> Gap {
        Gap(
            after: run.low - 1, before: run.high + 1, missing: isDense ? run.count : nil,
            cause: cause, since: since)
    }
}
