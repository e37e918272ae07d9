import Synchronization

/// Present problems by subject, for health, and for the log, which names each once.
final class Troubles: Sendable {
    private struct Trouble {
        let notice: UpstreamNotice
        var toldAt: ContinuousClock.Instant
        /// Repeats since it was logged.
        var count = 0
    }

    /// How often a lasting problem is logged again.
    static let minute = Duration.seconds(60)

    private let all = Mutex<[String: Trouble]>([:])
    private let seen = Mutex(UpstreamFaults())
    private let refusing = Atomic(false)
    private let refusingReads = Atomic(false)
    let damagedLogs = DamagedLogs()

    /// The counters.
    var faults: UpstreamFaults { seen.withLock { $0 } }

    func gave(_ reason: NewEpochReason) {
        seen.withLock { $0.newEpochs[reason, default: 0] += 1 }
    }

    /// The server refused a write.
    func refused(_ kind: RefusedWrite) {
        seen.withLock { $0.refusedWrites[kind, default: 0] += 1 }
        // These are the server's state, and don't depend on the caller or the command.
        if [.oom, .misconf, .noreplicas].contains(kind) {
            refusing.store(true, ordering: .relaxed)
        }
    }

    /// Whether the server refuses writes for want of room or of replicas, as far as is known.
    var isRefusing: Bool { refusing.load(ordering: .relaxed) }

    /// The server answered a question with an error.
    /// - Returns: as `line`.
    func refusedRead(_ notice: UpstreamNotice) -> UpstreamNotice? {
        refusingReads.store(true, ordering: .relaxed)
        return line("reads", notice)
    }

    /// The server answers questions.
    func takesReads() {
        guard refusingReads.load(ordering: .relaxed) else { return }
        refusingReads.store(false, ordering: .relaxed)
        _ = isOver("reads")
    }

    /// The server accepted a write.
    func takesWrites() {
        refusing.store(false, ordering: .relaxed)
        _ = isOver("writes")
    }

    /// Whether there is a problem.
    func has(_ what: String) -> Bool { all.withLock { $0[what] != nil } }

    /// Removes a problem.
    /// - Returns: whether it was there.
    func isOver(_ what: String) -> Bool { all.withLock { $0.removeValue(forKey: what) != nil } }

    /// Records a problem.
    ///
    /// - Returns: the line to log, if the problem is new, or was logged a minute ago or earlier.
    func line(
        _ what: String, _ notice: UpstreamNotice, at now: ContinuousClock.Instant = .now
    ) -> UpstreamNotice? {
        all.withLock { all in
            guard var trouble = all[what], trouble.notice == notice else {
                all[what] = Trouble(notice: notice, toldAt: now)
                return notice
            }
            trouble.count += 1
            defer { all[what] = trouble }
            guard now - trouble.toldAt >= Self.minute else { return nil }
            let count = trouble.count
            (trouble.toldAt, trouble.count) = (now, 0)
            return UpstreamNotice(
                notice.event,
                "\(notice.text) (still so, \(count) times since it was last told)")
        }
    }

    var first: UpstreamNotice? {
        all.withLock { $0.min { $0.key < $1.key }?.value.notice }
            ?? damagedLogs.trouble
    }
}
