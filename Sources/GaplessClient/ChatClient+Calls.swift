import ClientCore
import JSON
import Wire

/// How requests are made of the client's thread, and their answers read.
extension ChatClient {
    /// An answer in two phases: the first may be from the gateway's cache.
    public struct Phase<Value: Sendable>: Sendable {
        /// What was answered.
        public var value: Value
        /// Whether it is from a cache, and another will follow.
        public var isCached: Bool
    }

    /// Makes a request and waits for its answer.
    /// - Throws: `ClientError`.
    @discardableResult
    func call<Value: Sendable>(
        _ method: String, _ params: RequestParams,
        _ read: @escaping @Sendable (JSONObject) throws -> Value
    ) async throws -> Value {
        let result: Result<Value, ClientError> = await withCheckedContinuation { continuation in
            runner.post { runner in
                runner.request(method, params) { _, result in
                    continuation.resume(returning: Self.read(result, read))
                }
            }
        }
        return try result.get()
    }

    /// A handler of answers that are known earlier: called where it belongs, one that is made on
    /// the main actor, there.
    public typealias CachedHandler<Value> = @isolated(any) @Sendable (Value) async -> Void

    /// Asks, and waits for the answer that counts.
    /// - Parameter cached: Called before that with each answer that is known earlier.
    /// - Throws: `ClientError`.
    func fetch<Value: Sendable>(
        _ question: Question, _ cached: CachedHandler<Value>?,
        _ read: @escaping @Sendable (JSONObject) throws -> Value
    ) async throws -> Value {
        let (answers, feed) = AsyncStream<Result<Phase<Value>, ClientError>>.makeStream()
        runner.post { runner in
            runner.request(question, wantsCached: cached != nil) { isCached, result in
                let value = Self.read(result, read)
                // One from a cache that can't be read is no answer.
                if isCached, case .failure = value { return }
                feed.yield(value.map { Phase(value: $0, isCached: isCached) })
                if !isCached { feed.finish() }
            }
        }
        for await answer in answers {
            let phase = try answer.get()
            guard phase.isCached else { return phase.value }
            await cached?(phase.value)
        }
        // Only a cancelled task comes here.
        throw ClientError.closed
    }

    /// Asks, and gives each answer as it comes: the last is the one that counts.
    func phases<Value: Sendable>(
        _ question: Question,
        _ read: @escaping @Sendable (JSONObject) throws -> Value
    ) -> AsyncThrowingStream<Phase<Value>, any Error> {
        AsyncThrowingStream { stream in
            runner.post { runner in
                runner.request(question, wantsCached: true) { isCached, result in
                    switch Self.read(result, read) {
                    case .success(let value):
                        stream.yield(Phase(value: value, isCached: isCached))
                        if !isCached { stream.finish() }
                    case .failure(let error): stream.finish(throwing: error)
                    }
                }
            }
        }
    }

    private static func read<Value>(
        _ result: Result<JSONObject, ClientError>, _ read: (JSONObject) throws -> Value
    ) -> Result<Value, ClientError> {
        result.flatMap { object in
            do {
                return .success(try read(object))
            } catch {
                let why =
                    (error as? FrameError)?.description ?? "the answer is not of this protocol"
                return .failure(.unreadable(why))
            }
        }
    }
}
