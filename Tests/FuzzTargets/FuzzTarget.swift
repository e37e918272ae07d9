/// One kind of input that comes from outside, with what must hold for every input of that kind.
/// `gapless-fuzz` feeds them with what libFuzzer invents, the tests with the corpora.
public enum FuzzTarget: String, CaseIterable, Sendable {
    case json, frames, http, jwt, redis, log, configuration

    /// Reads `bytes` as the program would, and traps if a promise is broken.
    public func run(_ bytes: [UInt8]) {
        switch self {
        case .json: JSONInput.run(bytes)
        case .frames: FrameInput.run(bytes)
        case .http: HTTPInput.run(bytes)
        case .jwt: TokenInput.run(bytes)
        case .redis: RedisInput.run(bytes)
        case .log: LogInput.run(bytes)
        case .configuration: ConfigurationInput.run(bytes)
        }
    }
}

/// Ends the process with the name of the promise, which an optimised build keeps only so.
public func require(_ holds: Bool, _ promise: @autoclosure () -> String) {
    if !holds { fatalError("broken promise: \(promise())") }
}
