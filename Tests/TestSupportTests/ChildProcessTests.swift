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
        // Until the child became the other program, /proc shows this process; while its loader
        // reads a library, one more descriptor. What it inherited stays open until its end.
        let name = "/proc/\(child.processID)"
        var kept: [String] = []
        let inheritsNothing = Deadline.after(.seconds(10)).poll {
            kept = (try? FileManager.default.contentsOfDirectory(atPath: name + "/fd")) ?? []
            return (try? String(contentsOfFile: name + "/comm", encoding: .utf8)) == "sleep\n"
                && kept.sorted() == ["0", "1", "2"]
        }
        #expect(inheritsNothing, "open in the child: \(kept.sorted())")
    }
}
