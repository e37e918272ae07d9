import Foundation
import Glibc

/// Has system calls of a process fail, by libfiu: from one moment to another, always or now and
/// then. The process has to be started by `launcher`.
package final class CallFaults {
    /// A call of SQLite's, as libfiu names it.
    package enum Call: String, Sendable {
        case write = "posix/io/rw/pwrite"
        /// Takes a part of what it is given.
        case shortWrite = "posix/io/rw/pwrite/reduce"
        case sync = "posix/io/sync/fdatasync"
        case truncate = "posix/io/rw/ftruncate"
    }

    private let directory: String
    private var prefix: String { directory + "/control" }

    /// - Throws: Foundation's error.
    package init() throws {
        directory = FileManager.default.temporaryDirectory.path + "/gapless-calls-\(UUID())"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    package var launcher: [String] { ["fiu-run", "-x", "-f", prefix] }

    /// From now on the call fails in this process.
    ///
    /// - Parameter probability: nil for always.
    /// - Throws: `TestFailure` where the process does not take it.
    package func fail(
        _ call: Call, in process: pid_t, errno: Int32 = EIO, probability: Double? = nil
    ) throws {
        let how = probability.map { ",probability=\($0)" } ?? ""
        let verb = probability == nil ? "enable" : "enable_random"
        try control("\(verb) name=\(call.rawValue),failinfo=\(errno)\(how)", process)
    }

    /// The call is what it was.
    ///
    /// - Throws: `TestFailure` where the process does not take it.
    package func mend(_ call: Call, in process: pid_t) throws {
        try control("disable name=\(call.rawValue)", process)
    }

    private func control(_ command: String, _ process: pid_t) throws {
        let log = directory + "/log"
        let child = try ChildProcess(
            "/usr/bin/env", ["fiu-ctrl", "-f", prefix, "-c", command, "\(process)"], log: log)
        _ = Deadline.standard.poll { child.exitStatus != nil }
        // It says what was wrong and still ends with 0.
        let said = try String(contentsOfFile: log, encoding: .utf8)
        guard child.exitStatus == 0, said.isEmpty else {
            throw TestFailure("fiu-ctrl: \(command): \(said)")
        }
    }
}
