import Foundation

/// The command `sqlite3`, as an operator has it.
package enum SQLiteShell {
    package struct Answer {
        package let status: Int32
        /// What it wrote, its errors too.
        package let text: String
    }

    /// Runs statements or commands of the shell on a file.
    ///
    /// - Throws: Foundation's error where there is no `sqlite3`.
    @discardableResult
    package static func run(_ path: String, _ commands: String...) throws -> Answer {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/sqlite3")
        process.arguments = ["-batch", path] + commands
        let pipe = Pipe()
        (process.standardOutput, process.standardError) = (pipe, pipe)
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Answer(
            status: process.terminationStatus, text: String(decoding: output, as: UTF8.self))
    }
}
