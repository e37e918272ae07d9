import Glibc
import JSON

/// A third-party client as a process: it reads commands and echoes what it shows, both as lines of
/// JSON.
final class Examinee {
    /// One row that it shows: a message (`body` nil: deleted), or a gap.
    enum Row: Equatable {
        case message(seq: Int, body: String?)
        case gap(after: Int, before: Int)
    }

    private let process: pid_t
    private let input: Int32
    private let output: Int32
    private var unread: [UInt8] = []
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)
    private var isOver = false
    /// Its violation, if any: it ended, or its output is invalid.
    private(set) var fault: String?

    /// - Throws: `BenchError.failure` if it can't be started.
    init(_ words: [String], log: String) throws(BenchError) {
        var (down, up): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard pipe(&down) == 0, pipe(&up) == 0 else {
            throw .failure("making a pipe: errno \(errno)")
        }
        // It gets copies of its own ends, and none of ours.
        for end in down + up { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer {
            close(down[0])
            close(up[1])
        }
        (input, output) = (down[1], up[0])
        _ = fcntl(output, F_SETFL, O_NONBLOCK)
        process = try Child.spawn(words, log: log, input: down[0], output: up[1])
    }

    deinit {
        close(input)
        close(output)
        if !isOver { Child.kill(process) }
    }

    var interest: pollfd { pollfd(fd: output, events: Int16(POLLIN), revents: 0) }

    /// Sends it a command.
    /// - Throws: `BenchError.failure` if it no longer reads.
    func tell(_ write: (inout JSONWriter) -> Void) throws(BenchError) {
        var json = JSONWriter()
        json.beginObject()
        write(&json)
        json.endObject()
        let line = json.bytes + [UInt8(ascii: "\n")]
        guard Glibc.write(input, line, line.count) == line.count else {
            throw failure("it does not take what it is told (errno \(errno))")
        }
    }

    /// The echoes since the last call, oldest first.
    /// - Throws: `BenchError.failure` for an invalid line, or if it has ended.
    func echoes() throws(BenchError) -> [[Row]] {
        while true {
            let count = read(output, &buffer, buffer.count)
            if count > 0 {
                unread += buffer[..<count]
            } else if count < 0, errno == EAGAIN || errno == EINTR {
                break
            } else {
                let status = Child.wait(process)
                isOver = true
                throw failure("it has ended (exit code \(status))")
            }
        }
        var all: [[Row]] = []
        while let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
            let line = Array(unread[..<end])
            unread.removeSubrange(...end)
            all.append(try rows(line))
        }
        return all
    }

    private func failure(_ fault: String) -> BenchError {
        self.fault = fault
        return .failure("the client under test: \(fault)")
    }

    private func rows(_ line: [UInt8]) throws(BenchError) -> [Row] {
        guard let rows = (try? JSONObject(line))?["rows"]?.array else {
            throw failure("an echo is no object with `rows`, an array")
        }
        var all: [Row] = []
        for (at, row) in rows.enumerated() {
            let members = row.object
            if let seq = members?["seq"]?.int, let body = members?["body"] {
                all.append(.message(seq: seq, body: body.string))
            } else if let ends = members?["gap"]?.array, ends.count == 2,
                let after = ends[0].int, let before = ends[1].int
            {
                all.append(.gap(after: after, before: before))
            } else {
                throw failure(
                    "row \(at) of an echo is neither {seq, body} nor {gap: [after, before]}")
            }
        }
        return all
    }
}
