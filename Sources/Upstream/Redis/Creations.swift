import Synchronization
import Wire

/// The conversations that users are about to have, and that their lists don't tell of yet, so that
/// calls at the same time don't pass `limits.conversations_per_user` together. It knows those of
/// this process. Any thread.
final class Creations: Sendable {
    /// What becomes of a call when the user's list was counted.
    enum Disposition {
        /// It may create; `end` is to be called when it has, or has failed.
        case begins
        /// There may be no room for it, depending on those under way: it is run again when one of
        /// them has ended.
        case waits
        /// There is no room for it.
        case isRefused
    }

    private struct Line {
        var underWay = 0
        /// First come, first served.
        var waiting: [@Sendable () -> Void] = []
    }

    private let lines = Mutex<[ID: Line]>([:])

    /// - Parameters:
    ///   - count: how many the user has. Those under way may be among them.
    ///   - limit: how many a user may have; 0: any number.
    ///   - again: counts once more, for a call that has to wait.
    func begin(
        _ user: String, count: Int, limit: Int, again: @escaping @Sendable () -> Void
    ) -> Disposition {
        let fate = lines.withLock { lines -> Disposition in
            var line = lines[user.id] ?? Line()
            defer { lines[user.id] = line.underWay == 0 && line.waiting.isEmpty ? nil : line }
            guard limit > 0 else {
                line.underWay += 1
                return .begins
            }
            guard count < limit else { return .isRefused }
            guard count + line.underWay < limit else {
                line.waiting.append(again)
                return .waits
            }
            line.underWay += 1
            return .begins
        }
        if case .isRefused = fate { wake(user) }
        return fate
    }

    /// One that began has ended.
    func end(_ user: String) {
        lines.withLock { $0[user.id]?.underWay -= 1 }
        wake(user)
    }

    /// The next one counts again. Whatever becomes of it wakes the one behind it.
    private func wake(_ user: String) {
        let next = lines.withLock { lines -> (@Sendable () -> Void)? in
            guard var line = lines[user.id] else { return nil }
            let next = line.waiting.isEmpty ? nil : line.waiting.removeFirst()
            lines[user.id] = line.underWay == 0 && line.waiting.isEmpty ? nil : line
            return next
        }
        next?()
    }
}
