/// A key of an earlier version. A configuration that still has it stops the start: nobody should
/// believe that the key still does something.
struct RemovedKey {
    let name: String
    /// Why the key is gone, as a clause.
    let reason: String

    static let all = [
        RemovedKey(
            name: "fanout.io_uring", reason: "what io_uring saved was within the noise")
    ]

    /// What is wrong with a configuration that has the key.
    var problem: String { "this key was removed (\(reason)); delete it" }

    static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
    /// All of them by the names of their environment variables.
    static let byEnvironmentName = Dictionary(
        uniqueKeysWithValues: all.map { (ConfigurationKey.environmentName(of: $0.name), $0) })
}
