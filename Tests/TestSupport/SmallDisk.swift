import Foundation
import Glibc

/// A file system of a few megabytes in memory, for a gateway to run out of. It is mounted in a
/// mount namespace of its own, which a process holds: nothing of it is seen outside, and nothing is
/// left when the test ends, however it ends. A user who is not root has a namespace of users as
/// well, where the kernel lets everybody make one.
package final class SmallDisk {
    /// Where it is mounted, for who is inside.
    package let directory: String
    /// What starts a process inside.
    package let launcher: [String]
    /// The same directory, for who is outside.
    package var outside: String { "/proc/\(holder.processID)/root\(directory)" }
    private let holder: ChildProcess

    private static let script =
        "mount -t tmpfs -o size=$2k,mode=700 tmpfs \"$1\" && exec sleep 7200"

    /// - Throws: `TestFailure` where neither way to mount it is open here.
    package init(kilobytes: Int) throws {
        directory = FileManager.default.temporaryDirectory.path + "/gapless-disk-\(UUID())"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false)
        let log = directory + ".log"
        defer { unlink(log) }
        let asRoot = ["--mount"]
        let asAnybody = ["--user", "--map-root-user", "--mount"]
        for flags in geteuid() == 0 ? [asRoot, asAnybody] : [asAnybody] {
            let holder = try ChildProcess(
                "/usr/bin/env",
                ["unshare"] + flags
                    + ["sh", "-c", Self.script, "sh", directory, "\(kilobytes)"], log: log)
            guard Self.isMounted(directory, by: holder) else { continue }
            self.holder = holder
            let ownUsers = flags == asRoot ? [] : ["--user", "--preserve-credentials"]
            launcher = ["nsenter", "--target", "\(holder.processID)", "--mount"] + ownUsers
            return
        }
        let reason = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        throw TestFailure("no small file system can be mounted here: \(reason)")
    }

    deinit {
        holder.kill()
        rmdir(directory)
    }

    private static func isMounted(_ directory: String, by holder: ChildProcess) -> Bool {
        let before = device(of: directory)
        var isMounted = false
        _ = Deadline.standard.poll {
            let now = device(of: "/proc/\(holder.processID)/root\(directory)")
            isMounted = now != nil && now != before
            return isMounted || holder.exitStatus != nil
        }
        return isMounted
    }

    private static func device(of path: String) -> dev_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_dev : nil
    }

    /// Takes all the room that is left.
    ///
    /// - Throws: `TestFailure` where it is not the room that ends it.
    package func fill() throws {
        let file = open(outside + "/filler", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw TestFailure("fill the disk: errno \(errno)") }
        defer { close(file) }
        let block = [UInt8](repeating: 0, count: 4096)
        while write(file, block, block.count) > 0 {}
        guard errno == ENOSPC else { throw TestFailure("fill the disk: errno \(errno)") }
    }

    /// Gives that room back.
    package func free() { unlink(outside + "/filler") }
}
