import Cache
import Foundation

/// A directory that is gone when the test is.
final class Scratch {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "gapless-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String = "cache.db") -> String { path + "/" + name }

    /// A store that does not wait for the disk: what is tested is not its durability.
    func store(origin: String = "embedded", isChecked: Bool = false) throws -> Store {
        try Store(options(origin: origin, isChecked: isChecked))
    }

    /// Waits for a file that was just let go of: the tests beside this one start processes, and
    /// between its fork and its exec such a process holds every lock of this one.
    func options(
        origin: String = "embedded", isChecked: Bool = false, wait: Duration = .seconds(30)
    ) -> Store.Options {
        Store.Options(
            path: file(), origin: origin, durability: .normal, isChecked: isChecked, wait: wait)
    }
}
