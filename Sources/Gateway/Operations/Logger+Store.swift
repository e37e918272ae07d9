import Cache
import Ports

/// What the start found of the file.
extension Logger {
    /// What was done to the file before anything was read from it.
    func sayOpening(of store: Store) {
        if let (from, to) = store.migration {
            say(
                .cacheMigrated,
                [
                    "path": store.options.path, "from_version": "\(from)", "to_version": "\(to)",
                ])
        }
        if let path = store.putAside {
            say(.cacheReplaced, ["put_aside": path])
        }
    }

    /// Why clients read their lists of conversations again, unless the log is a new one.
    func sayRenewal(of store: Store) {
        guard let renewal = store.witness.renewal else { return }
        if let told = renewal.told {
            say(
                .logOlder,
                [
                    "path": store.options.path, "last_change": "\(renewal.found)",
                    "last_told": "\(told)",
                ])
        } else if renewal.found > 0 {
            say(
                .logAgeUnknown,
                ["path": store.options.path, "last_change": "\(renewal.found)"])
        }
    }
}
