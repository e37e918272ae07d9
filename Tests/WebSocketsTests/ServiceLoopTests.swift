import Foundation
import Synchronization
import TestSupport
import Testing

@testable import WebSockets

@Suite struct ServiceLoopTests {
    @Test func jobsOfEachThreadRunInOrderAndOnce() throws {
        let server = try TestServer()
        let threads = 8
        let jobs = 5000
        let seen = Mutex([[Int]](repeating: [], count: threads))
        let done = DispatchSemaphore(value: 0)
        for thread in 0..<threads {
            Thread.detachNewThread {
                for job in 0..<jobs {
                    server.loop.post {
                        server.loop.preconditionOnLoop()
                        seen.withLock { $0[thread].append(job) }
                    }
                }
                done.signal()
            }
        }
        for _ in 0..<threads { done.wait() }
        server.onLoop { _ in }
        let expected = Array(0..<jobs)
        #expect(seen.withLock { $0.allSatisfy { $0 == expected } })
    }

    @Test func aTurnWithWorkEndsWithTheHook() throws {
        let server = try TestServer()
        let before = server.onLoop { $0.echo.turns }
        for _ in 0..<10 { server.onLoop { _ in } }
        #expect(server.onLoop { $0.echo.turns } - before >= 10)
    }

    @Test func aJobThatAJobPostsRunsInALaterTurn() throws {
        let server = try TestServer()
        let turns = Mutex<[Int]>([])
        let done = DispatchSemaphore(value: 0)
        server.loop.post {
            turns.withLock { $0.append(server.echo.turns) }
            server.loop.post {
                turns.withLock { $0.append(server.echo.turns) }
                done.signal()
            }
        }
        done.wait()
        let seen = turns.withLock { $0 }
        #expect(seen.count == 2 && seen[1] > seen[0])
    }

    @Test func anExactAlarmRingsOnceAndNotBeforeItsTime() throws {
        let server = try TestServer()
        let rung = Mutex<[ContinuousClock.Instant]>([])
        let done = DispatchSemaphore(value: 0)
        // Set anew it replaces what was set, and nil cancels it; zero is at once. When the last one
        // rings, one that was not cancelled would have rung before.
        for delays in [[0.0], [5], [1, 20], [1, nil, 10], [1, nil], [20]] as [[Double?]] {
            let began = server.onLoop { _ in
                let alarm = try! server.loop.exactAlarm {
                    rung.withLock { $0.append(.now) }
                    done.signal()
                }
                for delay in delays { alarm.set(after: delay.map { .milliseconds($0) }) }
                return ContinuousClock.now
            }
            guard let delay = delays[delays.count - 1] else { continue }
            done.wait()
            let last = rung.withLock { $0[$0.count - 1] }
            // Allows for the time until `began`.
            #expect(last - began > .milliseconds(delay - 1))
        }
        server.onLoop { _ in }
        #expect(rung.withLock { $0.count } == 5)
    }

    @Test func whatComesDuringAPauseHasOneTurn() throws {
        let server = try TestServer()
        let turns = Mutex<[Int]>([])
        let done = DispatchSemaphore(value: 0)
        let loop = try #require(
            server.onLoop { server in
                server.loop.pause(for: .seconds(600))
                return LoopThread()
            })
        // The loop has nothing to wait for but the end of the pause.
        #expect(Deadline.standard.poll { loop.isAsleep })
        for _ in 0..<3 {
            server.loop.post {
                turns.withLock { $0.append(server.echo.turns) }
                done.signal()
            }
        }
        #expect(turns.withLock { $0.isEmpty })
        loop.endPause()
        for _ in 0..<3 { done.wait() }
        #expect(Set(turns.withLock { $0 }).count == 1)
    }

    /// The thread of a loop, from outside.
    private struct LoopThread: Sendable {
        private let status: String
        private let id: UInt

        /// This thread, of which a signal ends a pause, and does nothing else.
        init?() {
            let files = FileManager.default
            guard let name = try? files.destinationOfSymbolicLink(atPath: "/proc/thread-self")
            else { return nil }
            status = "/proc/\(name)/stat"
            id = UInt(pthread_self())
            signal(SIGUSR2) { _ in }
            // Threads of a test begin with all signals blocked.
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGUSR2)
            pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        }

        var isAsleep: Bool {
            let fields = (try? String(contentsOfFile: status, encoding: .utf8)) ?? ""
            return fields.split(separator: ")").last?.hasPrefix(" S") == true
        }

        func endPause() { pthread_kill(pthread_t(id), SIGUSR2) }
    }

    @Test func aLoopWithSomethingLeftDoesNotPause() throws {
        let server = try TestServer()
        let done = DispatchSemaphore(value: 0)
        server.loop.post {
            server.loop.post { done.signal() }
            server.loop.pause(for: .seconds(120))
        }
        #expect(done.wait(timeout: .now() + 60) == .success)
    }

    @Test func aTimerCallsAgainAndAgain() throws {
        let server = try TestServer()
        let count = Mutex(0)
        let done = DispatchSemaphore(value: 0)
        server.onLoop { server in
            server.loop.every(milliseconds: 5) {
                let reached = count.withLock {
                    $0 += 1
                    return $0
                }
                if reached == 5 { done.signal() }
            }
        }
        #expect(done.wait(timeout: .now() + 10) == .success)
    }

    @Test func aSignalIsTold() throws {
        let loop = try ServiceLoop()
        let seen = Mutex<Int32>(0)
        loop.onSignal = { [unowned loop] number in
            seen.withLock { $0 = number }
            loop.stop()
        }
        loop.post { kill(getpid(), SIGHUP) }
        loop.run()
        #expect(seen.withLock { $0 } == SIGHUP)
    }

    @Test func theEndOfTheLoopClosesEverySocket() throws {
        var server: TestServer? = try TestServer()
        let port = try #require(server?.port)
        let client = try RawClient(port: port)
        try client.upgrade()
        let idle = try RawClient(port: port)
        #expect(server?.eventually { $0.server.connectionCount == 2 } == true)
        let echo = try #require(server?.echo)
        server = nil
        #expect(try client.isEnded() && idle.isEnded())
        // The loop has ended, and nobody else touches it.
        #expect(echo.closed.count == 1)
        #expect(throws: RawClient.Failure.self) { _ = try RawClient(port: port) }
    }

    @Test func aLoopThatNeverRanLeavesNothingBehind() throws {
        for _ in 0..<20 { _ = try ServiceLoop() }
        let server = try TestServer()
        #expect(server.port > 0)
    }
}
