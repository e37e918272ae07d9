import Crypto
import Dispatch
import Synchronization
import Wire

/// What is left of a damaged log, made a whole one of a new epoch, and lists put together again.
extension Redis {
    /// What came of a repair.
    package enum Repair: Sendable {
        /// There was nothing to repair.
        case whole
        /// The log as it is now.
        case repaired(Head)
    }

    /// How many places a step looks at.
    private static let repairStep = 1000

    /// Repairs the log, in steps that hold up nobody else. Blocks, and so is not for a loop. To be
    /// called between `start` and `stop`, when the links are up.
    /// - Throws: `RequestError`: `not_found` where there is no head of such a log, or what kept the
    ///   server from it; a repair that ended half-way leaves the log damaged, and may be begun
    ///   again.
    package func repair(_ conversation: String) throws(RequestError) -> Repair {
        let epoch = Random.hex(8)
        let begun = try step("begin", epoch, conversation, marks: 0)
        if begun.word == "whole" { return .whole }
        guard let first = begun[1].place, let last = begun[2].int else { throw .unreadable }
        var from = first
        while from <= last {
            let to = min(last, from + Self.repairStep - 1)
            let range = [String(from), String(to)]
            _ = try step("part", epoch, conversation, range, marks: to - from + 1)
            from = to + 1
        }
        let ended = try step("end", epoch, conversation, marks: 1)
        guard let head = Head(ended[1]) else { throw .unreadable }
        return .repaired(head)
    }

    /// Puts a user's list together again from the conversations, whatever stands in its place.
    /// Blocks, as the other.
    /// - Returns: how many conversations there are.
    package func repair(listOf user: String) throws(RequestError) -> Int {
        let answered = DispatchSemaphore(value: 0)
        let found = Mutex<Result<Int, RequestError>>(.failure(.originUnavailable))
        lists.mend(
            ListMender.Need(user: user, clears: true) { result in
                found.withLock { $0 = result }
                answered.signal()
            })
        answered.wait()
        return try found.withLock { $0 }.get()
    }

    private func step(
        _ name: String, _ epoch: String, _ conversation: String, _ range: [String] = [],
        marks: Int
    ) throws(RequestError) -> Answer {
        let keys = self.keys.keys(of: conversation) + [self.keys.kept(of: conversation)]
        let arguments =
            [Array(name.utf8), Array(epoch.utf8), Random.bytes(8 * marks)]
            + range.map { Array($0.utf8) }
        let answered = DispatchSemaphore(value: 0)
        let found = Mutex<Result<Answer, RequestError>>(.failure(.originUnavailable))
        servers.send([.script(.repair, keys: keys, arguments: arguments)]) { result in
            found.withLock { found in
                found = result.flatMap { self.read($0[0], .repair, conversation) }
            }
            answered.signal()
        }
        answered.wait()
        let answer = try found.withLock { $0 }.get()
        if answer.word == "stale" {
            throw RequestError(.conflict, "conversation: somebody else repairs it", retry: .later)
        }
        return answer
    }
}
