import Dispatch
import Ports
import Synchronization
import Testing
import Wire

@testable import Upstream

/// Whole member lists are read one at a time, and put together where they delay nobody.
@Suite struct WholeListsTests {
    private let lists = WholeLists()

    @Test func aLargeListIsPutTogetherElsewhereForTheSamePayer() {
        let few = Mutex(false)
        lists.work(on: 100) { few.withLock { $0 = true } }
        #expect(few.withLock { $0 })
        // The thread that asks is busy until the work has begun: it is done by another one.
        let begun = DispatchSemaphore(value: 0)
        let payer = Mutex<Payer?>(nil)
        Payer.$current.withValue(Payer(user: "alice".id)) {
            lists.work(on: 101) {
                payer.withLock { $0 = Payer.current }
                begun.signal()
            }
        }
        #expect(begun.wait(timeout: .now() + 60) == .success)
        #expect(payer.withLock { $0 } == Payer(user: "alice".id))
    }

    @Test func stoppingWaitsForWhatIsPutTogether() {
        let done = Atomic<Int>(0)
        for _ in 0..<100 { lists.work(on: 1000) { done.add(1, ordering: .relaxed) } }
        lists.stop()
        #expect(done.load(ordering: .relaxed) == 100)
    }

    @Test func oneIsReadAtATime() {
        let began = Mutex<[Int]>([])
        let overs = Mutex<[@Sendable () -> Void]>([])
        for number in 1...3 {
            lists.enter { over in
                began.withLock { $0.append(number) }
                overs.withLock { $0.append(over) }
            }
        }
        for number in 1...3 {
            #expect(began.withLock { $0 } == Array(1...number))
            overs.withLock { $0.removeFirst() }()
        }
    }
}
