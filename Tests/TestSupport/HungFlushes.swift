import Foundation
import Glibc

/// Has the flushes of a process hang, by strace, as long as it lives: each begins only after a
/// while. What a disk does that answers late, or a file system that waits for its network.
package final class HungFlushes {
    private let log: String
    private let tracer: ChildProcess

    /// - Throws: `TestFailure` where the process can't be traced.
    package init(of process: pid_t, for span: Duration) throws {
        log = FileManager.default.temporaryDirectory.path + "/gapless-hung-\(UUID())"
        let microseconds = Int(span / .microseconds(1))
        tracer = try ChildProcess(
            "/usr/bin/env",
            [
                "strace", "--follow-forks", "--quiet=all", "--output=/dev/null",
                "--trace=fdatasync", "--inject=fdatasync:delay_enter=\(microseconds)",
                "--attach=\(process)",
            ], log: log)
        let isAttached = Deadline.standard.poll {
            tracer.exitStatus != nil || Self.isTraced(process)
        }
        guard isAttached, tracer.exitStatus == nil else {
            let said = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            throw TestFailure("process \(process) can't be traced: \(said)")
        }
    }

    deinit {
        mend()
        unlink(log)
    }

    /// From now on they take as long as they did before.
    package func mend() {
        tracer.send(SIGTERM)
        _ = Deadline.standard.poll { tracer.exitStatus != nil }
    }

    /// Whether each of its threads is.
    private static func isTraced(_ process: pid_t) -> Bool {
        let tasks = "/proc/\(process)/task"
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []
        return !threads.isEmpty
            && threads.allSatisfy { thread in
                let status = try? String(
                    contentsOfFile: "\(tasks)/\(thread)/status", encoding: .utf8)
                return status?.contains("TracerPid:\t0\n") == false
            }
    }
}
