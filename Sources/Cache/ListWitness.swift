import SQLite
import Synchronization

/// How far the list of the log was told, kept beside the file, in that of its lock. A file alone
/// can't say whether it is the newest: an older copy that was put back looks like the file after a
/// restart. The witness names the last change that was told: a file without it is another file.
///
/// It is written after each commit and before anybody hears of it, by one call of the kernel, and
/// is on the disk a second later. So it is never ahead of the file, whatever ends the process or
/// the machine; and after a power cut it is behind by a second at most.
package final class ListWitness: Sendable {
    private struct State {
        /// What was written last.
        var (rev, mark) = (0, "")
        var line = Line.blank
        var isFlushed = true
        var renewal: ListRenewal?
    }

    /// `list `, the rev as sixteen digits, a blank, the mark as sixteen, and the end of the line.
    private enum Line {
        static let blank = Array("list                                  \n".utf8)
        static let rev = 5..<21
        static let mark = 22..<38
        static let digits = Array("0123456789abcdef".utf8)
    }

    private let lock: FileLock
    private let state = Mutex(State())

    init(_ lock: FileLock) { self.lock = lock }

    /// Why the list began anew at the start; nil if it goes on.
    package var renewal: ListRenewal? { state.withLock { $0.renewal } }

    /// The list begins anew.
    package func note(_ renewal: ListRenewal) { state.withLock { $0.renewal = renewal } }

    /// The token that was told last; nil if nothing says so.
    package var token: ListToken? {
        let bytes = lock.read(most: Line.blank.count)
        guard bytes.count == Line.blank.count,
            bytes.starts(with: Line.blank.prefix(Line.rev.lowerBound)),
            bytes.last == Line.blank.last,
            let rev = Int(String(decoding: bytes[Line.rev], as: UTF8.self), radix: 16)
        else { return nil }
        return ListToken(rev: rev, mark: String(decoding: bytes[Line.mark], as: UTF8.self))
    }

    /// The list is told up to here. Called for each commit: nothing is allocated.
    package func note(rev: Int, mark: String) {
        state.withLock { state in
            guard rev != state.rev || mark != state.mark else { return }
            if mark != state.mark {
                let bytes = Array(mark.utf8)
                // All marks of ours are as long.
                guard bytes.count == Line.mark.count else { return }
                state.line.replaceSubrange(Line.mark, with: bytes)
            }
            (state.rev, state.mark) = (rev, mark)
            var rest = rev
            for place in Line.rev.reversed() {
                state.line[place] = Line.digits[rest & 15]
                rest >>= 4
            }
            // Where that fails, so does the file beside it; the next commit writes it anew.
            _ = lock.write(state.line)
            state.isFlushed = false
        }
    }

    /// Brings it to the disk, if it is another one than last time.
    func flush() {
        let isDue = state.withLock { state in
            defer { state.isFlushed = true }
            return !state.isFlushed
        }
        if isDue, !lock.flush() { state.withLock { $0.isFlushed = false } }
    }
}

/// Why the list of a log began anew at a start.
package struct ListRenewal: Sendable, Hashable {
    /// The change up to which it was told; nil if nothing beside the file says so.
    package var told: Int?
    /// The newest change in the file.
    package var found: Int

    package init(told: Int?, found: Int) {
        self.told = told
        self.found = found
    }
}
