import Synchronization
import Wire

/// Creations in progress per user that are not noted for the users yet, so that concurrent calls
/// can't pass `limits.conversations_per_user` together. It knows only those of this process. Any
/// thread.
final class Creations: Sendable {
    /// The decision for a call after the user's conversations were counted.
    enum Disposition {
        /// It may create; `end` must be called once it has succeeded or failed.
        case begins
        /// Whether there is room depends on creations in progress: it runs again when one of them
        /// has ended.
        case waits
        /// The limit is reached.
        case isRefused
    }

    private struct Line {
        var underWay = 0
        /// First come, first served.
        var waiting: [@Sendable () -> Void] = []
    }

    private let lines = Mutex<[ID: Line]>([:])

    /// - Parameters:
    ///   - count: how many the user created. Creations in progress may be among them.
    ///   - limit: how many there may be; 0: any number.
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

    /// A creation that began has ended.
    func end(_ user: String) {
        lines.withLock { $0[user.id]?.underWay -= 1 }
        wake(user)
    }

    /// The next waiting call counts again. Its own end or refusal wakes the one after it.
    func wake(_ user: String) {
        let next = lines.withLock { lines -> (@Sendable () -> Void)? in
            guard var line = lines[user.id] else { return nil }
            let next = line.waiting.isEmpty ? nil : line.waiting.removeFirst()
            lines[user.id] = line.underWay == 0 && line.waiting.isEmpty ? nil : line
            return next
        }
        next?()
    }
}
