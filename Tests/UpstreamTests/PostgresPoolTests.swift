import Ports
import Synchronization
import Testing
import Wire

@testable import Upstream

/// Who waits for a conversation that another transaction has locked, and for how long.
@Suite struct PostgresPoolTests {
    private let options = PostgresOptions(url: "")

    @Test("keeps nobody in line for longer than who waits at the server")
    func line() throws {
        let pool = PostgresPool(options)
        let refused = Mutex<[RequestError]>([])
        for _ in 1...3 {
            pool.write(Array("{}".utf8), of: "c") { result in
                if case .failure(let error) = result { refused.withLock { $0.append(error) } }
            }
        }
        let shared = try #require(pool.take(0))
        #expect(shared.jobs.count == 3 && shared.answersAt == 0)
        let locked = try #require(PostgresAnswer(Array(#"{"word": "locked"}"#.utf8)))
        pool.finish(shared, shared.jobs.map { _ in .success(locked) })
        let alone = try #require(pool.take(0))
        #expect(alone.jobs.count == 1 && alone.answersAt == 1)
        #expect(pool.take(1) == nil, "one waits at the server")
        pool.expire(.now)
        #expect(refused.withLock { $0.isEmpty })
        pool.expire(.now + options.lockTimeout)
        #expect(refused.withLock { $0 } == [.conversationLocked, .conversationLocked])
        pool.finish(alone, [.failure(.conversationLocked)])
        #expect(refused.withLock { $0.count } == 3)
        #expect(pool.take(0) == nil)
    }

    @Test("leaves room for others beside what one user asks")
    func room() throws {
        let pool = PostgresPool(options)
        let refused = Mutex<[String: Int]>([:])
        func ask(_ user: String, _ bytes: Int) {
            let call = UpstreamCall.ask(.listed(user: user), token: 1)
            Payer.$current.withValue(call.payer) {
                pool.read([UInt8](repeating: 0x20, count: bytes)) { result in
                    guard case .failure = result else { return }
                    refused.withLock { $0[user, default: 0] += 1 }
                }
            }
        }
        for _ in 1...10_000 { ask("greedy", 2) }
        for _ in 1...1000 { ask("another", 2) }
        #expect(refused.withLock { $0 } == ["greedy": 5000])
        pool.close()
        let large = PostgresPool(options)
        let fates = Mutex<[String]>([])
        for user in ["greedy", "greedy", "greedy", "another"] {
            Payer.$current.withValue(Payer(user: user.id)) {
                large.write([UInt8](repeating: 0x20, count: 20 << 20), of: user) { _ in
                    fates.withLock { $0.append(user) }
                }
            }
        }
        #expect(fates.withLock { $0 } == ["greedy"], "of its bytes there is a share too")
        large.close()
    }

    @Test("keeps writes in order where all of a transaction were refused")
    func order() throws {
        let pool = PostgresPool(options)
        func write(_ name: String) { pool.write(Array(name.utf8), of: "c") { _ in } }
        write("1")
        write("2")
        let shared = try #require(pool.take(0))
        write("3")
        pool.again(shared)
        var done: [String] = []
        while let task = pool.take(0) {
            done.append(task.jobs.map { String(decoding: $0.argument, as: UTF8.self) }.joined())
            let answer = try #require(PostgresAnswer(Array(#"{"word": "done"}"#.utf8)))
            pool.finish(task, task.jobs.map { _ in .success(answer) })
        }
        #expect(done == ["1", "2", "3"])
    }
}
