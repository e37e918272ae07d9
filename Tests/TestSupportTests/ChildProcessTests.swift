import Foundation
import Glibc
import TestSupport
import Testing

@Suite struct ChildProcessTests {
    /// A neighbour that asks for a free port binds to it for a moment. A child that was started in
    /// this moment and kept the socket would keep the port until it ends.
    @Test func childInheritsNothingButItsOutput() throws {
        let leaked = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(leaked) }
        let log = FileManager.default.temporaryDirectory
            .appendingPathComponent("gapless-test-child-\(UUID().uuidString)").path
        defer { unlink(log) }
        let child = try ChildProcess("/bin/sleep", ["60"], log: log)
        // What is in /proc is of this process until the child became the other program.
        let name = "/proc/\(child.processID)"
        let hasBegun = Deadline.after(.seconds(10)).poll {
            (try? String(contentsOfFile: name + "/comm", encoding: .utf8)) == "sleep\n"
        }
        #expect(hasBegun)
        let kept = try FileManager.default.contentsOfDirectory(atPath: name + "/fd")
        #expect(kept.sorted() == ["0", "1", "2"])
    }
}
