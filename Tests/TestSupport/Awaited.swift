import Dispatch
import Synchronization

/// Runs a job on another thread, by way of `post`, and waits for its value.
package func awaited<Value: Sendable>(
    by post: (@escaping @Sendable () -> Void) -> Void, _ job: @escaping @Sendable () -> Value
) -> Value {
    let result = Mutex<Value?>(nil)
    let done = DispatchSemaphore(value: 0)
    post {
        let value = job()
        result.withLock { $0 = value }
        done.signal()
    }
    done.wait()
    guard let value = result.withLock({ $0 }) else { preconditionFailure("the job ran") }
    return value
}
