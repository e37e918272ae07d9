import Foundation
import TestSupport
import Testing

/// The promises of `protocol.md`, kept by the real program: its own process, SQLite file and
/// sockets. The suites run one after the other, since each of them takes what two cores give.
///
/// Two variables of the environment change a run: `TEST_SCALE` makes it so many times as long, and
/// `TEST_SEED` begins the random choices elsewhere. The threads and sockets of a run are not
/// repeated by its seed, only its choices.
@Suite(.serialized) enum LiveGateway {
    static let scale = max(1, number("TEST_SCALE") ?? 1)

    static func seed(_ own: UInt64) -> UInt64 {
        own &+ UInt64(truncatingIfNeeded: number("TEST_SEED") ?? 0)
    }

    /// The address sanitizer keeps freed memory for a while, to notice its use.
    static let isSanitized = ProcessInfo.processInfo.environment["ASAN_OPTIONS"] != nil

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }
}
