import Chat
import ClientCore

/// Who waits for what becomes of drafts, and what became of the last ones. Touched on the client's
/// thread.
struct Deliveries {
    typealias Waiter = CheckedContinuation<Result<Message, ClientError>, Never>

    /// So many drafts that were settled are remembered, for who asks a moment later.
    private static let remembered = 100

    private var waiters: [String: [Int: Waiter]] = [:]
    /// Those that were cancelled before they waited.
    private var cancelled: Set<Int> = []
    private var settled: [(draft: String, result: Result<Message, ClientError>)] = []

    /// What became of a draft lately; nil if that is not known.
    func result(of draft: String) -> Result<Message, ClientError>? {
        settled.last { $0.draft == draft }?.result
    }

    mutating func wait(for draft: String, as number: Int, _ waiter: Waiter) {
        if cancelled.remove(number) != nil { return waiter.resume(returning: .failure(.closed)) }
        waiters[draft, default: [:]][number] = waiter
    }

    mutating func cancel(_ number: Int, of draft: String) {
        guard let waiter = waiters[draft]?.removeValue(forKey: number) else {
            cancelled.insert(number)
            return
        }
        waiter.resume(returning: .failure(.closed))
    }

    mutating func settle(_ draft: String, _ result: Result<Message, ClientError>) {
        // The answer and the event both tell of an arrival.
        settled.removeAll { $0.draft == draft }
        settled.append((draft, result))
        if settled.count > Self.remembered { settled.removeFirst() }
        for waiter in (waiters.removeValue(forKey: draft) ?? [:]).values {
            waiter.resume(returning: result)
        }
    }

    mutating func endAll() {
        for waiter in waiters.values.flatMap(\.values) {
            waiter.resume(returning: .failure(.closed))
        }
        self = Deliveries()
    }
}
