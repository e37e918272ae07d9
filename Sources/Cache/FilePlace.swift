import Glibc
import Ports
import SQLite
import Synchronization

/// The file that this process writes, as it knows it: where it lies, and what stood in it when this
/// process last brought something into it. What is written to one that was removed, or replaced,
/// under its open descriptor is lost when that is closed; and where something else writes into it,
/// nobody knows what is left of what was acknowledged.
///
/// In the mode of SQLite that is used here the file changes in checkpoints alone, which are this
/// process's own and are said before and after. Any thread may ask.
final class FilePlace: Sendable {
    /// What the kernel says of a file when it was written.
    private struct Stamp: Equatable {
        let seconds: Int
        let nanoseconds: Int
        let size: Int

        init(_ status: stat) {
            seconds = status.st_mtim.tv_sec
            nanoseconds = status.st_mtim.tv_nsec
            size = Int(status.st_size)
        }
    }

    private struct File: Equatable {
        let device: dev_t
        let number: ino_t

        init(_ status: stat) { (device, number) = (status.st_dev, status.st_ino) }
    }

    private struct State {
        var stamp: Stamp
        /// Of the beginning of the file.
        var print: UInt64
        /// Of the log of writes beside it, once there is one.
        var log: File?
        /// Checkpoints under way.
        var checkpoints = 0
    }

    private let path: String
    /// The names of the file and of its log as the kernel takes them: it is asked at each commit.
    private let names: (file: [CChar], log: [CChar])
    private let file: File
    private let state: Mutex<State>
    /// Stays open: closing it would take away the locks that SQLite has on the file.
    private let descriptor: Int32

    /// How much of the file is looked at: what a log has first, its catalogue and its
    /// conversations.
    private static let looked = 1 << 16

    /// Nil if there is no such file.
    init?(_ path: String) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            if descriptor >= 0 { close(descriptor) }
            return nil
        }
        self.path = path
        names = (Array(path.utf8CString), Array((path + "-wal").utf8CString))
        file = File(status)
        state = Mutex(State(stamp: Stamp(status), print: Self.print(of: descriptor)))
    }

    deinit { close(descriptor) }

    /// A connection has begun the log of writes beside the file.
    func noteLog() {
        var status = stat()
        guard stat(names.log, &status) == 0 else { return }
        state.withLock { $0.log = File(status) }
    }

    /// Brings something into the file; whatever else changes it is somebody else's.
    func changing<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
        state.withLock { $0.checkpoints += 1 }
        defer {
            state.withLock { state in
                state.checkpoints -= 1
                var status = stat()
                if fstat(descriptor, &status) == 0 {
                    state.stamp = Stamp(status)
                    state.print = Self.print(of: descriptor)
                }
            }
        }
        try body()
    }

    /// - Throws: `CacheError` `foreign` if the file is not there any more, or not as this process
    ///   left it.
    func check() throws(CacheError) {
        // The kernel is asked while no checkpoint begins or ends: an answer from before one that
        // ended since would look like a change by somebody else.
        let seen = state.withLock { look(&$0) }
        switch seen {
        case .asLeft: return
        case .removed: throw refusal("it was removed while it was open", Self.bytesAreOpen)
        case .replaced:
            throw refusal("another file was put in its place while it was open", Self.bytesAreOpen)
        case .written:
            throw refusal(
                "something else wrote into it while it was open",
                "what was acknowledged may be gone: stop, and restore a backup")
        case .withoutItsLog:
            throw refusal(
                "its log of writes (-wal) was removed or replaced while it was open",
                Self.bytesAreOpen)
        }
    }

    /// How the file is found.
    private enum Seen { case asLeft, removed, replaced, written, withoutItsLog }

    private func look(_ state: inout State) -> Seen {
        var status = stat()
        guard stat(names.file, &status) == 0 else { return .removed }
        guard File(status) == file else { return .replaced }
        let stamp = Stamp(status)
        if stamp != state.stamp, state.checkpoints == 0 {
            // Its time alone may be another one.
            guard stamp.size == state.stamp.size, Self.print(of: descriptor) == state.print else {
                return .written
            }
            state.stamp = stamp
        }
        var log = stat()
        let hasLog = stat(names.log, &log) == 0
        if hasLog, state.log == nil { state.log = File(log) }
        let hasItsLog = state.log == nil || hasLog && state.log == File(log)
        return hasItsLog ? .asLeft : .withoutItsLog
    }

    private static let bytesAreOpen =
        "put it back: until this process ends its bytes are among /proc/\(getpid())/fd"

    private func refusal(_ seen: String, _ detail: String) -> CacheError {
        CacheError(.foreign, doing: "write cache", on: path, seen: seen, detail: detail)
    }

    /// A number that other contents hardly have.
    private static func print(of descriptor: Int32) -> UInt64 {
        var bytes = [UInt8](repeating: 0, count: looked)
        let count = pread(descriptor, &bytes, looked, 0)
        return bytes.prefix(max(0, count)).fnv1a()
    }
}
