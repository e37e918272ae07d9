import Foundation
import TestSupport

/// One run of the program on its command line, to its end: what it said and how it exited. It runs
/// in a directory of its own, without any variable of ours but those that are given.
struct CommandRun {
    let status: Int32
    /// Standard output and error, in the order in which they were written.
    let output: String

    /// - Parameters:
    ///   - environment: Variables such as `GAPLESS_LOG_LEVEL`.
    ///   - files: Written into the directory first; `%` in an argument stands for the directory.
    ///   - launcher: What it is started by.
    init(
        _ arguments: [String], environment: [String: String] = [:], files: [String: String] = [:],
        launcher: [String] = []
    ) throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("gapless-command-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        for (name, text) in files {
            try Data(text.utf8).write(to: directory.appendingPathComponent(name))
        }
        func placed(_ text: String) -> String {
            text.split(separator: "%", omittingEmptySubsequences: false)
                .joined(separator: directory.path)
        }
        let log = directory.appendingPathComponent("output")
        let words =
            environment.map { "\($0.key)=\(placed($0.value))" }
            + launcher + [try GatewayProcess.binary()] + arguments.map(placed)
        let child = try ChildProcess(
            "/usr/bin/env", ["--chdir=\(directory.path)"] + words, log: log.path)
        let deadline = Deadline.after(.seconds(60))
        _ = deadline.poll { child.exitStatus != nil }
        guard let status = child.exitStatus else {
            child.kill()
            throw TestFailure("gapless \(arguments): still runs at the deadline")
        }
        self.status = status
        output = String(decoding: try Data(contentsOf: log), as: UTF8.self)
    }

    init(_ arguments: String...) throws { try self.init(arguments) }
}
