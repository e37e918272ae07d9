import Engine
import Wire

/// The text of `/metrics` (Prometheus exposition format 0.0.4). Labels are bounded: they are words
/// of this program, never of a client.
struct Metrics {
    private var text = ""

    /// All metrics of the moment.
    static func text(_ snapshot: Snapshot) -> [UInt8] {
        var metrics = Metrics()
        metrics.service(snapshot)
        metrics.clients(snapshot)
        metrics.books(snapshot)
        metrics.storage(snapshot)
        return Array(metrics.text.utf8)
    }

    private mutating func service(_ snapshot: Snapshot) {
        gauge("gapless_build_info", "The version that runs.", 1, ["version": snapshot.version])
        gauge("gapless_uptime_seconds", "Seconds since the start.", snapshot.uptime)
        gauge(
            "gapless_ready", "Whether readiness answers 200.", snapshot.isReady ? 1 : 0)
        gauge(
            "gapless_draining", "Whether the gateway sends its clients away.",
            snapshot.isDraining ? 1 : 0)
        head("gapless_upstream_state", "gauge", "1 for the state in which the upstream is.")
        for state in [UpstreamState.online, .syncing, .offline] {
            sample(
                "gapless_upstream_state", snapshot.upstreamState == state ? 1 : 0,
                ["kind": snapshot.upstreamKind, "state": state.rawValue])
        }
        head(
            "gapless_origin_fetches_total", "counter", "Calls of the origin's history, by kind.")
        for kind in FetchKind.allCases {
            sample(
                "gapless_origin_fetches_total", snapshot.figures.fetches[kind] ?? 0,
                ["kind": kind.rawValue])
        }
        gauge(
            "gapless_open_gaps", "Gaps of the cache that are still to be filled.",
            snapshot.sync.openGaps)
        gauge(
            "gapless_missing_messages", "Places in those gaps.", snapshot.sync.missing)
        gauge(
            "gapless_oldest_gap_seconds", "Age of the oldest of those gaps.",
            Int(snapshot.sync.oldestGapAge))
        gauge(
            "gapless_origin_fetches_queued", "Calls of the origin that wait for their turn.",
            snapshot.sync.queued)
        gauge(
            "gapless_origin_fetches_under_way", "Calls of the origin that are not answered yet.",
            snapshot.sync.fetching)
        gauge(
            "gapless_resident_memory_bytes", "Memory that the process holds.",
            snapshot.residentBytes)
        gauge("gapless_open_descriptors", "Open descriptors.", snapshot.descriptors)
    }

    private mutating func clients(_ snapshot: Snapshot) {
        gauge("gapless_connections", "Connected clients.", snapshot.sessions)
        gauge("gapless_subscriptions", "Subscriptions to messages.", snapshot.subscriptions)
        gauge("gapless_conversations_in_memory", "Conversations held in memory.", snapshot.streams)
        gauge("gapless_outbox_bytes", "Bytes that wait for slow readers.", snapshot.outboxBytes)
        counter("gapless_requests_total", "Frames of clients.", snapshot.figures.requests)
        head("gapless_request_errors_total", "counter", "Requests answered with an error, by code.")
        for code in ErrorCode.allCases {
            sample(
                "gapless_request_errors_total", snapshot.figures.errors[code] ?? 0,
                ["code": code.rawValue])
        }
        head("gapless_closes_total", "counter", "Connections that the gateway closed, by code.")
        for code in CloseCode.allCases {
            sample(
                "gapless_closes_total", snapshot.figures.closes[code] ?? 0,
                ["code": String(code.rawValue)])
        }
        counter(
            "gapless_resumes_total", "Subscriptions with a confirmed have.",
            snapshot.figures.resumes)
        counter(
            "gapless_resets_total", "Subscriptions whose have the log did not confirm.",
            snapshot.figures.resets)
        counter(
            "gapless_sheds_total", "Times that a slow reader's events became a gap.",
            snapshot.figures.shed)
    }

    private mutating func books(_ snapshot: Snapshot) {
        let books = snapshot.books
        counter(
            "gapless_changes_total", "Changes taken from the feed for watched conversations.",
            snapshot.figures.changes)
        counter("gapless_deltas_accepted_total", "Deltas put before a subscriber.", books.accepted)
        counter(
            "gapless_deltas_written_total", "Deltas handed to a subscriber's socket.",
            books.written)
        counter(
            "gapless_deltas_coalesced_total", "Deltas that became part of a gap.",
            books.coalesced)
        counter(
            "gapless_deltas_filtered_total", "Deltas not meant for the subscriber after all.",
            books.filtered)
        counter(
            "gapless_deltas_discarded_total", "Deltas still queued when a connection ended.",
            books.discarded)
        gauge("gapless_deltas_queued", "Deltas that wait in outboxes.", books.queued)
        gauge("gapless_accounting_error", "What the books do not explain; 0 always.", books.error)
    }

    private mutating func storage(_ snapshot: Snapshot) {
        gauge(
            "gapless_cache_writable", "Whether the cache can be written.",
            snapshot.isWritable ? 1 : 0)
        gauge("gapless_cache_messages", "Messages in the cache.", snapshot.cachedMessages)
        gauge("gapless_cache_bytes", "Size of the cache's file.", snapshot.cacheBytes)
        counter("gapless_commits_total", "Transactions committed.", snapshot.commits)
        counter("gapless_committed_operations_total", "Operations in them.", snapshot.commitRows)
    }

    // MARK: - The format

    private mutating func head(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    private mutating func sample(
        _ name: String, _ value: Int, _ labels: KeyValuePairs<String, String> = [:]
    ) {
        let list = labels.map { "\($0.key)=\"\($0.value)\"" }.joined(separator: ",")
        text += list.isEmpty ? "\(name) \(value)\n" : "\(name){\(list)} \(value)\n"
    }

    private mutating func gauge(
        _ name: String, _ help: String, _ value: Int, _ labels: KeyValuePairs<String, String> = [:]
    ) {
        head(name, "gauge", help)
        sample(name, value, labels)
    }

    private mutating func counter(_ name: String, _ help: String, _ value: Int) {
        head(name, "counter", help)
        sample(name, value)
    }
}
