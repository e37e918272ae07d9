import Crypto
import Dispatch
import Synchronization
import Wire

/// Makes damaged logs whole again under a new epoch, from what is left, and rebuilds lists.
extension Redis {
    /// The result of a repair.
    package enum Repair: Sendable {
        /// The log was not damaged.
        case whole
        /// The repaired log's head.
        case repaired(Head)
    }

    /// The slots of one step.
    private static let repairStep = 1000

    /// Repairs the log, in short steps. Blocks, so never on a loop. To be called between `start`
    /// and `stop`, when the links are up.
    /// - Throws: `RequestError`: `not_found` if no head of such a log is left, or the server's
    ///   error; an interrupted repair leaves the log damaged, and can be started again.
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

    /// Rebuilds a user's list from the conversations, whatever key is in its place. Blocks, like
    /// the other.
    /// - Returns: the number of conversations.
    package func repair(listOf user: String) throws(RequestError) -> Int {
        let answered = DispatchSemaphore(value: 0)
        let found = Mutex<Result<Int, RequestError>>(.failure(.originUnavailable))
        lists.mender.mend(
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
    ) throws(RequestError) -> RedisScripts.Answer {
        let keys = scripts.keys.keys(of: conversation) + [scripts.keys.kept(of: conversation)]
        let arguments =
            [Array(name.utf8), Array(epoch.utf8), Random.bytes(8 * marks)]
            + range.map { Array($0.utf8) }
        let answered = DispatchSemaphore(value: 0)
        let found = Mutex<Result<RedisScripts.Answer, RequestError>>(.failure(.originUnavailable))
        scripts.servers.send([.script(.repair, keys: keys, arguments: arguments)]) { result in
            found.withLock { found in
                found = result.flatMap { self.scripts.read($0[0], .repair, conversation) }
            }
            answered.signal()
        }
        answered.wait()
        let answer = try found.withLock { $0 }.get()
        if answer.word == "stale" {
            throw RequestError(.underRepair, "conversation: somebody else repairs it")
        }
        return answer
    }
}
