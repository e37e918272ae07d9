import Cache

/// What the start found of the file.
extension Logger {
    /// What was done to the file before anything was read from it.
    func sayOpening(of store: Store) {
        if let (from, to) = store.migration {
            info(
                "cache was migrated",
                [
                    "path": store.options.path, "from_version": "\(from)", "to_version": "\(to)",
                    "effect": "no earlier version of the program opens the file from now on",
                ])
        }
        if let path = store.putAside {
            error("cache was damaged and is filled anew", ["put_aside": path])
        }
    }

    /// Why clients read their lists of conversations again, unless the log is a new one.
    func sayRenewal(of store: Store) {
        guard let renewal = store.witness.renewal else { return }
        let effect = "clients read their lists again, and load anew what the file lacks"
        if let told = renewal.told {
            warning(
                "an older copy of the log was put in its place",
                [
                    "path": store.options.path, "last_change": "\(renewal.found)",
                    "last_told": "\(told)", "effect": effect,
                ])
        } else if renewal.found > 0 {
            info(
                "nothing beside the log says whether it is the newest",
                [
                    "path": store.options.path, "last_change": "\(renewal.found)",
                    "effect": effect,
                ])
        }
    }
}
