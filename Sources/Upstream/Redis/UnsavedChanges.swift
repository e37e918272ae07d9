/// Whether a server writes what it holds to disk. One that does not loses every message with its
/// process. The user of a gateway needs no right to `CONFIG` for it. Kept by its link.
struct UnsavedChanges {
    /// How long a server may have changes that are on no disk.
    private let patience: Duration
    /// The moment of the last save, as the server says it, and when it was first seen.
    private var saved: (time: String, seenAt: ContinuousClock.Instant)?
    private var isTold = false

    init(patience: Duration) { self.patience = patience }

    /// What to say of the server: once for each time that it stops to save.
    mutating func judge(_ info: RedisInfo, at now: ContinuousClock.Instant) -> String? {
        guard info["aof_enabled"] == "0", let time = info["rdb_last_save_time"],
            let changes = info["rdb_changes_since_last_save"].flatMap({ Int($0) }), changes > 0
        else {
            (saved, isTold) = (nil, false)
            return nil
        }
        if saved?.time != time { (saved, isTold) = ((time, now), false) }
        guard let saved, !isTold, now - saved.seenAt >= patience else { return nil }
        isTold = true
        return "keep data: Redis has \(changes) changes that are on no disk, and writes no"
            + " append-only file, so that a restart loses them"
    }
}
