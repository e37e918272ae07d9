import Glibc
import Ports
import SQLite
import Synchronization

/// The database file as the one process that may write it: the claim to it, and the proof that it
/// is as this process left it. A commit is acknowledged only if this holds before and after it:
///
/// - This process alone may write. Of gateways, one has the lock on the file itself (its device
///   and number, whatever its name is); of programs with SQLite, its `Connection.keep` leaves none
///   that can commit, restore or checkpoint, and all can read.
/// - The names of the file, of its write-ahead log and of the log's index lead to what is open
///   here: what is written to a file that was removed, or replaced, is lost when this process ends.
/// - The file is as the last checkpoint left it, and the log as the last commit did: it begins with
///   its head and is as long. Else somebody wrote past SQLite, and nobody knows what is left.
///
/// Any thread may ask.
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

    /// The write-ahead log and its index, once a connection has begun them.
    private struct WriteLog {
        let file: File
        let index: File
        let descriptor: Int32
        /// As the last transaction left it.
        var left: LogIndex
    }

    private struct State {
        var stamp: Stamp
        /// Of the beginning of the file; nil if it could not be read.
        var print: UInt64?
        var log: WriteLog?
        /// Checkpoints under way.
        var checkpoints = 0
        /// Why nobody knows whether what was committed is in the file: it stays so until another
        /// process opens it.
        var lost: CacheError?
    }

    private let path: String
    /// The names as the kernel takes them: it is asked at each commit.
    private let names: (file: [CChar], log: [CChar], index: [CChar])
    private let file: File
    private let state: Mutex<State>
    /// Whether somebody else has changed the bytes of the file or of its log: then nobody knows
    /// what is read from them.
    private let isChanged = Atomic<Bool>(false)
    /// Stays open: closing it would take away the locks that SQLite has on the file.
    private let descriptor: Int32

    /// How much of the file is looked at: what a log has first, its catalogue and its
    /// conversations.
    private static let looked = 1 << 16

    /// Takes the file for this process; makes an empty one, which its user alone may read and
    /// write, if there is none.
    /// - Parameter wait: how long to wait for another process that lets go of it.
    /// - Throws: `CacheError`: `inUse` if another process has it.
    init(_ path: String, wait: Duration) throws(CacheError) {
        var descriptor = Self.make(path)
        // As SQLite will: a file system of layers gives it another number when it is first written.
        if descriptor < 0 { descriptor = open(path, O_RDWR | O_CLOEXEC) }
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            throw FileLock.refusal(errno, path)
        }
        guard FileLock.take(descriptor, waiting: { $0 < max(wait, FileLock.glance) }) else {
            let reason = errno
            close(descriptor)
            throw FileLock.refusal(reason, path)
        }
        self.descriptor = descriptor
        self.path = path
        names = (
            Array(path.utf8CString), Array((path + "-wal").utf8CString),
            Array((path + "-shm").utf8CString)
        )
        file = File(status)
        state = Mutex(State(stamp: Stamp(status), print: Self.print(of: descriptor)))
    }

    deinit {
        state.withLock { if let log = $0.log { close(log.descriptor) } }
        close(descriptor)
    }

    /// - Returns: the descriptor of a new file; below 0 if there is one already, or none can be.
    private static func make(_ path: String) -> Int32 {
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        // Whatever the process's mask takes away.
        if descriptor >= 0 { fchmod(descriptor, 0o600) }
        return descriptor
    }

    /// Whether another process has the file, by whatever name. The check takes a shared lock for a
    /// moment.
    static func isTaken(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) != 0
    }

    /// Makes the connection the only one that can commit.
    /// - Throws: `CacheError` `inUse` if another program is writing.
    func adopt(_ connection: Connection) throws(CacheError) {
        try connection.keep(.write, within: Self.patience)
        connection.leaveLogWhenClosed()
        guard let log = openLog(connection) else { throw refusal(.withoutItsLog) }
        settle()
        state.withLock { state in
            if let before = state.log { close(before.descriptor) }
            state.log = log
        }
    }

    /// As long as SQLite waits for another program.
    static let patience = Duration.seconds(5)

    private func openLog(_ connection: Connection) -> WriteLog? {
        let descriptor = open(path + "-wal", O_RDONLY | O_CLOEXEC)
        var (log, index) = (stat(), stat())
        guard descriptor >= 0, fstat(descriptor, &log) == 0, stat(names.index, &index) == 0,
            let left = connection.logIndex
        else {
            if descriptor >= 0 { close(descriptor) }
            return nil
        }
        return WriteLog(file: File(log), index: File(index), descriptor: descriptor, left: left)
    }

    /// What is in the file now is this process's.
    func settle() {
        state.withLock { state in
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { return }
            state.stamp = Stamp(status)
            state.print = Self.print(of: descriptor)
        }
    }

    /// Brings something into the file; whatever else changes it is somebody else's.
    func changing<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
        state.withLock { $0.checkpoints += 1 }
        defer {
            settle()
            state.withLock { $0.checkpoints -= 1 }
        }
        try body()
    }

    /// Whether a checkpoint brings into the file what was committed, and nothing else.
    var canCheckpoint: Bool {
        state.withLock { state in !isWrittenOver(&state) && !isLogCut(state.log) }
    }

    /// - Throws: `CacheError` `foreign` if the file is gone, or not as this process left it.
    func check() throws(CacheError) { try check(among: nil) }

    /// Writes in one transaction of the connection that was adopted.
    /// - Throws: `CacheError`: of `write`, or `foreign` if the file is not, or was not all the
    ///   time, as this process left it. What was committed then may be lost.
    func commit(
        by connection: Connection, _ write: () throws(CacheError) -> Void
    ) throws(CacheError) {
        try check(among: connection.logIndex)
        do throws(CacheError) {
            try write()
        } catch {
            note(connection.logIndex)
            throw error
        }
        note(connection.logIndex)
        do throws(CacheError) {
            try check(among: nil)
        } catch {
            state.withLock { $0.lost = error }
            throw error
        }
    }

    private func note(_ left: LogIndex?) {
        state.withLock { if let left { $0.log?.left = left } }
    }

    private func check(among index: LogIndex?) throws(CacheError) {
        // The kernel is asked while no checkpoint begins or ends: an answer from before one that
        // ended since would look like a change by somebody else.
        let (seen, lost) = state.withLock { state -> (Seen, CacheError?) in
            (look(&state, index), state.lost)
        }
        if let lost { throw lost }
        guard seen != .asLeft else { return }
        let refusal = refusal(seen)
        if seen.isOfTheBytes {
            state.withLock { $0.lost = refusal }
            isChanged.store(true, ordering: .relaxed)
        }
        throw refusal
    }

    /// Whether what is read is what this process wrote, as far as is known.
    var isReadable: Bool { !isChanged.load(ordering: .relaxed) }

    /// How the file is found.
    private enum Seen {
        case asLeft, removed, replaced, written, withoutItsLog, withoutItsIndex, logCut, committed

        /// Whether it stays so: the names can be put right, what they lead to can't.
        var isOfTheBytes: Bool {
            switch self {
            case .written, .logCut, .committed: true
            case .asLeft, .removed, .replaced, .withoutItsLog, .withoutItsIndex: false
            }
        }
    }

    private func look(_ state: inout State, _ index: LogIndex?) -> Seen {
        switch Self.look(names.file) {
        case .gone: return .removed
        case .found(let status):
            guard File(status) == file else { return .replaced }
            if isWrittenOver(&state, status) { return .written }
        case .unknown: break
        }
        guard let log = state.log else { return .asLeft }
        switch Self.look(names.log) {
        case .gone: return .withoutItsLog
        case .found(let status):
            guard File(status) == log.file else { return .withoutItsLog }
            if isLogCut(log, status) { return .logCut }
        case .unknown: break
        }
        switch Self.look(names.index) {
        case .gone: return .withoutItsIndex
        case .found(let status): guard File(status) == log.index else { return .withoutItsIndex }
        case .unknown: break
        }
        return index.map { $0 == log.left } ?? true ? .asLeft : .committed
    }

    /// What a name leads to. A disk that fails is not somebody else's deed: SQLite meets it, too.
    private enum Target { case found(stat), gone, unknown }

    private static func look(_ name: [CChar]) -> Target {
        var status = stat()
        if stat(name, &status) == 0 { return .found(status) }
        return errno == EIO ? .unknown : .gone
    }

    private func isWrittenOver(_ state: inout State) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) != 0 || isWrittenOver(&state, status)
    }

    private func isWrittenOver(_ state: inout State, _ status: stat) -> Bool {
        let stamp = Stamp(status)
        guard stamp != state.stamp, state.checkpoints == 0 else { return false }
        guard stamp.size == state.stamp.size else { return true }
        // Its time alone may be another one.
        if let print = Self.print(of: descriptor), let before = state.print, print != before {
            return true
        }
        state.stamp = stamp
        return false
    }

    private func isLogCut(_ log: WriteLog?) -> Bool {
        guard let log else { return false }
        var status = stat()
        return fstat(log.descriptor, &status) != 0 || isLogCut(log, status)
    }

    private func isLogCut(_ log: WriteLog, _ status: stat) -> Bool {
        guard log.left.frames > 0 else { return false }
        guard status.st_size >= log.left.bytes else { return true }
        var salt: UInt64 = 0
        let count = pread(log.descriptor, &salt, 8, LogIndex.saltPlace)
        return count >= 0 && salt != log.left.salt
    }

    private func refusal(_ seen: Seen) -> CacheError {
        let bytesAreOpen =
            "put it back: until this process ends its bytes are among /proc/\(getpid())/fd"
        let (what, detail) =
            switch seen {
            case .asLeft: ("it is as it was left", "nothing is wrong")
            case .removed: ("it was removed while it was open", bytesAreOpen)
            case .replaced:
                ("another file was put in its place while it was open", bytesAreOpen)
            case .written:
                (
                    "something else wrote into it while it was open",
                    "what was acknowledged may be gone: stop, and restore a backup"
                )
            case .withoutItsLog:
                (
                    "its log of writes (-wal) was removed or replaced while it was open",
                    "stop the gateway with SIGTERM: then it brings what is in it into the file,"
                        + " which a kill loses"
                )
            case .withoutItsIndex:
                (
                    "the index of its log (-shm) was removed or replaced while it was open",
                    "nothing is lost: restart the gateway, and SQLite makes it anew"
                )
            case .logCut:
                (
                    "its log of writes (-wal) was cut or written over while it was open",
                    "what was acknowledged since the last checkpoint may be gone: restart the"
                        + " gateway, and clients are told; or restore a backup"
                )
            case .committed:
                (
                    "another program committed to it while it was open",
                    "restart the gateway, and clients are told"
                )
            }
        return CacheError(.foreign, doing: "write cache", on: path, seen: what, detail: detail)
    }

    /// A digest of the contents; nil if they can't be read.
    private static func print(of descriptor: Int32) -> UInt64? {
        var bytes = [UInt8](repeating: 0, count: looked)
        let count = pread(descriptor, &bytes, looked, 0)
        return count < 0 ? nil : bytes.prefix(count).fnv1a()
    }
}
